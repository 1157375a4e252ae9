// The stretch of time that all pages look at, and the moment: what moves them, within the run.

import { change } from "./state.js";

const LEAST = 1 / 64;

/** @typedef {{begin: number, end: number, state?: string}} Bounds */

/**
 * A stretch within bounds, as long as it was as far as that goes.
 * @param {Bounds} run @param {number} from @param {number} to
 */
export function within(run, from, to) {
  const whole = run.end - run.begin;
  const span = Math.min(Math.max(to - from, Math.min(LEAST, whole)), whole);
  const begin = Math.min(Math.max(from, run.begin), run.end - span);
  return { from: begin, to: begin + span };
}

/**
 * Look at another stretch; one that reaches the present of a scheduler at work goes on to do so.
 * @param {Bounds} run @param {number} from @param {number} to
 */
export function look(run, from, to) {
  const seen = within(run, from, to);
  const isLate = seen.to >= run.end;
  if (isLate && seen.from <= run.begin) change({ from: null, to: null, last: null });
  else if (isLate && run.state === "live") change({ from: null, to: null, last: seen.to - seen.from });
  else change({ from: seen.from, to: seen.to, last: null });
}

/** Closer or farther around a moment. @param {Bounds} run @param {{from: number, to: number}} seen @param {number} factor @param {number} around */
export function zoom(run, seen, factor, around) {
  look(run, around - (around - seen.from) * factor, around + (seen.to - around) * factor);
}

/** @param {Bounds} run @param {{from: number, to: number}} seen @param {number} share of the stretch, earlier if negative */
export function move(run, seen, share) {
  const by = (seen.to - seen.from) * share;
  look(run, seen.from + by, seen.to + by);
}

/** Another moment. @param {Bounds} run @param {number} at */
export function goTo(run, at) {
  change({ at: Math.min(Math.max(at, run.begin), run.end) }, true);
}

/** Every change of the wheel and the pointer over a picture of time. @param {() => View} view @param {() => {left: number, width: number}} box */
export function timeGestures(view, box) {
  /** @param {number} x */
  const time = (x) => {
    const { from, to } = view();
    const { left, width } = box();
    return from + ((x - left) / width) * (to - from);
  };
  return {
    /** @param {number} factor @param {number} x */
    zoom: (factor, x) => zoom(view().run, view(), factor, time(x)),
    /** @param {number} dx */
    pan: (dx) => move(view().run, view(), -dx / box().width),
    /** @param {number} x */
    click: (x) => goTo(view().run, time(x)),
  };
}
