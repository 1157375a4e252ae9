// Two to four runs side by side: their numbers, curves over each other, where their decisions part and with what answers,
// which pods fare otherwise, and their heat maps with one window, or the difference of two.

import { ask } from "./api.js";
import { choice, same } from "./choices.js";
import { askCurve, curve, follow } from "./curve.js";
import { h } from "./dom.js";
import { firstDecision } from "./first_decision.js";
import { lines } from "./lines.js";
import { emptyBox, part } from "./part.js";
import { change, link, podLink } from "./state.js";
import { longTable, table } from "./table.js";
import { clock, count, counted, length, measured, percent } from "./words.js";

/** @typedef {import("./answers.d.ts").ComparedRuns} ComparedRuns */
/** @typedef {import("./answers.d.ts").WaitsAnswer} WaitsAnswer */
const [MOST, POINTS, NOISE] = [4, 240, 1e-9];

/** @type {Page} */
export const page = {
  title: "Compare",
  show(view) {
    const { main, runs, signal } = view;
    const known = runs.map(({ id }) => id);
    const ids = [...new Set(view.query.getAll("run"))].filter((id) => known.includes(id)).slice(0, MOST);
    if (!ids.length) ids.push(view.run.id);
    const boxes = h("fieldset", { class: "controls" }, h("legend", {}, "Runs, the first of which the others are compared with"), ...runs.map(({ id, name }) => {
      const isThere = ids.includes(id);
      return h("label", { title: name }, h("input", { type: "checkbox", checked: isThere, disabled: ids.length === (isThere ? 1 : MOST),
        change: () => change({ run: isThere ? ids.filter((one) => one !== id) : [...ids, id] }, true) }), id);
    }));
    main.append(h("h1", {}, ids.length > 1 ? ids.join(" · ") : "Compare"), runs.length > 1 ? boxes : "");
    const [first = "", ...others] = ids;
    if (!others.length) {
      main.append(runs.length > 1 ? emptyBox(`Choose what ${first} is to be compared with.`) : emptyBox("There is one run here, and nothing to compare it with.", `fairway ui ${first}.duckdb OTHER.duckdb`));
      return undefined;
    }
    /** Asked once for all parts. @type {Promise<ComparedRuns> | null} */
    let asking = null;
    const compared = () => (asking ??= ask(["compare"], { run: ids }, signal).catch((error) => { asking = null; throw error; }));
    /** @param {string} title @param {(answer: ComparedRuns) => Child} draw */
    const told = (title, draw) => part(signal, { title, kind: title ? "" : "bare", ask: compared, draw }).element;

    const other = choice(view, "other", "beside it", same(others));
    const resource = choice(view, "resource", "resource", same(Object.keys(view.run.resources).filter((name) => name !== "pods")));
    const shown = choice(view, "heat", "show", { both: "side by side", difference: "the difference" });
    /** @param {string} title @param {string} what @param {() => string} [name] of the one series */
    const over = (title, what, name) => curve(view, title, async (stop) => {
      const answers = await Promise.all(ids.map((id) => askCurve(view, what, { points: POINTS }, id, stop)));
      const { unit = "", time = [] } = answers[0] ?? {};
      return { unit, time, series: Object.fromEntries(answers.map(({ series }, place) => [ids[place], series[name?.() ?? ""] ?? Object.values(series)[0] ?? []])) };
    });
    const held = over("Held of what there was", "utilisation", resource.value);
    const curves = [held, over("Pods waiting", "waiting"), over("Nodes in use", "nodes-used")];
    const waits = part(signal, {
      title: "How long pods waited",
      note: "the share of pods that waited no longer",
      ask: (stop) => Promise.all(ids.map((id) => ask(["runs", id, "waits"], {}, stop))),
      empty: (answers) => (answers.some(({ seconds }) => seconds.at(-1) > 0) ? null : "nobody had to wait in any of these runs"),
      draw: (answers) => waitsDrawn(view, ids, answers),
    });
    const parting = part(signal, { title: "First different decision", ask: compared, draw: ({ first: partings }) => {
      const found = partings[others.indexOf(other.value())];
      return found && firstDecision(view, first, found);
    } });
    const pods = comparedPods(view, first, other.value);
    /** @param {typeof import("./heat_map.js").heatPart} heatPart @param {string[]} whose */
    const map = (heatPart, whose) => {
      const made = heatPart(view, () => ({ runs: () => whose.flatMap((id) => runs.filter((one) => one.id === id)), path: ["heat", resource.value()], what: resource.value(), one: "node", height: 300,
        values: { order: "name", stat: "mean", filter: "" }, href: (name) => link("nodes", [name], { run: whose[0] }) }));
      made.element.prepend(h("h3", {}, whose.length > 1 ? `${whose[1]} less ${whose[0]}` : whose[0]));
      return made;
    };
    const maps = h("div", { class: "grid below" });
    /** @type {ReturnType<typeof map>[]} */
    let drawn = [];
    const drawMaps = async () => {
      const { heatPart } = await import("./heat_map.js");
      if (signal.aborted) return;
      drawn = !resource.value() ? [] : (shown.value() === "difference" ? [[first, other.value()]] : ids.map((id) => [id])).map((whose) => map(heatPart, whose));
      maps.replaceChildren(...drawn.map(({ element }) => element));
    };
    void drawMaps();
    main.append(
      told("", ({ notes }) => notes.length > 0 && h("div", { class: "part warning", role: "alert" }, h("strong", {}, "These runs are not comparable"), ...notes.map((note) => h("p", {}, note)))),
      told("Numbers", ({ metrics }) => numbers(ids, metrics)),
      h("div", { class: "controls" }, resource.element, others.length > 1 && other.element), h("div", { class: "grid below" }, ...curves.map(({ element }) => element), waits.element),
      parting.element, pods.element, h("h2", {}, "Nodes over time"),
      told("", ({ nodes }) => {
        const unlike = nodes.filter((one) => one.num_only_first + one.num_only_other);
        return unlike.length ? unlike.map((one) => h("p", {}, `${one.run} has other nodes than ${first}: ${unlikeNodes(first, one)}`)) : h("div", { class: "controls" }, shown.element);
      }), maps);
    const choices = [resource, other, shown];
    const state = () => choices.map(({ value }) => value());
    let was = state();
    const moved = follow(view, curves);
    return () => {
      const now = state();
      moved();
      for (const one of choices) one.redraw();
      if (now[0] !== was[0]) void held.refresh();
      if (now[1] !== was[1]) for (const one of [parting, pods]) void one.refresh();
      if (now[1] !== was[1] || now[2] !== was[2]) void drawMaps();
      for (const one of drawn) one.redraw();
      was = now;
    };
  },
};

/** All metrics, those without any difference folded away. @param {string[]} ids @param {ComparedRuns["metrics"]} metrics */
function numbers(ids, metrics) {
  const some = metrics.filter(({ values }) => values.includes(null));
  const unlike = metrics.filter((metric) => !some.includes(metric) && metric.differences.some((by) => Math.abs(by ?? 0) > NOISE * Math.abs(metric.values[0] ?? 0)));
  const alike = metrics.filter((metric) => !some.includes(metric) && !unlike.includes(metric));
  const heads = [...ids.slice(1).map((id) => `${id} to ${ids[0]}`), ...ids];
  /** @param {ComparedRuns["metrics"]} these */
  const rows = (these) => table(["metric", ...heads, "meaning"], these.map(({ name, unit, values, differences, relative, is_better: better, meaning }) => {
    const value = (/** @type {number | null | undefined} */ one) => (Math.abs(one ?? 0) < 1e9 ? measured(/^(pods|nodes)$/.test(unit) ? "" : unit, one) : one?.toExponential(2) ?? "");
    return [name.replace(/_/g, " "), ...differences.map((by, place) => difference(by, relative[place], better[place], value)), ...values.map(value), meaning];
  }), { words: [heads.length + 1] });
  const folded = /** @type {[ComparedRuns["metrics"], string][]} */ ([[alike, "without any difference"], [some, "that not all of them have"]]);
  return [unlike.length ? rows(unlike) : h("p", {}, "All numbers are the same."),
    ...folded.map(([these, what]) => these.length > 0 && h("details", {}, h("summary", {}, `${counted(these.length, "number")} ${what}`), rows(these)))];
}

/** @param {number | null | undefined} by @param {number | null | undefined} relative @param {boolean | null | undefined} better @param {(by: number) => string} value */
function difference(by, relative, better, value) {
  if (by === null || by === undefined) return null;
  if (!by) return "=";
  const sign = `${by < 0 ? "▾" : "▴"} ${by > 0 ? "+" : ""}`;
  const text = sign + (relative === null || relative === undefined ? value(by) : percent(relative));
  return better === null || better === undefined ? text : h("span", { class: better ? "good" : "bad" }, `${text} ${better ? "better" : "worse"}`);
}

/** Shares of pods by how long they waited. @param {View} view @param {string[]} ids @param {WaitsAnswer[]} answers */
function waitsDrawn(view, ids, answers) {
  const longest = Math.max(...answers.map(({ seconds }) => seconds.at(-1) ?? 0));
  const time = Array.from({ length: POINTS + 1 }, (_, place) => (longest * place) / POINTS);
  const own = /** @type {View} */ ({ signal: view.signal, run: view.run, from: 0, to: longest, at: -1 });
  const series = answers.map(({ seconds, share }, place) => ({ name: ids[place] ?? "", values: time.map((moment) => share[seconds.findLastIndex((one) => one <= moment * (1 + NOISE))] ?? 0) }));
  const never = answers.flatMap(({ waiting }, place) => (waiting ? [`${ids[place]}: ${counted(waiting, "pod")} never got a node`] : []));
  return [lines(() => own, { title: "Share of pods that waited no longer", unit: "share", time, series, largest: 1, isStill: true }).element, never.length > 0 && h("p", {}, never.join(", "))];
}

/** Pods that fare otherwise, by delay. @param {View} view @param {string} first @param {() => string} other */
function comparedPods(view, first, other) {
  const note = h("p", { class: "soft" });
  /** @param {Record<string, any>} row @param {string} run @param {string} name */
  const at = (row, run, name) => h("a", { href: podLink(row.pod, { run }) }, name);
  const list = longTable(view.signal, {
    name: "pods that fare otherwise",
    sort: "-delay",
    open: (row) => change({ at: row.created_seconds }, true),
    columns: [
      { head: "pod", sort: "pod" },
      { head: "created", sort: "created", cell: (row) => clock(row.created_seconds) },
      { head: "node, in the first", words: true, cell: (row) => at(row, first, row.node ?? "none") },
      { head: "in the other", words: true, cell: (row) => at(row, other(), row.other_node ?? "none") },
      { head: "waited, in the first", cell: (row) => length(row.wait_seconds) },
      { head: "in the other", cell: (row) => length(row.other_wait_seconds) },
      { head: "delay", sort: "delay", cell: ({ delay_seconds: by }) => (Math.abs(by) < 1e-6 ? "=" : h("span", { class: by > 0 ? "bad" : "good" }, `${by > 0 ? "▴" : "▾"} ${length(Math.abs(by))} ${by > 0 ? "later" : "earlier"}`)) },
    ],
    ask: async (next, sort, stop) => {
      const answer = await ask(["compare", "pods"], { run: [first, other()], sort, next }, stop);
      const alone = [[first, answer.num_only_first], [other(), answer.num_only_other]].filter(([, number]) => number).map(([run, number]) => `${counted(number, "pod")} only in ${run}`);
      note.textContent = [`Of ${counted(answer.num_both, "pod")} that both ${first} and ${other()} have, ${count(answer.num_elsewhere)} got another node, ${count(answer.total - answer.num_elsewhere)} the same after another wait`, ...alone].join("; ");
      return answer;
    },
  });
  return { element: h("section", { class: "part" }, h("h2", {}, "Pods that fare otherwise"), note, list.element), refresh: list.refresh };
}

/** @param {string} first @param {import("./answers.d.ts").ComparedNodes} nodes */
function unlikeNodes(first, { run, num_only_first: ours, num_only_other: theirs, only_first: mine, only_other: others }) {
  const some = /** @type {[string, number, string[]][]} */ ([[first, ours, mine], [run, theirs, others]]);
  return some.filter(([, number]) => number).map(([whose, number, names]) => `${counted(number, "node")} only in ${whose} (${names.join(", ")}${number > names.length ? ", …" : ""})`).join("; ");
}
