// Scores of the best nodes: stacked bars of the plugins that tell nodes apart, the chosen one first; the others in a line.

import { bars } from "./bars.js";
import { h } from "./dom.js";
import { legend } from "./lines.js";
import { link } from "./state.js";
import { count, counted, plugin } from "./words.js";

/**
 * A node that was scored, and what each plugin gave it.
 * @typedef {{node: string, total: number | null, scores: Record<string, number>}} ScoredNode
 */

const MOST = 8;

/**
 * @param {ScoredNode[]} rows @param {string | null} chosen the node that it went to
 */
export function scores(rows, chosen) {
  const sorted = rows.filter(({ total }) => total !== null).sort((one, other) =>
    Number(other.node === chosen) - Number(one.node === chosen) || (other.total ?? 0) - (one.total ?? 0) || (one.node < other.node ? -1 : 1));
  const plugins = [...new Set(sorted.flatMap((row) => Object.keys(row.scores)))];
  const telling = plugins.filter((name) => new Set(sorted.map((row) => row.scores[name])).size > 1);
  const alike = plugins.filter((name) => !telling.includes(name) && sorted[0]?.scores[name]);
  const best = sorted.filter(({ total }) => total === sorted[0]?.total).length;
  return [
    telling.length > 0 && legend(telling.map(plugin), []),
    bars(sorted.slice(0, MOST).map(({ node, total, scores: given }) => ({
      value: count(total ?? 0),
      label: [h("a", { href: link("nodes", [node]) }, node), node === chosen ? " ◂ chosen" : ""],
      pieces: telling.map((name, tint) => ({ size: given[name] ?? 0, tint, title: `${plugin(name)} ${given[name] ?? 0}` })),
      more: telling.map((name) => `${plugin(name)} ${given[name] ?? 0}`).join(", "),
      marked: node === chosen,
    })), { label: "scores of the best nodes, by plugin" }),
    sorted.length > MOST && h("p", { class: "soft" }, `and ${counted(sorted.length - MOST, "node")} more, no better`),
    alike.length > 0 && h("p", { class: "soft" }, `the same on all: ${alike.map((name) => `${plugin(name)} ${sorted[0]?.scores[name]}`).join(", ")}`),
    best > 1 && h("p", { class: "soft" }, `${counted(best, "node")} are equally good: the seed decides`),
  ];
}

/** Rows of scores that a run kept, one a node and plugin. @param {Record<string, any>[]} kept @returns {ScoredNode[]} */
export function keptScores(kept) {
  /** @type {Map<string, ScoredNode>} */
  const byNode = new Map();
  for (const { node, total, plugin: name, score } of kept) {
    const row = byNode.get(node) ?? /** @type {ScoredNode} */ ({ node, total, scores: {} });
    row.scores[name] = score;
    byNode.set(node, row);
  }
  return [...byNode.values()];
}
