// Bars out of elements: numbers are beside them as text, so nobody has to read a length.

import { h } from "./dom.js";

/**
 * @typedef {object} Bar
 * @property {Child} label
 * @property {Child} [value] told beside the bar
 * @property {{size: number, tint: number, title?: string, isFaint?: boolean}[]} pieces one after the other; tint: which colour
 * @property {Child} [more] below it
 * @property {boolean} [marked]
 */

/**
 * Bars below each other, all to one scale.
 * @param {Bar[]} bars @param {{largest?: number, label: string}} options
 */
export function bars(bars, { largest, label }) {
  const most = largest ?? Math.max(...bars.map((bar) => bar.pieces.reduce((sum, piece) => sum + Math.abs(piece.size), 0)), 1e-12);
  return h("ol", { class: "bars", "aria-label": label }, ...bars.map((bar) => h("li", { class: bar.marked ? "marked" : null, "aria-current": bar.marked ? "true" : null },
    h("span", { class: "bar-value" }, bar.value), h("span", { class: "bar-label" }, bar.label),
    h("span", { class: "bar-track", "aria-hidden": "true" }, ...bar.pieces.map((piece) => {
      const made = h("i", { title: piece.title, class: piece.isFaint && "faint" });
      made.style.width = `${Math.max(0, Math.min(100, (Math.abs(piece.size) / most) * 100))}%`;
      made.style.background = `var(--c${piece.tint % 8})`;
      return made;
    })), bar.more && h("div", { class: "bar-more" }, bar.more))));
}
