// Scores of the best nodes: stacked bars of the plugins that tell nodes apart, the chosen one first; the others in a line.

import { bars } from "./bars.js";
import { h } from "./dom.js";
import { legend } from "./lines.js";
import { nodeLink } from "./names.js";
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
  /** @param {ScoredNode} row */
  const worth = ({ node, total }) => (node === chosen ? Infinity : total ?? -1);
  const sorted = [...rows].sort((one, other) => worth(other) - worth(one));
  const [best] = sorted;
  const plugins = Object.keys(best?.scores ?? {});
  const telling = plugins.filter((name) => rows.some((row) => row.scores[name] !== best?.scores[name]));
  const alike = plugins.filter((name) => !telling.includes(name) && best?.scores[name]);
  /** @param {ScoredNode} row @param {string[]} names */
  const told = (row, names) => names.map((name) => `${plugin(name)} ${row.scores[name] ?? 0}`);
  return [
    legend(telling.map(plugin), []),
    bars(sorted.slice(0, MOST).map((row) => ({
      value: count(row.total ?? 0),
      label: [nodeLink(row.node), row.node === chosen && " ◂ chosen"],
      pieces: told(row, telling).map((title, tint) => ({ size: row.scores[telling[tint] ?? ""] ?? 0, tint, title })),
      more: told(row, telling).join(", "),
      marked: row.node === chosen,
    })), { label: "scores of the best nodes, by plugin" }),
    sorted.length > MOST && h("p", { class: "soft" }, `and ${counted(sorted.length - MOST, "node")} more, no better`),
    best?.node === chosen && sorted.some(({ total }) => (total ?? 0) > (best?.total ?? 0)) && h("p", { class: "soft" }, "the decision looked at some of these nodes only, so others may score more here"),
    best && alike.length > 0 && h("p", { class: "soft" }, `the same on all: ${told(best, alike).join(", ")}`),
  ];
}

/** Rows of scores that a run kept, one a node and plugin. @param {Record<string, any>[]} kept @returns {ScoredNode[]} */
export function keptScores(kept) {
  return [...new Set(kept.map(({ node }) => node))].map((node) => {
    const own = kept.filter((row) => row.node === node);
    return { node, total: own[0]?.total, scores: Object.fromEntries(own.map((row) => [row.plugin, row.score])) };
  });
}
