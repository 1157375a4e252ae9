// Decisions: the log of attempts, and one of them with all that was kept of it.

import { ask } from "./api.js";
import { fill, h } from "./dom.js";
import { filteredTable } from "./filters.js";
import { funnel, keptFunnel } from "./funnel.js";
import { bindPage } from "./keys.js";
import { nodeLink, podLink } from "./names.js";
import { part } from "./part.js";
import { keptScores, scores } from "./scores.js";
import { change } from "./state.js";
import { rowsOf, table } from "./table.js";
import { clock, count, length, MARKS, plugin } from "./words.js";

/** The pod, at that attempt. @param {Record<string, any>} row */
const podOf = ({ pod, attempt, time_seconds }) => podLink(pod, { attempt, at: time_seconds });
/** @param {Record<string, any>} row */
const where = ({ node, nominated_node }) => nodeLink(node) || (nominated_node && ["makes room on ", nodeLink(nominated_node)]);

/** @type {Page} */
export const page = {
  title: "Decisions",
  show(view) {
    const { run, signal } = view;
    /** @param {number | null} decision */
    const open = (decision) => change({ decision }, true);
    const log = filteredTable(view, { outcome: ["scheduled", "unschedulable", "gated", "error"], pod: null, namespace: null, node: null, scheduler: null, "refused-by": null }, {
      name: "decisions",
      sort: run.state === "live" ? "-time" : "time",
      kept: ["from", "to"],
      empty: "there are no such decisions here; which ones a run keeps its scenario says (record.decisions)",
      ask: (values, stop) => ask(["runs", run.id, "decisions"], values, stop),
      open: ({ decision_id }) => open(decision_id),
      columns: [
        ["time", ({ decision_id, time_seconds }) => decision_id === undefined ? clock(time_seconds, true) : h("button", { type: "button", class: "quiet", click: () => open(decision_id) }, clock(time_seconds, true)), "time"],
        ["outcome", ({ outcome }) => `${MARKS[outcome] ?? "✓"} ${outcome}`, undefined, true],
        ["pod", podOf, undefined, true],
        ["attempt", ({ attempt }) => count(attempt)],
        ["node", where, undefined, true],
        ["nodes that fit", ({ num_feasible, num_nodes }) => [count(num_feasible), num_nodes && ` of ${count(num_nodes)}`]],
        ["took", ({ cycle_seconds }) => length(cycle_seconds), "cycle"],
        ["scheduler", ({ scheduler }) => scheduler, undefined, true],
      ],
    });
    /** What came while somebody looked closely. @type {Record<string, any>[]} */
    let fresh = [];
    const held = h("button", { type: "button", hidden: true, click: () => flow(false) });
    /** @param {boolean} isHeld */
    const flow = (isHeld) => {
      if (!isHeld) log.table.put(fresh.splice(0));
      held.hidden = !fresh.length;
      fill(held, `${count(fresh.length)} new`);
    };
    view.live?.onDecisions(({ columns }) => {
      if (Object.values(log.values()).some((value) => value) || (view.query.get("sort") ?? "-time") !== "-time") return;
      fresh.unshift(...rowsOf(columns).reverse());
      flow(log.element.matches(":hover, :focus-within"));
    });
    const box = h("div");
    let shown = "";
    function showOne() {
      const id = view.query.get("decision") ?? "";
      if (id === shown) return;
      shown = id;
      fill(box, id && part(signal, { title: `Decision ${id}`, ask: (stop) => ask(["runs", run.id, "decisions", id], {}, stop), draw: detail }).element);
    }
    bindPage("c", "close the decision", () => open(null));
    showOne();
    view.main.append(h("h1", {}, "Decisions"), log.controls, held, box, log.element);
    return () => {
      log.update();
      showOne();
    };
  },
};

/** @param {import("./answers.d.ts").DecisionAnswer} answer */
function detail({ decision, filter_counts, scores: kept, preemptions, plugin_times }) {
  const row = Object.fromEntries(Object.entries(decision).map(([name, [value]]) => [name, value]));
  /** @param {string} title @param {{length: number}} what @param {() => Child} draw */
  const told = (title, what, draw) => what.length > 0 && h("div", {}, h("h3", {}, title), draw());
  return [
    h("p", {}, podOf(row), ` at ${clock(row.time_seconds, true)} · attempt ${row.attempt} · ${row.outcome} `, where(row), ` · took ${length(row.cycle_seconds)} `,
      h("button", { type: "button", click: () => change({ decision: null }, true) }, "Close")),
    row.message && h("pre", {}, row.message),
    h("div", { class: "grid" },
      told("Who refused", filter_counts, () => funnel(keptFunnel(row.num_nodes, filter_counts))),
      told("Scores", kept, () => scores(keptScores(kept), row.node)),
      told("Evicted", preemptions, () => table(["pod", "node"], preemptions.map(({ victim, node }) => [podLink(victim), nodeLink(node)]))),
      told("Processor time", plugin_times, () => table(["plugin", "point", "calls", "time"], plugin_times.map((one) => [plugin(one.plugin), one.point, count(one.num_calls), length(one.cpu_seconds)])))),
    row.node && !kept.length && h("p", { class: "soft" }, "No scores were recorded (record.scores): the page of the pod works them out again."),
  ];
}
