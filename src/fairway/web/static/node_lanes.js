// The picture of one node's lanes: its states as a strip, a lane for each pod beside others, one for each GPU device; of a
// name that was used several times one node below the other.

import { drawTimeAxis, sideways } from "./axis.js";
import { h } from "./dom.js";
import { hatch } from "./heat_marks.js";
import { groups, laneAt, laneText, paintLanes } from "./lanes.js";
import { picture } from "./picture.js";
import { go, podLink } from "./state.js";
import { timeGestures } from "./stretch.js";
import { colour } from "./theme.js";
import { positions } from "./tiles.js";
import { clock } from "./words.js";

/** @typedef {import("./answers.d.ts").LanesAnswer} LanesAnswer */

const [LEFT, RIGHT, BOTTOM, STRIP, GAP, TALL] = [56, 12, 24, 12, 10, 480];

/** Where everything is, from the top. @param {LanesAnswer} answer */
function laidOut({ lanes, states }) {
  /** Bars: the number of an interval, and its line. @type {{number: number, line: number}[]} */
  const bars = [];
  /** @type {{text: string, id: number, line: number, size: number}[]} */
  const bands = [];
  let line = 0;
  const ids = [...new Set(states.map(({ node_id }) => node_id))];
  for (const id of ids) {
    const own = lanes.pod.map((_, number) => number).filter((number) => lanes.node_id[number] === id);
    const devices = own.flatMap((number) => (lanes.gpu_index[number] ?? "").split("-").filter((text) => text).map((text) => ({ number, line: Number(text) })));
    const sizes = [own.reduce((most, number) => Math.max(most, (lanes.lane[number] ?? 0) + 1), 1), devices.reduce((most, one) => Math.max(most, one.line + 1), 0)];
    bars.push(...own.map((number) => ({ number, line: line + (lanes.lane[number] ?? 0) })), ...devices.map((one) => ({ number: one.number, line: line + (sizes[0] ?? 0) + one.line })));
    sizes.forEach((size, kind) => {
      if (size) bands.push({ text: kind ? "GPUs" : ids.length > 1 ? `pods ${ids.indexOf(id) + 1}` : "pods", id: kind ? -1 : id, line, size });
      line += size;
    });
  }
  const high = Math.min(Math.max(TALL / Math.max(line, 1), 6), 18);
  /** @param {number} at a line */
  const top = (at) => at * high + (bands.filter((band) => band.line <= at).length) * (STRIP + GAP);
  return { bars, bands, high, top, height: top(line) + BOTTOM };
}

/** @param {View} view @param {() => (LanesAnswer | null)} answer @param {() => string} by what colours tell apart */
export function nodeLanes(view, answer, by) {
  let box = { left: LEFT, top: 0, width: 1, height: 1 };
  let marked = -1;
  /** @type {ReturnType<typeof laidOut> | null} */
  let made = null;
  /** Bars as lanes are: a pod with devices has several. @type {import("./answers.d.ts").LaneColumns | null} */
  let bars = null;
  const place = (/** @type {number} */ bar) => /** @type {[number, number] | null} */ (made && [made.top(made.bars[bar]?.line ?? 0), made.high]);
  const sight = () => ({ from: view.from, to: view.to, first: 0, last: 1 });

  /** @param {CanvasRenderingContext2D} context @param {number} width @param {number} height */
  function draw(context, width, height) {
    const told = answer();
    if (!told || !made || !bars) return;
    box = { ...box, width: Math.max(width - LEFT - RIGHT, 1), height: height - BOTTOM };
    const { across } = positions(sight(), box);
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, box.width, box.height);
    context.clip();
    const hatched = hatch(context);
    for (const { id, line } of made.bands) {
      for (const state of told.states.filter(({ node_id }) => node_id === id)) {
        const left = across(state.from_seconds);
        context.fillStyle = state.is_ready && !state.is_unschedulable ? colour("h2") : hatched;
        context.fillRect(left, made.top(line) - STRIP, across(state.to_seconds ?? view.run.end) - left, STRIP - 3);
      }
    }
    const { of } = groups(told.lanes, by());
    paintLanes(context, bars, { end: view.run.end, across, place, tint: (bar) => of(made?.bars[bar]?.number ?? 0) });
    context.strokeStyle = colour("bad");
    if (view.at >= view.from && view.at <= view.to) context.strokeRect(across(view.at), 0, 0, height);
    const [top, high] = place(marked) ?? [0, 0];
    context.strokeStyle = colour("ink");
    const [from, to] = [across(bars.from_seconds[marked] ?? 0), across(bars.to_seconds[marked] ?? view.run.end)];
    if (marked >= 0) context.strokeRect(from - 1.5, top - 1.5, to - from + 2, high + 2);
    context.restore();
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillStyle = colour("soft");
    for (const { text, line } of made.bands) context.fillText(text, LEFT - 6, made.top(line) + 5);
    drawTimeAxis(context, { ...sight(), ...box }, { soft: colour("soft"), grid: colour("axis") });
  }
  /** @param {number} bar */
  function open(bar) {
    const pod = bars?.pod[bar];
    if (pod) go(podLink(pod));
  }
  /** @param {number} x @param {number} y */
  const at = (x, y) => (bars ? laneAt(bars, view.run.end, place, view.from + ((x - LEFT) / box.width) * (view.to - view.from), y) : -1);
  /** @param {number} bar */
  const text = (bar) => (bars && bar >= 0 ? laneText(bars, bar, view.run.end) : null);

  const shown = picture(view.signal, {
    height: 120,
    draw,
    says: () => `${view.args[0]}, ${clock(view.from)}–${clock(view.to)}: ${answer()?.num_intervals ?? 0} pods as lanes over time`,
    rows: () => {
      const { pod = [], from_seconds = [], to_seconds = [], gpu_index = [] } = answer()?.lanes ?? {};
      return { heads: ["pod", "from", "until", "GPU"], total: pod.length, rows: pod.map((name, place) => {
        const to = to_seconds[place] ?? null;
        return [name, clock(from_seconds[place] ?? 0), to === null ? null : clock(to), gpu_index[place] ?? null];
      }) };
    },
    tip: (x, y) => text(at(x, y)),
    gestures: { ...timeGestures(() => view, () => box), open: (x, y) => open(at(x, y)) },
    key: (event) => {
      const step = sideways(event) || Number(event.key === "ArrowDown") - Number(event.key === "ArrowUp");
      if (event.key === "Enter") open(marked);
      else if (!step || !bars?.pod.length) return false;
      else {
        marked = Math.min(Math.max(marked + step, 0), bars.pod.length - 1);
        const [top, high] = place(marked) ?? [0, 0];
        shown.say(text(marked), positions(sight(), box).across(bars.from_seconds[marked] ?? 0), top + high);
        shown.redraw();
      }
      return true;
    },
  });
  const element = h("div", { class: "lines", hidden: true }, shown.element);
  return {
    element,
    redraw: shown.redraw,
    /** There is another answer. */
    renew() {
      const told = answer();
      element.hidden = !told || told.collapsed;
      if (!told) return;
      marked = -1;
      made = laidOut(told);
      const numbers = made.bars.map(({ number }) => number);
      bars = /** @type {any} */ (Object.fromEntries(Object.entries(told.lanes).map(([column, values]) => [column, numbers.map((number) => values[number])])));
      shown.canvas.style.height = `${made.height}px`;
      shown.redraw();
    },
  };
}
