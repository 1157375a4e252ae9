// GPU devices over time: how much of each was held, how much was idle and what kept it so, and how much of each model.

import { ask } from "./api.js";
import { bars } from "./bars.js";
import { askCurve, curve, follow } from "./curve.js";
import { h } from "./dom.js";
import { heatPage } from "./page_nodes.js";
import { part } from "./part.js";
import { counted, percent, short } from "./words.js";

/** @type {Page} */
export const page = {
  title: "GPUs",
  show(view) {
    const { run: { id }, signal } = view;
    const map = heatPage(view, true);
    const parts = [
      curve(view, "Devices that were allocated, and idle ones by cause", (stop) => askCurve(view, "gpu-causes", {}, id, stop), { unit: "", stacked: true }),
      part(signal, {
        title: "Allocated on average, by model",
        ask: (stop) => Promise.all([askCurve(view, "gpu-causes", { by: "model" }, id, stop), ask(["runs", id, "devices", "heat", "rows"], { order: "label:model" }, stop)]),
        draw: ([{ series }, { groups, group_rows, total }]) => bars(Object.entries(series).map(([model, values]) => {
          const place = groups.indexOf(model);
          const size = (group_rows[place + 1] ?? total) - group_rows[place];
          const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
          return { label: model || "(no model)", value: percent(mean / size), pieces: [{ size: mean / size, tint: 0 }], more: `${short(mean)} of ${counted(size, "device")}` };
        }), { label: "share of each model's devices", largest: 1 }),
      }),
    ];
    view.main.append(h("h1", {}, "GPUs"), ...map.elements, h("div", { class: "grid" }, ...parts.map(({ element }) => element)));
    const move = follow(view, parts);
    return () => {
      map.redraw();
      move();
    };
  },
};
