// The overview: the run in a few numbers, how full and how long the line was, who waits longest and why, what went badly.

import { ask } from "./api.js";
import { bars } from "./bars.js";
import { askCurve, curve, follow } from "./curve.js";
import { fill, h } from "./dom.js";
import { part } from "./part.js";
import { link, podLink } from "./state.js";
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
    const parts = /** @type {[string, string, string?][]} */ ([
      ["Held of what there was", "utilisation"], ["Pods waiting", "waiting"], ["Decisions a second", "decisions", "outcome"],
      ["Refusals a second, by plugin", "refusals", "plugin"],
    ]).map(([title, what, by]) => curve(view, title, (stop) => askCurve(view, what, { by }, run.id, stop)));
    view.main.append(
      h("h1", {}, run.id),
      h("p", { class: "soft" }, [run.name, `${counted(run.nodes, "node")}, ${counted(run.pods, "pod")}, ${counted(run.decisions, "decision")}`, run.policies.join(", "), run.origin, !view.live && `seed ${run.seed}`].filter((part) => part).join(" · ")),
      ...(view.live ? [now] : []), head.element, h("div", { class: "grid" }, h("div", { class: "whole" }, waiting.element), ...parts.map((made) => made.element)),
    );
    const moved = follow(view, parts, [waiting]);
    let headed = run.end;
    return () => {
      moved();
      if (run.end - headed <= HEAD_EVERY) return;
      headed = run.end;
      void head.refresh();
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
      return {
        value: count(columns.pods[place] ?? 0),
        label: job ? reason : h("a", { href: link("pods", [], { state: "waiting", "refused-by": reason }) }, reason),
        pieces: [{ size: columns.pods[place] ?? 0, tint: 1 }],
        more: ["longest ", length(columns.longest_seconds[place]), ": ", h("a", { href: podLink(pod) }, pod), job ? ` of job ${job}` : ""],
      };
    }), { label: "pods by the reason they wait for" }),
  ];
}
