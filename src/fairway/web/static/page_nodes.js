// All nodes over time: a heat map, and the choice of what it shows. GPU devices have the same page with other rows.

import { choice, same, typed } from "./choices.js";
import { h } from "./dom.js";
import { heatPart } from "./heat_map.js";
import { change, link } from "./state.js";

/** The heat map with its choices. @param {View} view @param {boolean} isDevices */
export function heatPage(view, isDevices) {
  const { run } = view;
  const one = isDevices ? "device" : "node";
  /** @type {Record<string, string>} */
  const orders = isDevices ? { "label:model": "by model", came: "as they came", load: "fullest first" } : { came: "as they came", name: "by name", load: "fullest first" };
  const resource = choice(view, "resource", "resource", same(Object.keys(run.resources)));
  const order = choice(view, "order", "order", orders);
  const stat = choice(view, "stat", "rows together", { mean: "mean", max: "fullest of them" });
  const filter = typed(view, "filter", "labels", isDevices ? "model=T4" : "pool=batch,zone in (a,b)");
  const choices = [...(isDevices ? [] : [resource]), order, stat, filter];
  const map = heatPart(view, () => ({
    runs: () => [view.run], path: isDevices ? ["devices", "heat"] : ["heat", resource.value()], what: isDevices ? "GPU" : resource.value(), one, lanes: !isDevices,
    values: { order: order.value(), stat: stat.value(), filter: filter.value() },
    href: (name) => link("nodes", [isDevices ? name.slice(0, name.lastIndexOf("/")) : name]),
  }), ({ labels }) => order.offer({ ...orders, ...Object.fromEntries(labels.map((label) => [`label:${label}`, `by ${label}`])) }));
  const whole = h("button", { type: "button", click: () => change({ from: null, to: null, nodes: null }, true) }, `all ${one}s, the whole run`);
  return {
    elements: [h("div", { class: "controls" }, ...choices.map(({ element }) => element), whole), map.element],
    redraw: () => {
      for (const chosen of choices) chosen.redraw();
      map.redraw();
    },
  };
}

/** @type {Page} */
export const page = {
  title: "Nodes",
  show(view) {
    const map = heatPage(view, false);
    view.main.append(h("h1", {}, "Nodes"), ...map.elements);
    return map.redraw;
  },
};
