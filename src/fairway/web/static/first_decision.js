// Where two runs part: the first decision in which they differ, and the answers of both side by side.

import { ask } from "./api.js";
import { h } from "./dom.js";
import { funnel } from "./funnel.js";
import { part } from "./part.js";
import { scores } from "./scores.js";
import { change, podLink } from "./state.js";
import { clock } from "./words.js";

/** @param {View} view @param {string} first @param {Record<string, any>} parting of the other run, as `/compare` has it */
export function firstDecision(view, first, { run, sentence, pod, time, number, ours, theirs }) {
  if (!pod) return h("p", {}, sentence);
  const go = () => change({ at: time, ...(time < view.from || time > view.to ? { from: null, to: null } : {}) }, true);
  return [
    h("p", {}, `${sentence.replace(/^[^:]*: /, "")}. ${number ? `The ${number} decisions before it are the same.` : "It is the first decision of all."}`),
    h("p", {}, h("button", { type: "button", click: go }, `Put both clocks at ${clock(time)}`)),
    h("div", { class: "grid" }, answer(view, first, ours), answer(view, run, theirs)),
  ];
}

/** What a run answered. @param {View} view @param {string} run @param {Record<string, any> | null} decision */
function answer(view, run, decision) {
  if (!decision) return h("div", {}, h("h3", {}, run), h("p", {}, "it made no more decisions"));
  const { pod, attempt, node, nominated_node: nominated, outcome } = decision;
  const cut = pod.indexOf("/");
  const made = part(view.signal, {
    kind: "bare",
    ask: (stop) => ask(["runs", run, "why", pod.slice(0, cut), pod.slice(cut + 1)], { attempt }, stop),
    draw: (why) => [h("p", {}, why.message ?? why.remark), funnel(why), node && why.perNode && scores(why.perNode, node)],
  });
  made.element.prepend(h("h3", {}, `${run}: `, h("a", { href: podLink(pod, { run, attempt }) }, pod), ` → ${node ?? (nominated ? `makes room on ${nominated}` : outcome)}`));
  return made.element;
}
