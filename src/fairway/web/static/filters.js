// A long table with filters above it. Filters and order are in the URL, which says what is asked.

import { h } from "./dom.js";
import { change } from "./state.js";
import { longTable } from "./table.js";

const REST = 250;

/**
 * @param {View} view
 * @param {Record<string, string[] | null>} fields filters by name: what there is to choose from; null: anything
 * @param {Omit<import("./table.js").LongTableOptions, "ask" | "columns"> & {kept?: string[], columns: [string, (row: any) => Child, string?, boolean?][],
 *   ask: (values: Record<string, any>, stop: AbortSignal) => Promise<any>}} options kept: what else of the URL is asked; columns: head, cell, order, flush left
 */
export function filteredTable(view, fields, { kept = [], columns, ask, ...options }) {
  const names = Object.keys(fields);
  const boxes = names.map((name) => {
    let timer = 0;
    view.signal.addEventListener("abort", () => clearTimeout(timer));
    const say = () => {
      clearTimeout(timer);
      change({ [name]: box.value.trim() });
    };
    const later = () => {
      clearTimeout(timer);
      timer = setTimeout(say, REST);
    };
    const box = fields[name] ? h("select", { change: say }, h("option", { value: "" }, "any"), ...fields[name].map((one) => h("option", {}, one)))
      : h("input", { type: "search", size: 12, spellcheck: "false", input: later, change: say });
    return box;
  });
  /** What is asked. @returns {Record<string, string | null>} */
  const values = () => Object.fromEntries([...names, ...kept].map((name) => [name, view.query.get(name)]));
  const clear = h("button", { type: "button", click: () => change(Object.fromEntries(names.map((name) => [name, null])), true) }, "Show all");
  let seen = "";
  /** @returns {boolean} whether something else is asked than before */
  function update() {
    const before = seen;
    seen = JSON.stringify(values());
    boxes.forEach((box, place) => { if (box !== document.activeElement) box.value = view.query.get(names[place] ?? "") ?? ""; });
    clear.hidden = names.every((name) => !view.query.get(name));
    if (before && before !== seen) void table.refresh();
    return before !== seen;
  }
  const table = longTable(view.signal, { ...options, onSort: (sort) => change({ sort }),
    columns: columns.map(([head, cell, sort, words]) => ({ head, cell, sort, words })),
    sort: view.query.get("sort") ?? options.sort, ask: (next, sort, stop) => ask({ ...values(), sort, next }, stop) });
  update();
  return { controls: h("div", { class: "controls" }, ...names.map((name, place) => h("label", {}, name, boxes[place])), clear), element: h("section", { class: "part" }, table.element), values, update, table };
}
