// Curves of a page: each a part that asks for the stretch in sight, and all of them follow when that moves.

import { ask } from "./api.js";
import { lines } from "./lines.js";
import { part } from "./part.js";

const MOST = 7;

/** @typedef {import("./answers.d.ts").CurveAnswer} CurveAnswer */
/** @typedef {{element: HTMLElement, refresh: () => Promise<void>, redraw?: () => void}} Follower */

/**
 * A curve of a run over the stretch in sight.
 * @param {View} view @param {string} what @param {Record<string, any>} [values] @param {string} [run] its id @param {AbortSignal} [stop] @returns {Promise<CurveAnswer>}
 */
export function askCurve(view, what, values = {}, run = view.run.id, stop = undefined) {
  const { from, to } = view;
  return ask(["runs", run, "curves", what], { from, to, ...values }, stop);
}

/**
 * @param {View} view @param {string} title @param {(stop: AbortSignal) => Promise<CurveAnswer>} asked
 * @param {Partial<import("./lines.js").LinesOptions>} [look] @returns {Follower}
 */
export function curve(view, title, asked, look = {}) {
  let redraw = () => {};
  const made = part(view.signal, {
    title,
    ask: asked,
    empty: ({ series }) => (Object.keys(series).length ? null : "nothing of it happened in this stretch"),
    draw: ({ unit, time, series }) => {
      const drawn = lines(() => view, { title, unit, time, series: few(Object.entries(series).map(([name, values]) => ({ name, values }))), ...look });
      redraw = drawn.redraw;
      return drawn.element;
    },
  });
  return { ...made, redraw: () => redraw() };
}

/** As many as there are colours: those after the first seven together. @param {{name: string, values: number[]}[]} series */
function few(series) {
  if (series.length <= MOST + 1) return series;
  const rest = series.slice(MOST);
  const values = rest[0]?.values.map((_, place) => rest.reduce((sum, one) => sum + (one.values[place] ?? 0), 0)) ?? [];
  return [...series.slice(0, MOST), { name: `${rest.length} others`, values }];
}

/**
 * What a page does when something in the URL changes: parts of the stretch are asked anew when it is another, those of
 * the moment when that is. What is looked at closely holds still while nothing but time goes on.
 * @param {View} view @param {Follower[]} ofStretch @param {Follower[]} [ofMoment]
 */
export function follow(view, ofStretch, ofMoment = []) {
  const now = () => [`${view.from} ${view.to}`, `${view.at}`, `${view.query}`];
  let seen = now();
  return () => {
    const [was, is] = [seen, now()];
    /** @param {Follower} part */
    const refresh = (part) => { if (is[2] !== was[2] || !part.element.matches(":hover, :focus-within")) void part.refresh(); };
    for (const part of ofStretch) part.redraw?.();
    if (is[0] !== was[0]) ofStretch.forEach(refresh);
    if (is[1] !== was[1]) ofMoment.forEach(refresh);
    seen = is;
  };
}
