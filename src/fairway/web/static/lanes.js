// Pods as lanes over time, for whatever has lanes: bars in the colours of what they are told apart by, and whose is where.

import { ask } from "./api.js";
import { visible } from "./dom.js";
import { colour, nth } from "./theme.js";
import { positions } from "./tiles.js";
import { amount, clock, length } from "./words.js";

/** @typedef {import("./answers.d.ts").LaneColumns} LaneColumns */
/** @typedef {import("./tiles.js").Sight} Sight */
/** @typedef {import("./tiles.js").Box} Box */
/** @typedef {(lane: number) => ([number, number] | null)} PlaceOf where an interval's lane is, and how high */

const [OTHERS, FADE] = [7, 300];

/** What pods are told apart by: names, those with the most pods first, and which is an interval's. @param {LaneColumns} lanes @param {string} by */
export function groups(lanes, by) {
  const names = lanes.pod.map((pod, place) => `${by === "owner" ? lanes.owner[place] ?? "no owner" : by === "user" ? lanes.user[place] : by === "priority" ? `priority ${lanes.priority[place]}` : pod.split("/", 1)}`);
  /** @type {Map<string, number>} */
  const sizes = new Map();
  for (const name of names) sizes.set(name, (sizes.get(name) ?? 0) + 1);
  const order = [...sizes.keys()].sort((one, other) => (sizes.get(other) ?? 0) - (sizes.get(one) ?? 0));
  return {
    names: order.length > OTHERS + 1 ? [...order.slice(0, OTHERS), `${order.length - OTHERS} others`] : order,
    /** @param {number} place */
    of: (place) => Math.min(order.indexOf(names[place] ?? ""), OTHERS),
  };
}

/**
 * @param {CanvasRenderingContext2D} context @param {LaneColumns} lanes
 * @param {{end: number, across: (time: number) => number, place: PlaceOf, tint: (lane: number) => number}} how
 */
export function paintLanes(context, lanes, { end, across, place, tint }) {
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "left";
  context.textBaseline = "middle";
  lanes.pod.forEach((pod, number) => {
    const [top, high] = place(number) ?? [0, 0];
    const left = across(lanes.from_seconds[number] ?? 0);
    const wide = across(lanes.to_seconds[number] ?? end) - left;
    if (high <= 0) return;
    context.fillStyle = nth(tint(number));
    context.fillRect(left, top, Math.max(wide > 3 ? wide - 1 : wide, 1), high > 3 ? high - 1 : high);
    context.fillStyle = colour("card");
    if (high >= 12 && wide > 30) context.fillText(shortened(context, pod.slice(pod.indexOf("/") + 1), wide - 8), left + 4, top + high / 2);
  });
}

/** A text, its middle left out as far as there is no room for it. @param {CanvasRenderingContext2D} context @param {string} text @param {number} room */
export function shortened(context, text, room) {
  const whole = visible(text);
  let [cut, half] = [whole, Math.min(whole.length, room / 4) / 2];
  while (half > 1 && context.measureText(cut).width > room) cut = `${whole.slice(0, half)}…${whole.slice(-(half -= 0.5))}`;
  return cut;
}

/** Which interval is at a place, or -1. @param {LaneColumns} lanes @param {number} end @param {PlaceOf} place @param {number} time @param {number} y */
export function laneAt(lanes, end, place, time, y) {
  return lanes.pod.findIndex((_, number) => {
    const [top, high] = place(number) ?? [0, 0];
    return y >= top && y < top + high && (lanes.from_seconds[number] ?? 0) <= time && time < (lanes.to_seconds[number] ?? end);
  });
}

/** What is told of an interval. @param {LaneColumns} lanes @param {number} number @param {number} end */
export function laneText(lanes, number, end) {
  const [from, to] = [lanes.from_seconds[number] ?? 0, lanes.to_seconds[number] ?? null];
  const held = Object.entries(lanes.amounts[number] ?? {}).filter(([, value]) => value).map(([name, value]) => `${name} ${amount(name, value)}`);
  const gpu = lanes.gpu_index[number];
  return `${lanes.pod[number]}\n${clock(from)}–${to === null ? "" : clock(to)} · ${length((to ?? end) - from)} · ${lanes.reason[number] ?? "runs"}\n${held.join(", ")}${gpu ? ` · GPU ${gpu}` : ""}`;
}

/** Pods of the rows of a heat map, which fade in over its cells. @param {string} run */
export function rowLanes(run) {
  /** @type {{answer: import("./answers.d.ts").LanesAnswer, seen: Sight, rowOf: Map<number, number>, numberOf: Map<number, number>} | null} */
  let shown = null;
  let since = 0;

  /** @param {Sight} seen @param {Box} box @returns {PlaceOf} */
  function placeOf(seen, box) {
    const { down } = positions(seen, box);
    return (number) => {
      const id = shown?.answer.lanes.node_id[number] ?? -1;
      const row = shown?.rowOf.get(id) ?? -1;
      const high = (down(row + 1) - down(row) - 2) / (shown?.numberOf.get(id) ?? 1);
      return row < 0 ? null : [down(row) + (shown?.answer.lanes.lane[number] ?? 0) * high, high];
    };
  }
  return {
    /** Ask for those of some rows. @param {Sight} seen @param {import("./answers.d.ts").RowsAnswer} rows with their names @param {AbortSignal} signal */
    async ask(seen, rows, signal) {
      const [first, last] = [Math.floor(seen.first) - rows.first, Math.ceil(seen.last) - rows.first];
      const answer = await ask(["runs", run, "lanes"], { node: [...new Set(rows.names.slice(first, last))], from: seen.from, to: seen.to }, signal);
      const numberOf = new Map();
      answer.lanes.node_id.forEach((/** @type {number} */ id, /** @type {number} */ place) => numberOf.set(id, Math.max(numberOf.get(id) ?? 0, answer.lanes.lane[place] + 1)));
      if (!shown || answer.collapsed) since = performance.now();
      shown = { answer, seen, numberOf, rowOf: new Map(rows.numbers.slice(first, last).map((id, place) => [id, rows.first + first + place])) };
    },
    /** @param {Sight} seen */
    has: (seen) => JSON.stringify(shown?.seen) === JSON.stringify(seen),
    drop() {
      shown = null;
    },
    /** Says whether it is still fading in. @param {CanvasRenderingContext2D} context @param {Sight} seen @param {Box} box */
    paint(context, seen, box) {
      if (!shown || shown.answer.collapsed) return false;
      const { across, down } = positions(seen, box);
      const { answer: { lanes }, rowOf, seen: { from, to } } = shown;
      const share = matchMedia("(prefers-reduced-motion: reduce)").matches ? 1 : Math.min((performance.now() - since) / FADE, 1);
      context.globalAlpha = share;
      const [left, high] = [across(from), down(1) - down(0)];
      for (const row of rowOf.values()) {
        for (const [tint, gap] of /** @type {[string, number][]} */ ([["edge", 0], ["card", 1]])) {
          context.fillStyle = colour(tint);
          context.fillRect(left, down(row), across(to) - left, high - gap);
        }
      }
      paintLanes(context, lanes, { end: seen.to, across, place: placeOf(seen, box), tint: groups(lanes, "namespace").of });
      context.globalAlpha = 1;
      return share < 1;
    },
    /** What is told of a place. @param {Sight} seen @param {Box} box @param {number} time @param {number} y */
    text(seen, box, time, y) {
      const number = shown ? laneAt(shown.answer.lanes, seen.to, placeOf(seen, box), time, y) : -1;
      return shown && number >= 0 ? laneText(shown.answer.lanes, number, seen.to) : null;
    },
  };
}
