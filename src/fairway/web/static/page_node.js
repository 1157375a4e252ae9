// One node over time: what was held of what was allocatable, its pods and GPU devices as lanes, its states; and at the
// moment what is free and who is there. A name that was used twice is two nodes below each other.

import { ask } from "./api.js";
import { choice, same } from "./choices.js";
import { fill, h } from "./dom.js";
import { groups } from "./lanes.js";
import { legend, lines } from "./lines.js";
import { nodeLanes } from "./node_lanes.js";
import { part } from "./part.js";
import { podLink } from "./state.js";
import { table } from "./table.js";
import { amount, clock, counted } from "./words.js";

/** @typedef {import("./answers.d.ts").LanesAnswer} LanesAnswer */

const [POINTS, REST, INSTANT] = [240, 150, 0.001];

/** @param {Record<string, number>} values */
const amounts = (values) => Object.entries(values).filter(([, value]) => value).map(([name, value]) => `${name} ${amount(name, value)}`).join(", ");
/** Does it hold then? @param {number} at */
const holds = (at) => (/** @type {{from_seconds: number, to_seconds: number | null}} */ one) => one.from_seconds <= at && (one.to_seconds ?? Infinity) > at;

/** Means of amounts over equal stretches, by group; and what was allocatable. @param {View} view @param {LanesAnswer} answer @param {string} resource @param {ReturnType<typeof groups>} apart */
function heldOf({ from, to, run }, { lanes, states, counts }, resource, { names, of }) {
  const width = (to - from) / POINTS;
  /** @param {number[]} into @param {number} begin @param {number | null | undefined} end @param {number} value */
  const spread = (into, begin, end, value) => {
    const [first, last] = [(Math.max(begin, from) - from) / width, (Math.min(end ?? run.end, to) - from) / width];
    for (let place = Math.floor(first); place < last; place += 1) into[place] = (into[place] ?? 0) + value * (Math.min(last, place + 1) - Math.max(first, place));
  };
  const unit = resource === "cpu" ? 1000 : run.resources[resource] === "bytes" ? 2 ** 30 : 1;
  const empty = () => /** @type {number[]} */ (Array(POINTS).fill(0));
  const series = names.map((name) => ({ name, values: empty() }));
  lanes.pod.forEach((_, place) => spread(series[of(place)]?.values ?? [], lanes.from_seconds[place] ?? 0, lanes.to_seconds[place], (lanes.amounts[place]?.[resource] ?? 1) / unit));
  const allocatable = { name: "allocatable", values: empty(), colour: "ink", dashed: true };
  for (const state of states) if (state.is_ready) spread(allocatable.values, state.from_seconds, state.to_seconds, (state.allocatable[resource] ?? 0) / unit);
  if (counts) series.push({ name: resource, values: empty().map((_, place) => ((counts.series[resource]?.[2 * place] ?? 0) + (counts.series[resource]?.[2 * place + 1] ?? 0)) / 2 / unit) });
  return { title: `${resource} held of what was allocatable`, unit: unit > 1000 ? "Gi" : "", stacked: true, time: empty().map((_, place) => from + (place + 0.5) * width), series: [...series, allocatable] };
}

/** What is free at a moment, and who is there. @param {LanesAnswer} answer @param {number} at */
function thereAt({ lanes, states }, at) {
  const there = lanes.pod.map((pod, place) => ({ pod, place, from_seconds: lanes.from_seconds[place] ?? 0, to_seconds: lanes.to_seconds[place] ?? null })).filter(holds(at));
  const now = states.filter(holds(at));
  return [
    ...now.map(({ allocatable, node_id }) => h("dl", { class: "facts" }, ...Object.entries(allocatable).filter(([, value]) => value).map(([name, value]) => {
      const held = there.reduce((sum, { place }) => sum + (lanes.node_id[place] === node_id ? lanes.amounts[place]?.[name] ?? Number(name === "pods") : 0), 0);
      return h("div", {}, h("dt", {}, name), h("dd", {}, `${amount(name, value - held)} of ${amount(name, value)} free`));
    }))),
    !now.length && h("p", {}, "The node was not there."),
    there.length ? table(["pod", "since", "held", "GPU", "priority", "owner"], there.map(({ pod, place, from_seconds }) => [h("a", { href: podLink(pod) }, pod), clock(from_seconds),
      amounts(lanes.amounts[place] ?? {}), lanes.gpu_index[place], lanes.priority[place], lanes.owner[place]]), { words: [2, 5], caption: counted(there.length, "pod") }) : h("p", {}, "No pod was there."),
  ];
}

/** @type {Page} */
export const page = {
  title: "Node",
  show(view) {
    const { run, signal, args: [name = ""] } = view;
    const resource = choice(view, "resource", "resource", same(Object.keys(run.resources)));
    const by = choice(view, "by", "pods by", same(["namespace", "owner", "user", "priority"]));
    /** @type {LanesAnswer | null} */
    let told = null;
    let timer = 0;
    const [held, states] = [h("div"), h("div")];
    /** @param {string} title @param {HTMLElement} body */
    const section = (title, body) => h("section", { class: "part", hidden: true }, h("h2", {}, title), body);
    const [above, below] = [section("Held of what was allocatable", held), section("States", states)];
    const lanes = nodeLanes(view, () => told, by.value);
    /** @param {number} from @param {number} to @param {AbortSignal} stop @returns {Promise<LanesAnswer>} */
    const asked = (from, to, stop) => ask(["runs", run.id, "lanes"], { node: [name], from, to }, stop);
    const now = () => [`${view.from} ${view.to} ${run.end} ${resource.value()} ${by.value()}`, `${view.at}`];
    let seen = now();

    const pods = part(signal, {
      title: "Pods",
      ask: (stop) => asked(view.from, view.to, stop),
      draw: (answer) => {
        told = answer;
        above.hidden = below.hidden = false;
        const apart = groups(told.lanes, by.value());
        fill(held, lines(() => view, heldOf(view, told, resource.value(), apart)).element);
        fill(states, table(["from", "until", "what", "allocatable"], told.states.map((state) => [clock(state.from_seconds), state.to_seconds === null ? null : clock(state.to_seconds),
          [state.change, !state.is_ready && "not ready", state.is_unschedulable && "cordoned", state.gone].filter((word) => word).join(", "), amounts(state.allocatable)]), { words: [2, 3], caption: `states of ${name}` }));
        lanes.renew();
        return told.collapsed ? h("p", {}, `${counted(told.num_intervals, "pod")} in this stretch: zoom in to see each (w)`) : legend(apart.names, []);
      },
    });
    const there = part(signal, { title: "At the moment", ask: (stop) => asked(view.at - INSTANT, view.at + INSTANT, stop), draw: (answer) => thereAt(answer, view.at) });
    pods.element.append(lanes.element);
    view.main.append(h("h1", {}, name), h("div", { class: "controls" }, resource.element, by.element),
      above, pods.element, there.element, below);
    signal.addEventListener("abort", () => clearTimeout(timer));
    return () => {
      const [before, at] = seen;
      seen = now();
      resource.redraw();
      by.redraw();
      lanes.redraw();
      if (at !== seen[1]) void there.refresh();
      if (before === seen[0]) return;
      clearTimeout(timer);
      timer = setTimeout(() => void pods.refresh(), REST);
    };
  },
};
