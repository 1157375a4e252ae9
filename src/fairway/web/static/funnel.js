// The funnel of an attempt: how many nodes each plugin left over, what was wrong with the others, and which they are.

import { bars } from "./bars.js";
import { fill, h } from "./dom.js";
import { link } from "./state.js";
import { amount, count, counted, plugin } from "./words.js";

/**
 * As `fairway why -o json` has it; a funnel that was recorded has no `perNode`, so nobody knows which nodes they were.
 * @typedef {{reason: string, nodes: number, resource?: string, needed?: number, mostFree?: number}} Group
 * @typedef {{node: string, group?: number[] | null, resources?: {name: string, free: number}[]}} JudgedNode
 * @typedef {{nodes: number, funnel: {plugin: string, refused: number, left: number, reasons: Group[]}[], perNode?: JudgedNode[]}} Judged
 */

const MOST = 200;

/** Bars of nodes left after each plugin; below each the groups it refused. @param {Judged} judged */
export function funnel({ nodes, funnel: steps, perNode }) {
  const all = { value: count(nodes), label: nodes === 1 ? "node" : "nodes", pieces: [{ size: nodes, tint: 0 }] };
  return bars([all, ...steps.map((step, number) => ({
    value: count(step.left),
    label: plugin(step.plugin),
    pieces: [{ size: step.left, tint: 0 }, { size: step.refused, tint: 0, isFaint: true }],
    more: step.reasons.map((group, place) => {
      const told = h("span", {}, `${count(group.nodes)} ${words(group)}`);
      return perNode ? unfolded(told, group, () => perNode.filter((one) => one.group?.[0] === number && one.group[1] === place)) : h("div", {}, told);
    }),
  }))], { largest: nodes, label: "nodes left after each plugin" });
}

/** @param {Group} group */
function words({ reason, resource, needed = 0, mostFree = 0 }) {
  return resource ? `short of ${resource}: needs ${amount(resource, needed)}, most free ${amount(resource, Math.max(mostFree, 0))}` : reason.replace(/node\(s\) /g, "");
}

/** The group, and its nodes when it is opened. @param {Node} told @param {Group} group @param {() => JudgedNode[]} find */
function unfolded(told, { resource }, find) {
  const box = h("div", { class: "names" });
  return h("details", { toggle: () => {
    const found = find();
    fill(box, ...found.slice(0, MOST).map(({ node, resources }) => {
      const free = resources?.find(({ name }) => name === resource)?.free;
      return h("span", {}, h("a", { href: link("nodes", [node]) }, node), free === undefined ? "" : ` ${amount(resource ?? "", free)} free`);
    }), found.length > MOST ? `${count(MOST)} of ${counted(found.length, "node")}` : "");
  } }, h("summary", {}, told), box);
}
