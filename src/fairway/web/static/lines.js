// Curves over time: lines, or areas on each other. All on one axis of time, with the moment marked.

import { amountMarks, drawTimeAxis, fillBelow, rule, sideways, trace } from "./axis.js";
import { h } from "./dom.js";
import { picture } from "./picture.js";
import { timeGestures } from "./stretch.js";
import { colour, nth } from "./theme.js";
import { clock, measured } from "./words.js";

/**
 * @typedef {object} Series
 * @property {string} name
 * @property {(number | null)[]} values
 * @property {string} [colour] a variable of the style sheets
 * @property {boolean} [dashed] among areas: a line that is on none of them
 */
/**
 * @typedef {object} LinesOptions
 * @property {string} title
 * @property {string} unit
 * @property {number[]} time middles of equal stretches
 * @property {Series[]} series
 * @property {boolean} [stacked]
 * @property {number} [height]
 * @property {number} [largest] of the axis
 * @property {boolean} [isStill] it is about another time than the bar's, and moves nothing
 */

const [LEFT, RIGHT, TOP, BOTTOM] = [56, 12, 10, 24];
const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3]];

/**
 * @param {() => View} view as it is now @param {LinesOptions} options
 * @returns {{element: HTMLElement, redraw: () => void}}
 */
export function lines(view, options) {
  const { title, unit, time, series, stacked = false, height = 170 } = options;
  let width = 0;
  let marked = -1;
  const tints = series.map((one, number) => () => (one.colour ? colour(one.colour) : nth(number)));
  /** Values that are drawn: on each other if they are stacked. */
  const tops = stacked ? series.reduce((/** @type {number[][]} */ all, one) => {
    const below = all.at(-1);
    return [...all, one.values.map((value, place) => (value ?? 0) + (one.dashed ? 0 : below?.[place] ?? 0))];
  }, []) : series.map((one) => one.values.map((value) => value ?? Number.NaN));
  const largest = options.largest ?? (Math.max(...tops.map((values) => values.reduce((most, value) => (value > most ? value : most), 0)), unit === "share" ? 0.01 : 0) || 1);

  const box = () => ({ left: LEFT, width: Math.max(width - LEFT - RIGHT, 1) });
  /** Where a time is, in the stretch that is looked at. */
  const scale = () => {
    const { from, to } = view();
    const pixels = box().width / (to - from || 1);
    return (/** @type {number} */ moment) => LEFT + (moment - from) * pixels;
  };
  /** @param {number} x */
  const nearest = (x) => {
    const { from, to } = view();
    const [first = 0, second = first + 1] = time;
    const place = Math.round((from + ((x - LEFT) / box().width) * (to - from) - first) / (second - first));
    return Math.max(0, Math.min(place, time.length - 1));
  };
  /** @param {number} place */
  const told = (place) => [clock(time[place] ?? 0), ...series.map((one) => `${one.name} ${measured(unit, one.values[place])}`)].join("\n");

  /** @param {CanvasRenderingContext2D} context @param {number} wide @param {number} high */
  function draw(context, wide, high) {
    width = wide;
    const { from, to, at } = view();
    const inner = { from, to, left: LEFT, width: box().width, top: TOP, height: high - TOP - BOTTOM };
    const [across, right, ground] = [scale(), LEFT + inner.width, high - BOTTOM];
    /** @param {number} value */
    const up = (value) => ground - (value / largest) * inner.height;
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const mark of amountMarks(largest)) {
      const y = Math.round(up(mark)) + 0.5;
      rule(context, LEFT, y, right, y, colour(mark ? "edge" : "axis"));
      context.fillStyle = colour("soft");
      context.fillText(measured(/^(pods|nodes|decisions)$/.test(unit) ? "" : unit, mark), LEFT - 6, y);
    }
    drawTimeAxis(context, inner, { soft: colour("soft"), grid: colour("axis") });
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, inner.width, high);
    context.clip();
    context.lineJoin = "round";
    for (const number of stacked ? [...tops.keys()].reverse() : tops.keys()) { // dashes show on top of what they cover
      const tint = tints[number]?.() ?? "";
      const isArea = stacked && !series[number]?.dashed;
      trace(context, time, tops[number] ?? [], across, up);
      if (isArea) fillBelow(context, across(time[0] ?? 0), across(time.at(-1) ?? 0), ground, tint);
      else context.setLineDash(DASHES[series[number]?.dashed ? 1 : number % DASHES.length] ?? []);
      context.strokeStyle = isArea ? colour("card") : tint;
      context.lineWidth = isArea ? 1 : 1.75;
      context.stroke();
      context.setLineDash([]);
    }
    context.lineWidth = 1;
    for (const [moment, dash] of /** @type {[number | undefined, number[]][]} */ ([[at, []], [time[marked], [3, 3]]])) {
      if (moment !== undefined) rule(context, across(moment), TOP, across(moment), ground, colour("ink"), dash);
    }
    context.restore();
  }

  const made = picture(view().signal, {
    height,
    draw,
    says: () => {
      const { from, to } = view();
      const most = series.map((one) => `${one.name} up to ${measured(unit, one.values.reduce((/** @type {number} */ top, value) => Math.max(top, value ?? 0), 0))}`);
      return `${title}, ${clock(from)}–${clock(to)}: ${most.slice(0, 8).join(", ")}${most.length > 8 ? " …" : ""}`;
    },
    rows: () => {
      const step = Math.max(1, Math.ceil(time.length / 200));
      const places = time.map((_, place) => place).filter((place) => place % step === 0);
      return { heads: ["time", ...series.map((one) => one.name)], total: time.length,
        rows: places.map((place) => [clock(time[place] ?? 0), ...series.map((one) => measured(unit, one.values[place]))]) };
    },
    tip: (x) => (x < LEFT || !time.length ? null : told(nearest(x))),
    gestures: options.isStill ? {} : { ...timeGestures(view, box), zoom: undefined },
    key: (event) => {
      const step = sideways(event);
      if (!step || !time.length) return false;
      marked = Math.max(0, Math.min(marked < 0 ? nearest(LEFT) : marked + step * (event.shiftKey ? 10 : 1), time.length - 1));
      made.say(told(marked), scale()(time[marked] ?? 0), TOP);
      made.redraw();
      return true;
    },
  });
  const element = h("div", { class: "lines" }, series.length > 1 || stacked ? legend(series.map((one) => one.name), series.map((one, number) => () => `var(--${one.colour ?? `c${number % 8}`})`), !stacked) : null, made.element);
  return { element, redraw: made.redraw };
}

/** Which colour is what. @param {string[]} names @param {(() => string)[]} tints @param {boolean} [isDashed] as lines are, each otherwise */
export function legend(names, tints, isDashed = false) {
  return h("ul", { class: "legend" }, ...names.map((name, number) => {
    const box = h("span", { class: "box" });
    const tint = tints[number]?.() || `var(--c${number % 8})`;
    const [on = 0, off = 0] = (isDashed && DASHES[number % DASHES.length]) || [];
    box.style.background = tint;
    if (on) box.style.backgroundImage = `repeating-linear-gradient(90deg, transparent 0 ${on}px, var(--card) 0 ${on + off}px)`;
    return h("li", {}, box, name);
  }));
}
