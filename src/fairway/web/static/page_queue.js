// The queue: who stood where over time, what moved them, who waits at the moment and for what; and of jobs in queues
// their positions, when they will start, and who is entitled to how much.

import { ask, Refused } from "./api.js";
import { choice, typed } from "./choices.js";
import { askCurve, curve, follow } from "./curve.js";
import { fill, h } from "./dom.js";
import { part } from "./part.js";
import { link, podLink } from "./state.js";
import { longTable, table } from "./table.js";
import { amount, clock, count, counted, length, measured, plugin } from "./words.js";

/** @type {Page} */
export const page = {
  title: "Queue",
  show(view) {
    const { run, signal } = view;
    const by = choice(view, "by", "of", { place: "all schedulers together", scheduler: "each scheduler" });
    const isKept = run.options.queue !== false;
    const places = curve(view, "Pods in the queue, by place", async (stop) => {
      if (!isKept) throw new Refused(404, "not_recorded", "the run does not say who stood where in the queue", "record or simulate it with record: {queue: true}");
      return askCurve(view, "queue", { by: by.value() }, run.id, stop);
    }, { stacked: true });
    const moves = isKept && curve(view, "Moves a second, by what moved the pods", (stop) => askCurve(view, "moves", { points: 120 }, run.id, stop), { stacked: true });
    const waiting = isKept && waitingPods(view);
    const jobs = run.has_queues ? queueJobs(view) : [];
    view.main.append(h("h1", {}, "Queue"), isKept ? h("div", { class: "controls" }, by.element) : "",
      h("div", { class: "grid below" }, places.element, moves && moves.element),
      ...(waiting ? [waiting.element] : []), ...jobs.map(({ element }) => element));
    const moved = follow(view, moves ? [places, moves] : [places], [...(waiting ? [waiting] : []), ...jobs]);
    let [shown, told] = [by.value(), asked(view)];
    return () => {
      moved();
      by.redraw();
      if (by.value() !== shown) void places.refresh();
      if (asked(view) !== told) for (const one of jobs) void one.refresh();
      [shown, told] = [by.value(), asked(view)];
    };
  },
};

/** Which jobs are asked for. @param {View} view */
function asked({ query }) {
  return ["queue", "user", "job"].map((name) => query.get(name)).join("\n");
}

/** Who waits at the moment, where, since when, and what for. @param {View} view */
function waitingPods(view) {
  const title = h("h2", {}, "Who waits");
  const made = longTable(view.signal, {
    name: "pods in the queue",
    empty: "nobody waits at this moment",
    columns: [
      { head: "pod", cell: ({ pod }) => h("a", { href: podLink(pod) }, pod) },
      { head: "place", words: true, cell: ({ place }) => place.replace("_", " ") },
      { head: "there since", cell: ({ since_seconds: since }) => clock(since) },
      { head: "waits", cell: ({ created_seconds: created }) => length(view.at - created) },
      { head: "tried", cell: ({ attempts }) => count(attempts) },
      { head: "refused by", words: true, cell: (row) => row.refused_by && h("span", { title: row.refusal }, plugin(row.refused_by)) },
      { head: "why", words: true, cell: ({ refusal, place }) => refusal ?? (place === "gated" && view.run.has_queues ? "its job has to start first" : null) },
      { head: "what wakes it", words: true, title: "events, as kube-scheduler calls them", cell: ({ wakes }) => wakes },
      { head: "came by", words: true, title: "the event that moved it there", cell: ({ event }) => event },
      { head: "scheduler", words: true },
    ],
    ask: async (next, _, stop) => {
      const answer = await ask(["runs", view.run.id, "queue"], { at: view.at, next }, stop);
      const places = Object.entries(answer.places).map(([place, number]) => `${count(/** @type {number} */ (number))} ${place.replace("_", " ")}`);
      fill(title, `Who waits at ${clock(view.at)}`, h("small", {}, places.join(", ")));
      return answer;
    },
  });
  return { element: h("section", { class: "part" }, title, made.element), refresh: made.refresh };
}

/** Jobs of queues, one of them in detail, and shares. @param {View} view @returns {{element: HTMLElement, refresh: () => Promise<void>}[]} */
function queueJobs(view) {
  const { run, signal } = view;
  const title = h("h2", {}, "Jobs");
  const list = longTable(signal, {
    name: "jobs",
    empty: "no job waits or runs at this moment",
    columns: [
      { head: "job", cell: ({ job }) => h("a", { href: link("queue", [], { job }) }, job) },
      { head: "queue", words: true },
      { head: "position", cell: ({ position }) => position && count(position) },
      { head: "state", words: true },
      { head: "reason", words: true },
      { head: "ahead", words: true, cell: ahead },
      { head: "starts", words: true, title: "likely – safe; by limits: if all run as long as they may", cell: starts },
      { head: "limit", cell: (row) => (row.limit_seconds === null ? "none" : length(row.limit_seconds)) },
      { head: "asks for", words: true, cell: ({ size }) => size },
      { head: "user", words: true, cell: ({ user, account }) => (account ? `${account}/${user}` : user) },
      { head: "submitted", cell: (row) => clock(row.submitted_seconds) },
    ],
    ask: async (next, _, stop) => {
      const { query, at } = view;
      fill(title, `Jobs at ${clock(at)}`, h("small", {}, "those that run, then those that wait as they will start"));
      return ask(["runs", run.id, "jobs"], { at, queue: query.get("queue"), user: query.get("user"), next }, stop);
    },
  });
  const chosen = () => view.query.get("job")?.split("/") ?? [];
  const one = part(signal, {
    ask: async (stop) => (chosen().length ? ask(["runs", run.id, "jobs", ...chosen()], { at: view.at }, stop) : null),
    draw: (answer) => {
      one.element.hidden = !answer;
      return answer && jobSheet(answer);
    },
  });
  one.element.hidden = !chosen().length;
  const shares = part(signal, {
    title: "Shares",
    note: "an account is entitled to its part of what is above it; who used less goes first",
    ask: (stop) => ask(["runs", run.id, "shares"], { at: view.at }, stop),
    empty: ({ columns }) => (columns.name.length ? null : "its queues know no accounts: spec.batch.accounts names them"),
    draw: ({ columns: { name, is_user: isUser, shares: given, used, norm, level, factor } }) => table(["account, user", "shares", "used (units)", "of all", "level", "factor"],
      name.map((/** @type {string} */ path, /** @type {number} */ row) => [
        ["\u2003".repeat(path.split("/").length - 1), h(isUser[row] ? "span" : "b", { title: path }, path.slice(path.lastIndexOf("/") + 1))],
        given[row], measured("", used[row]), measured("share", norm[row]), measured("", level[row]), measured("", factor[row])])),
  });
  return [
    { element: h("section", { class: "part" }, title, h("div", { class: "controls" }, ...["queue", "user"].map((name) => typed(view, name, name, "").element)), list.element), refresh: list.refresh },
    one, shares,
  ];
}

/** What stands before a job. @param {Record<string, any>} row */
function ahead({ jobs_ahead: jobs, cpu_milli_ahead: cpu, gpu_ahead: gpu }) {
  if (jobs === null) return null;
  return [counted(jobs, "job"), cpu ? `${amount("cpu", cpu)} cpu` : "", gpu ? `${count(gpu)} gpu` : ""].filter((text) => text).join(", ");
}

/** When it starts, or did. @param {Record<string, any>} row */
function starts(row) {
  const [likely, safe, limits] = [row.likely_seconds, row.safe_seconds, row.by_limits_seconds];
  if (row.started_seconds !== null && likely === null) return `since ${clock(row.started_seconds)}`;
  if (likely === null && limits === null) return null;
  const range = likely === null ? [] : [safe === null || safe === likely ? clock(likely) : `${clock(likely)} – ${clock(safe)}`];
  return [...range, ...(limits === null ? [] : [`by limits ${clock(limits)}${row.is_promised ? ", promised" : ""}`])].join(" · ");
}

/** One job, as `fairway why` has it. @param {Record<string, any>} job */
function jobSheet({ job, state, reason, message, room, holders, earlier, states }) {
  return [
    h("h2", {}, job, h("small", {}, [state, reason].filter((word) => word).join(" · "))), h("p", {}, message),
    room && h("p", {}, `By limits there is room from ${clock(room.fromSeconds)} on, on ${counted(room.nodes.length, "node")}: ${room.nodes.join(", ")}`),
    holders?.length > 0 && [h("h3", {}, "Who holds its room"), h("ul", {}, ...holders.map((/** @type {any} */ one) =>
      h("li", {}, one.job ? h("a", { href: link("queue", [], { job: one.job }) }, one.job) : "others", ` on ${one.node} ${one.untilSeconds === null ? "without an end" : `until ${clock(one.untilSeconds)}`}`)))],
    earlier?.length > 0 && [h("h3", {}, "What would let it start earlier (tried)"), h("ul", {}, ...earlier.map((/** @type {any} */ one) => h("li", {}, `${one.change}: ${one.starts}`)))],
    h("details", {}, h("summary", {}, counted(states.length, "change")), table(["when", "state", "reason", "message"],
      states.map((/** @type {any} */ one) => [clock(one.timeSeconds), one.state, one.reason, one.message]), { words: [1, 2, 3] })),
  ];
}
