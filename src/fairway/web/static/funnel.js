// The funnel of an attempt: how many nodes each plugin left over, what was wrong with the others, and which they are.

import { bars } from "./bars.js";
import { h } from "./dom.js";
import { nodeLink, unfolding } from "./names.js";
import { amount, count, plugin } from "./words.js";

/**
 * As `fairway why -o json` has it; a funnel that was recorded has no `perNode`, so nobody knows which nodes they were.
 * @typedef {{reason: string, nodes: number, resource?: string, needed?: number, mostFree?: number}} Group
 * @typedef {{node: string, group?: number[] | null, resources?: {name: string, free: number}[]}} JudgedNode
 * @typedef {{nodes: number, funnel: {plugin: string, refused: number, left: number, reasons: Group[], umbrella?: string}[], perNode?: JudgedNode[]}} Judged
 */

/** Bars of nodes left after each plugin; below each the groups it refused. @param {Judged} judged */
export function funnel({ nodes, funnel: steps, perNode }) {
  return bars([{ value: count(nodes), label: "nodes", pieces: [{ size: nodes, tint: 0 }] }, ...steps.map((step, number) => ({
    value: count(step.left),
    label: plugin(step.plugin),
    pieces: [{ size: step.left, tint: 0 }, { size: step.refused, tint: 0, isFaint: true }],
    more: step.reasons.map((group, place) => {
      const words = `${count(group.nodes)} ${told(group, step.umbrella)}`;
      return perNode ? unfolding(words, () => perNode.filter((one) => one.group?.[0] === number && one.group[1] === place).map(({ node, resources }) => {
        const short = resources?.find(({ name }) => name === group.resource);
        return h("span", {}, nodeLink(node), short && ` ${amount(short.name, short.free)} free`);
      })) : h("div", {}, words);
    }),
  }))], { largest: nodes, label: "nodes left after each plugin" });
}

/** @param {Group} group @param {string} [umbrella] */
function told({ reason, resource, needed = 0, mostFree = 0 }, umbrella = "") {
  return resource ? `short of ${resource}: needs ${amount(resource, needed)}, most free ${amount(resource, Math.max(mostFree, 0))}` : `${umbrella} ${reason.replace(/node\(s\) /g, "")}`.trim();
}

/** A funnel of what a run kept: how many nodes each plugin refused. @param {number} nodes @param {import("./answers.d.ts").FilterCount[]} counts @returns {Judged} */
export function keptFunnel(nodes, counts) {
  let left = nodes;
  return { nodes, funnel: [...new Set(counts.map((one) => one.plugin))].map((name) => {
    const reasons = counts.filter((one) => one.plugin === name).map((one) => ({ reason: one.reason, nodes: one.num_nodes }));
    const refused = reasons.reduce((sum, one) => sum + one.nodes, 0);
    left -= refused;
    return { plugin: name, refused, left, reasons };
  }) };
}
