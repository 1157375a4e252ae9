// One pod: its life, and why it is where it is, or nowhere, at one of its attempts or at the moment; as `fairway why` says.

import { ask, Refused } from "./api.js";
import { copyButton, fill, h } from "./dom.js";
import { funnel } from "./funnel.js";
import { bindPage } from "./keys.js";
import { life } from "./life.js";
import { nodeLink, podLink, unfolding } from "./names.js";
import { part } from "./part.js";
import { keptScores, scores } from "./scores.js";
import { change, link } from "./state.js";
import { table } from "./table.js";
import { clock, count, counted } from "./words.js";

/** @typedef {Record<string, any>} Document as the API has it */

/** @param {string[]} pods */
const podLinks = (pods) => pods.flatMap((pod, place) => [place ? ", " : "", podLink(pod)]);
/** @param {string[] | undefined} lines */
const told = (lines) => lines && h("pre", {}, lines.join("\n"));

/** @type {Page} */
export const page = {
  title: "Pod",
  show(view) {
    const { run, signal, args } = view;
    const [namespace = "", name = ""] = args;
    /** @param {string[]} parts @param {Document} [values] @param {AbortSignal} [stop] */
    const question = (parts, values, stop) => ask(["runs", run.id, ...parts], values, stop);
    /** @param {string} what */
    const said = (what) => view.query.get(what);
    const now = () => ["uid", "attempt", "at", "node"].map(said);
    let seen = now();
    /** @type {Document} */
    let story = {};
    /** @type {Document} */
    let answer = {};

    /** Why, at an attempt, or at a time at which the pod was there. @param {AbortSignal} stop @param {string | null} [node] */
    const askWhy = (stop, node) => {
      const isThen = !said("attempt") && run.state !== "live" && view.at >= story.createdSeconds;
      return question(["why", namespace, name], { uid: said("uid"), attempt: said("attempt"), at: isThen ? said("at") : null, node }, stop);
    };
    /** @param {{attempt: number, timeSeconds: number}} one */
    const open = ({ attempt, timeSeconds }) => change({ attempt, at: timeSeconds }, true);
    /** @param {number} by */
    const step = (by) => {
      const others = story.attempts?.filter((/** @type {Document} */ one) => (answer.attempt ? one.attempt - answer.attempt : one.timeSeconds - answer.atSeconds) * by > 0);
      const next = others?.at(by > 0 ? 0 : -1);
      if (next) open(next);
    };

    const line = h("section", { class: "part" });
    const drawLife = () => fill(line, ...life(story, run.end, answer.atSeconds, { open, step, look: (at) => change({ at, attempt: null }, true) }));
    const why = part(signal, {
      ask: async (stop) => {
        if (!story.pod) return null;
        const found = await askWhy(stop);
        const made = story.attempts.find((/** @type {Document} */ one) => one.attempt === found.attempt);
        const kept = run.options.scores && made ? (await question(["decisions", made.decision], {}, stop)).scores : [];
        const job = run.has_queues && await question(["jobs", ...(found.job?.job ?? story.pod).split("/")], { at: found.atSeconds }, stop).catch((error) => {
          if (error.status !== 404) throw error; // it waits in no queue
        });
        return { found, made, kept, job };
      },
      draw: (all) => {
        if (!all) return null;
        answer = all.found;
        drawLife();
        fill(names, ...(answer.perNode ?? []).slice(0, 2000).map((/** @type {Document} */ one) => h("option", { value: one.node })));
        return drawWhy(all.found, all.made, all.kept, all.job);
      },
    });
    const one = part(signal, { ask: async (stop) => said("node") && story.pod && askWhy(stop, said("node")), draw: (found) => told(found?.text) });
    const refresh = () => [why, one].forEach((made) => { void made.refresh(); });
    const names = h("datalist", { id: "names" });
    const input = h("input", { type: "search", list: "names", value: said("node"), change: () => change({ node: input.value.trim() }) });
    const rest = h("div", { hidden: true }, line,
      h("div", { class: "controls" }, h("button", { type: "button", click: () => step(-1) }, "[ previous attempt"), h("button", { type: "button", click: () => step(1) }, "next attempt ]"),
        copyButton("Copy as text", () => answer.text.join("\n")), copyButton("Copy the command", () => answer.command), h("label", {}, "and on node", input, names)),
      one.element, why.element);
    const head = part(signal, {
      kind: "bare",
      ask: (stop) => question(["pods", namespace, name], { uid: said("uid") }, stop).catch((error) => {
        if (!(error instanceof Refused) || error.code !== "several_pods") throw error;
        return question(["pods"], { text: `${namespace}/${name}`, limit: 1000 }, stop);
      }),
      draw: (found) => {
        rest.hidden = !found.stays;
        if (rest.hidden) return namesakes(found.columns, args);
        story = found;
        drawLife();
        refresh();
        return drawStory(story);
      },
    });
    view.live?.onPod(`${namespace}/${name}`, () => { if (!why.element.querySelector(".grid [open]")) void head.refresh(); });
    bindPage("[", "previous attempt", () => step(-1));
    bindPage("]", "next attempt", () => step(1));
    bindPage("n", "why on one node", () => input.focus());
    view.main.append(h("h1", {}, `${namespace}/${name}`), head.element, rest);

    return () => {
      const [uid, attempt, at, node] = seen;
      seen = now();
      if (attempt && seen[1] === attempt && seen[2] !== at) change({ attempt: null }); // another moment was chosen
      else if (seen[0] !== uid) void head.refresh();
      else if (seen[1] !== attempt || seen[2] !== at) refresh();
      else if (seen[3] !== node) void one.refresh();
    };
  },
};

/** Pods that had one name, one after the other. @param {import("./answers.d.ts").PodColumns} pods @param {string[]} args */
function namesakes({ pod, uid, created_seconds, state }, args) {
  return [h("p", {}, "Several pods had this name, one after the other:"), h("ul", {}, ...pod.map((one, place) => one === args.join("/") &&
    h("li", {}, h("a", { href: link("pods", args, { uid: uid[place] }) }, `created at ${clock(created_seconds[place] ?? 0, true)}`), ` · ${state[place]}`)))];
}

/** @param {Document} story */
function drawStory({ headline, priority, scheduler, owner, pod, numAttempts, attempts }) {
  const left = numAttempts - attempts.length;
  return [h("p", {}, h("strong", {}, headline)),
    h("p", {}, `priority ${count(priority)} · ${scheduler} · `, owner && [h("a", { href: link("pods", [], { owner }) }, owner), " · "], h("a", { href: link("decisions", [], { pod }) }, counted(numAttempts, "decision")),
      left > 0 && ` · ${count(left)} of them not kept for this pod: the run keeps some (record.decisions), or they were made for its whole job`)];
}

/** @param {Document} found as `fairway why -o json` has it @param {Document | undefined} made the attempt as recorded @param {Document[]} kept scores that were recorded @param {Document} job in its queue */
function drawWhy(found, made, kept, job) {
  const { attempt, funnel: steps, feasible, candidates, fixes, node, perNode = [], message } = found;
  const scored = kept.length ? keptScores(kept) : perNode.filter((/** @type {Document} */ one) => one.fits && one.total !== null);
  /** @param {any} is @param {string} title @param {string} note @param {() => Child} draw */
  const some = (is, title, note, draw) => !!is && h("div", {}, h("h3", {}, `${title} `, h("small", {}, note)), draw());
  return [
    job && [h("h2", {}, "Its job in the queue"), told(job.text)],
    h("h2", {}, `${attempt ? `Attempt ${attempt} of ${count(found.story.numAttempts)} at` : "At"} ${clock(found.atSeconds)}`, found.job && h("small", {}, "by itself, without the other members of its job")),
    found.job && h("p", {}, found.job.message ?? found.text?.[0]),
    h("p", {}, h("strong", {}, found.headline)),
    made?.evicts.length > 0 && h("p", {}, `It made room on ${made?.nominatedNode} by evicting `, ...podLinks(made?.evicts), "."),
    h("div", { class: "grid" },
      some(steps?.length || feasible, "Nodes left after each plugin", "", () => funnel(/** @type {any} */ (found))),
      some(found.result === "unschedulable", "What would fix it", "each was tried", () => fixes.length ? h("ul", {}, ...fixes.map((/** @type {Document} */ { words, nodes }) =>
        h("li", {}, nodes.length > 1 ? unfolding(words, () => nodes.map(nodeLink)) : words))) : "None found: neither giving up one or two of its demands nor more nodes would let it fit now."),
      some(candidates?.length, "Nodes that could be cleared", "fewest budgets broken, then least important pods, wins", () => table(["node", "would have to go", "budgets broken"],
        candidates.map((/** @type {Document} */ one) => [[nodeLink(one.node), one.node === node && " ◂ chosen"], podLinks(one.victims), count(one.pdbViolations)]), { words: [1] })),
      some(scored.length > 1, "Scores", kept.length ? "as recorded" : "worked out again, on the cluster as it was", () => scores(scored, node))),
    message && [h("h3", {}, "kube-scheduler’s words"), h("pre", {}, message)],
    h("details", {}, h("summary", {}, "as fairway why prints it"), told(found.text)),
  ];
}
