// The overview: the run in a few numbers, how full and how long the line was, who waits longest and why, what went badly.

import { ask } from "./api.js";
import { bars } from "./bars.js";
import { fill, h } from "./dom.js";
import { lines } from "./lines.js";
import { part } from "./part.js";
import { link } from "./state.js";
import { table } from "./table.js";
import { clock, count, counted, length, measured } from "./words.js";

/** What people ask about first, by the beginnings of names of metrics. */
const FIRST = ["pods_placed", "pods_waiting", "wait_p50", "wait_p95", "utilisation_cpu", "utilisation_memory", "utilisation_nvidia", "nodes_used_mean", "nodes_used", "preemptions"];

const HEAD_EVERY = 10;

/** @type {Page} */
export const page = {
  title: "Overview",
  show(view) {
    const { run, signal } = view;
    const time = () => ({ from: view.from, to: view.to });
    /** @type {Map<string, () => void>} */
    const redraws = new Map();
    let [seen, asked, moment, headed] = ["", "", view.at, run.end];

    /** @param {string} title @param {string} what @param {Record<string, any>} [more] @param {Partial<import("./lines.js").LinesOptions>} [look] */
    const curve = (title, what, more = {}, look = {}) => {
      const made = part(signal, {
        title,
        ask: (stop) => ask(["runs", run.id, "curves", what], { ...time(), ...more }, stop),
        empty: (answer) => (Object.keys(answer.series).length ? null : "nothing of it happened in this stretch"),
        draw: (answer) => {
          const drawn = lines(() => view, { title, unit: answer.unit, time: answer.time, ...look,
            series: Object.entries(answer.series).map(([name, values]) => ({ name, values: /** @type {number[]} */ (values) })) });
          redraws.set(title, drawn.redraw);
          return drawn.element;
        },
      });
      return made;
    };

    const head = part(signal, {
      kind: "bare",
      ask: (stop) => ask(["runs", run.id, "metrics"], {}, stop),
      draw: ({ metrics }) => {
        const chosen = FIRST.flatMap((name) => metrics.filter((/** @type {any} */ metric) => metric.name === name || (name.startsWith("utilisation") && metric.name.startsWith(name)))).filter((metric, place, all) => all.indexOf(metric) === place);
        return [h("div", { class: "cards" }, ...chosen.slice(0, 8).map((metric) => h("div", { title: metric.meaning }, h("span", { class: "soft" }, metric.name.replace(/_/g, " ")), h("b", {}, measured(/^(pods|nodes)$/.test(metric.unit) ? "" : metric.unit, metric.value))))),
          h("details", {}, h("summary", {}, `all ${counted(metrics.length, "number")}`),
            table(["metric", "value", "better", "meaning"], metrics.map((/** @type {any} */ metric) => [metric.name, measured(metric.unit, metric.value), metric.better || "–", metric.meaning]), { words: [2, 3] }))];
      },
    });
    const now = h("div", { class: "cards" });
    view.live?.onTick((tick) => fill(now, ...[
      ["waiting now", count(Object.values(tick.queue).reduce((all, pods) => all + pods, 0))], ["attempts that placed", count(tick.placed)], ["that failed", count(tick.failed)],
      ...Object.entries(tick.utilisation).slice(0, 4).map(([name, share]) => [`${name} held now`, measured("share", share)]),
    ].map(([name, value]) => h("div", {}, h("span", { class: "soft" }, name), h("b", {}, value)))));
    const waiting = part(signal, {
      title: "Who waits, and why",
      ask: (stop) => ask(["runs", run.id, "waiting"], { at: view.at }, stop),
      draw: (answer) => waitingGroups(answer),
    });
    const parts = [
      curve("Held of what there was", "utilisation"), curve("Pods waiting", "waiting"), curve("Decisions a second", "decisions", { by: "outcome" }),
      curve("Refusals a second, by plugin", "refusals", { by: "plugin" }),
    ];
    view.main.append(
      h("h1", {}, run.id),
      h("p", { class: "soft" }, `${run.name} · ${counted(run.nodes, "node")}, ${counted(run.pods, "pod")}, ${counted(run.decisions, "decision")} · ${run.policies.join(", ")}${run.origin ? ` · ${run.origin}` : ""} · seed ${run.seed}`),
      ...(view.live ? [now] : []), head.element, h("div", { class: "grid" }, h("div", { class: "whole" }, waiting.element), ...parts.map((made) => made.element)),
    );
    [seen, asked] = [`${view.from} ${view.to}`, `${view.query}`];

    return () => {
      const [stretch, query] = [`${view.from} ${view.to}`, `${view.query}`];
      /** What is looked at closely holds still while nothing but time goes on. @param {{element: HTMLElement, refresh: () => Promise<void>}} made */
      const refresh = (made) => { if (query !== asked || !made.element.matches(":hover, :focus-within")) void made.refresh(); };
      for (const redraw of redraws.values()) redraw();
      if (stretch !== seen) parts.forEach(refresh);
      if (moment !== view.at) refresh(waiting);
      if (run.end - headed > HEAD_EVERY) {
        headed = run.end;
        refresh(head);
      }
      [seen, asked, moment] = [stretch, query, view.at];
    };
  },
};

/** Pods that wait for the same reason, together, and what has ended. @param {import("./answers.d.ts").WaitingAnswer} answer */
function waitingGroups(answer) {
  const { columns } = answer;
  const ended = Object.entries(answer.ended).map(([how, number]) => `${count(number)} ${how}`).join(", ");
  return [
    h("p", {}, answer.waiting ? `At ${clock(answer.at)} ${counted(answer.waiting, "pod")} waited.` : `At ${clock(answer.at)} no pod waited.`, ended ? ` Ended until then: ${ended}.` : ""),
    answer.waiting > 0 && bars(columns.reason.map((reason, place) => {
      const pod = columns.longest_pod[place] ?? "";
      const job = columns.job[place];
      const cut = pod.indexOf("/");
      return {
        value: count(columns.pods[place] ?? 0),
        label: job ? reason : h("a", { href: link("pods", [], { state: "waiting", "refused-by": reason }) }, reason),
        pieces: [{ size: columns.pods[place] ?? 0, tint: 1 }],
        more: ["longest ", length(columns.longest_seconds[place]), ": ", h("a", { href: link("pods", [pod.slice(0, cut), pod.slice(cut + 1)]) }, pod), job ? ` of job ${job}` : ""],
      };
    }), { label: "pods by the reason they wait for" }),
  ];
}
