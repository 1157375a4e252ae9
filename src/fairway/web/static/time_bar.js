// The bar of time below every page: how full the cluster was and how many waited over the whole run, the stretch that
// pages look at (drag its ends, or it), and the moment (click).

import { ask } from "./api.js";
import { drawTimeAxis, fillBelow, rule, sideways, trace } from "./axis.js";
import { h } from "./dom.js";
import { picture } from "./picture.js";
import { goTo, look } from "./stretch.js";
import { colour } from "./theme.js";
import { clock, length, measured, sentence } from "./words.js";

const [LEFT, RIGHT, AXIS, HEIGHT, GRIP] = [12, 12, 20, 64, 8];
const POINTS = 480;

/**
 * @param {() => View} view @param {AbortSignal} leaving the run is left
 * @returns {{element: HTMLElement, redraw: () => void}}
 */
export function timeBar(view, leaving) {
  /** @type {{time: number[], utilisation: [string, number[]] | null, waiting: number[]}} */
  let curves = { time: [], utilisation: null, waiting: [] };
  let width = 1;
  let asked = -Infinity;
  /** @type {"from" | "to" | "both" | null} */
  let held = null;
  const words = h("span", { class: "time-words" });
  const failed = h("span", { class: "bad" });

  const inner = () => Math.max(width - LEFT - RIGHT, 1);
  const whole = () => view().run.end - view().run.begin || 1;
  /** @param {number} time */
  const across = (time) => LEFT + ((time - view().run.begin) / whole()) * inner();
  /** @param {number} x */
  const time = (x) => view().run.begin + ((x - LEFT) / inner()) * whole();
  /** What the curves say at a place of theirs. @param {number} place */
  const amounts = (place) => [measured("share", curves.utilisation?.[1][place]), measured("", curves.waiting[place])];
  /** @param {number} at */
  function told(at) {
    const place = Math.floor(((at - view().run.begin) / whole()) * curves.time.length);
    const [held, waiting] = amounts(Math.min(curves.time.length - 1, Math.max(0, place)));
    return [clock(at), curves.utilisation && `${curves.utilisation[0]} ${held}`, curves.waiting.length && `${waiting} waiting`].filter(Boolean).join("\n");
  }

  /** @param {CanvasRenderingContext2D} context @param {number} wide @param {number} high */
  function draw(context, wide, high) {
    width = wide;
    const { run, from, to, at } = view();
    const [ground, right, ink] = [high - AXIS, LEFT + inner(), colour("ink")];
    const [one, other, now] = [across(from), across(to), across(at)];
    context.lineWidth = 1.5;
    if (curves.utilisation) {
      curve(context, curves.utilisation[1], 1, ground, colour("c0"));
      context.globalAlpha = 0.2;
      fillBelow(context, across(curves.time[0] ?? 0), across(curves.time.at(-1) ?? 0), ground, colour("c0"));
      context.globalAlpha = 1;
    }
    curve(context, curves.waiting, Math.max(...curves.waiting, 1), ground, colour("c1"));
    drawTimeAxis(context, { from: run.begin, to: run.end, left: LEFT, width: inner(), top: 0, height: ground }, { soft: colour("soft"), grid: colour("axis") });
    context.fillStyle = colour("veil");
    context.fillRect(LEFT, 0, one - LEFT, ground);
    context.fillRect(other, 0, right - other, ground);
    context.strokeStyle = ink;
    context.strokeRect(one, 0.75, Math.max(other - one, 1), ground - 1.5);
    context.fillStyle = ink;
    for (const end of [one, other]) context.fillRect(end - 2, ground / 2 - 9, 4, 18);
    rule(context, now, 0, now, ground + 4, colour("bad"));
    words.textContent = `${clock(from)} – ${clock(to)} · ${length(to - from)} · moment ${clock(at, true)}`;
  }
  /** @param {CanvasRenderingContext2D} context @param {number[]} values @param {number} largest @param {number} ground @param {string} tint */
  function curve(context, values, largest, ground, tint) {
    const [begin, pixels] = [view().run.begin, inner() / whole()];
    trace(context, curves.time, values, (at) => LEFT + (at - begin) * pixels, (value) => ground - Math.min(value / largest, 1) * (ground - 4));
    context.strokeStyle = tint;
    context.stroke();
  }

  const made = picture(leaving, {
    height: HEIGHT,
    draw,
    says: () => {
      const { from, to, at, run } = view();
      return `bar of time, ${clock(run.begin)}–${clock(run.end)}; the stretch looked at is ${clock(from)}–${clock(to)}, the moment ${clock(at)}`;
    },
    rows: () => ({ heads: ["time", curves.utilisation?.[0] ?? "utilisation", "waiting"], total: curves.time.length,
      rows: curves.time.map((moment, place) => [clock(moment), ...amounts(place)]).filter((_, place) => place % 4 === 0) }),
    tip: (x) => (held ? null : told(time(x))),
    gestures: {
      click: (x) => goTo(view().run, time(x)),
      pan: (dx) => {
        const { run, from, to } = view();
        const by = (dx / inner()) * whole();
        if (held === "from") look(run, Math.min(from + by, to), to);
        else if (held === "to") look(run, from, Math.max(to + by, from));
        else look(run, from + by, to + by);
      },
      end: () => { held = null; },
    },
    key: (event) => {
      const step = sideways(event);
      if (!step) return false;
      const { run, from, to, at } = view();
      goTo(run, at + (step * (to - from)) / (event.shiftKey ? 10 : 100));
      made.say(told(view().at), across(view().at), 0);
      return true;
    },
  });
  made.canvas.addEventListener("pointerdown", (event) => {
    const x = event.clientX - made.canvas.getBoundingClientRect().left;
    const [one, other] = [Math.abs(x - across(view().from)), Math.abs(x - across(view().to))];
    held = Math.min(one, other) > GRIP ? "both" : one < other ? "from" : "to";
  }, { capture: true });
  made.canvas.addEventListener("pointerup", () => { held = null; });

  async function load() {
    const { run } = view();
    asked = run.end;
    try {
      const [use, waiting] = await Promise.all(["utilisation", "waiting"].map((what) => ask(["runs", run.id, "curves", what], { points: POINTS }, leaving)));
      const [name] = Object.keys(use.series);
      const values = /** @type {number[][]} */ (Object.values(waiting.series));
      curves = { time: use.time, utilisation: name ? [`${name} held`, use.series[name]] : null, waiting: values[0] ?? [] };
      failed.textContent = "";
      made.redraw();
    } catch (error) {
      if (!leaving.aborted) failed.textContent = sentence(error);
    }
  }
  /** A run that goes on is asked for again before it is a quarter of a column older. */
  function redraw() {
    const { begin, end } = view().run;
    if (end - asked > (end - begin) / POINTS / 4) void load();
    made.redraw();
  }
  void load();
  const keys = h("span", { class: "soft keys-hint" }, h("i", { class: "c0" }), " held  ", h("i", { class: "c1" }), " waiting");
  return { element: h("div", { class: "time-bar" }, h("div", { class: "time-line" }, words, failed, keys), made.element), redraw };
}
