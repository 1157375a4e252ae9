// Plugins: where the schedulers' processor time went, as an icicle and over time; the slowest attempts; who refuses.

import { ask, Refused } from "./api.js";
import { choice, same } from "./choices.js";
import { askCurve, curve, follow } from "./curve.js";
import { fill, h } from "./dom.js";
import { sideways } from "./axis.js";
import { part } from "./part.js";
import { change, link, podLink } from "./state.js";
import { longTable, table } from "./table.js";
import { clock, count, counted, length, percent, plugin } from "./words.js";

/** @typedef {import("./answers.d.ts").PluginTree} Tree */
const REST = "rest";
const LEAST = 26;

/** @type {Page} */
export const page = {
  title: "Plugins",
  show(view) {
    const { run, signal } = view;
    const by = choice(view, "by", "over time by", { ...same(["point", "plugin", "both", "scheduler"]), point: "extension point" });
    const zoom = () => view.query.getAll("zoom").join("\n");
    const stage = h("div");
    /** @type {Tree | null} */
    let tree = null;
    const draw = () => tree && fill(stage, icicle(tree, view.query.getAll("zoom"), view.main.clientWidth - 60));
    const isTimed = !!run.options.plugin_times;
    const times = part(signal, {
      title: "Where processor time went",
      note: isTimed ? "click, or enter: look closer; arrows lead around" : "",
      ask: async (stop) => {
        if (!isTimed) throw new Refused(404, "not_recorded", "the run does not say what plugins took: nobody measured it", "fairway sim SCENARIO --plugin-times --save RUN");
        return ask(["runs", run.id, "plugins"], { from: view.from, to: view.to }, stop);
      },
      empty: (answer) => (answer.cpu_seconds ? null : "no attempt was made in this stretch"),
      draw: (answer) => {
        tree = answer;
        draw();
        return stage;
      },
    });
    const over = isTimed && curve(view, "Processor time of plugins, over time", (stop) => askCurve(view, "plugin-time", { by: by.value(), points: 120 }, run.id, stop), { stacked: true });
    const slowest = longTable(signal, {
      name: "slowest attempts",
      columns: [
        { head: "pod", cell: ({ pod, attempt }) => h("a", { href: podLink(pod, { attempt }) }, pod) },
        { head: "took", cell: (row) => length(row.cycle_seconds) },
        { head: "at", cell: (row) => clock(row.time_seconds) },
        { head: "attempt", cell: ({ attempt }) => count(attempt) },
        { head: "outcome", words: true },
        { head: "node", words: true },
        { head: "nodes that fit", cell: (row) => count(row.num_feasible) },
        { head: "scheduler", words: true },
      ],
      ask: (next, _, stop) => ask(["runs", run.id, "decisions"], { from: view.from, to: view.to, sort: "-cycle", next }, stop),
    });
    const refusals = curve(view, "Attempts a second that a plugin refused", (stop) => askCurve(view, "refusals", {}, run.id, stop));
    view.main.append(h("h1", {}, "Plugins"), times.element,
      over ? h("div", {}, h("div", { class: "controls" }, by.element), over.element) : "",
      h("section", { class: "part" }, h("h2", {}, "Slowest attempts", h("small", {}, isTimed ? "" : "by the clock, for no processor time was measured")), slowest.element), refusals.element);
    const moved = follow(view, [times, slowest, refusals, ...(over ? [over] : [])]);
    let [chosen, closer] = [by.value(), zoom()];
    return () => {
      moved();
      by.redraw();
      if (zoom() !== closer) {
        draw();
        /** @type {HTMLElement | null} */ (stage.querySelector(".icicle button"))?.focus();
      }
      if (over && by.value() !== chosen) void over.refresh();
      [chosen, closer] = [by.value(), zoom()];
    };
  },
};

/**
 * The whole on top, its parts below it, each as wide as its part of the time; and the same as a table.
 * @param {Tree} tree @param {string[]} path names that lead to what is looked at @param {number} width in pixels; what is too thin to be hit is in the table
 */
function icicle(tree, path, width) {
  const above = [tree];
  for (const name of path) {
    const found = above.at(-1)?.children.find((child) => child.name === name);
    if (found) above.push(found);
  }
  const seen = above.at(-1) ?? tree;
  const names = above.slice(1).map(({ name }) => name);
  const attempts = sum(tree, ({ name, children, num_calls: calls }) => (name === REST && !children.length ? calls : 0)) || 1;
  /** @param {Tree} one @param {string[]} way @param {number} tint @returns {HTMLLIElement} */
  const block = (one, way, tint) => {
    const part = one.cpu_seconds / (seen.cpu_seconds || 1);
    const does = part * width < LEAST ? {} : { type: "button", tabindex: -1, click: () => change({ zoom: way }, true) };
    const item = h("li", {}, h("type" in does ? "button" : "span", { ...does, title: `${spoken(one)}\n${length(one.cpu_seconds)}, ${percent(part)}` },
      spoken(one), " ", h("small", {}, percent(part))), one.children.length > 0 && h("ul", {}, ...one.children.filter((child) => child.cpu_seconds > 0).map((child, number) => {
      const made = block(child, [...way, child.name], way.length < 2 ? number : tint);
      made.style.width = `${(child.cpu_seconds / one.cpu_seconds) * 100}%`;
      return made;
    })));
    item.style.setProperty("--tint", `var(--c${tint % 8})`);
    return item;
  };
  const list = h("ul", { class: "icicle", "aria-label": `processor time, ${spoken(seen)}: ${length(seen.cpu_seconds)}`, keydown: lead }, block(seen, names, above[1] && above[2] ? above[1].children.indexOf(above[2]) : 7));
  list.querySelector("button")?.setAttribute("tabindex", "0");
  const leaves = flat(seen, names).sort((one, other) => other.leaf.cpu_seconds - one.leaf.cpu_seconds);
  const own = sum(tree, (one) => (one.children.length || one.name === REST ? 0 : one.cpu_seconds));
  const figures = table(["plugin", "extension point", "scheduler", "time", "share", "an attempt", "calls", "a call"], leaves.map(({ leaf, way }) => [
    h("a", { href: link("plugins", [], { zoom: way }) }, spoken(leaf)), way[1] === leaf.name ? null : way[1], way[0], length(leaf.cpu_seconds),
    percent(leaf.cpu_seconds / (seen.cpu_seconds || 1)), length(leaf.cpu_seconds / attempts), count(leaf.num_calls), length(leaf.cpu_seconds / (leaf.num_calls || 1)),
  ]), { words: [1, 2] });
  figures.classList.add("long");
  return [
    h("p", {}, `${counted(attempts, "attempt")}: ${length(tree.cpu_seconds)}, of which plugins took ${length(own)}, the rest of the cycles ${length(tree.cpu_seconds - own)}.`),
    above.length > 1 && h("p", { class: "controls" }, ...above.slice(0, -1).map((one, depth) => h("button", { type: "button", click: () => change({ zoom: names.slice(0, depth) }, true) }, `▴ ${spoken(one)}`))),
    list,
    figures,
  ];
}

/** @param {Tree} one */
function spoken(one) {
  return one.name === REST && !one.children.length ? "not in plugins" : plugin(one.name);
}

/** Over all that has no parts. @param {Tree} tree @param {(leaf: Tree) => number} of @returns {number} */
function sum(tree, of) {
  return tree.children.length ? tree.children.reduce((all, child) => all + sum(child, of), 0) : of(tree);
}

/** What has no parts, and the names that lead there. @param {Tree} tree @param {string[]} way @returns {{leaf: Tree, way: string[]}[]} */
function flat(tree, way) {
  return tree.children.length ? tree.children.flatMap((child) => flat(child, [...way, child.name])) : [{ leaf: tree, way }];
}

/** Arrow keys: to what is beside, above and below. @param {KeyboardEvent} event */
function lead(event) {
  const item = event.target instanceof Element ? event.target.closest("li") : null;
  const side = sideways(event);
  const next = side ? item?.[side > 0 ? "nextElementSibling" : "previousElementSibling"] : event.key === "ArrowDown" ? item?.querySelector("li") : event.key === "ArrowUp" ? item?.parentElement?.closest("li") : null;
  const button = next?.querySelector("button");
  if (!button) return;
  event.preventDefault();
  event.stopPropagation();
  button.focus();
}
