// An axis of time: where its marks are and what they say; shared by everything that is drawn over time.

import { clock } from "./words.js";

const STEPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800,
  21600, 43200, 86400, 172800, 604800, 1209600, 2592000, 7776000, 31536000];

/** Marks of a stretch, at least so many pixels apart. @param {number} from @param {number} to @param {number} pixels @param {number} [apart] */
export function timeMarks(from, to, pixels, apart = 72) {
  const span = to - from;
  if (!(span > 0) || pixels < 20) return [];
  const least = (span / pixels) * apart;
  const step = STEPS.find((one) => one >= least) ?? least;
  const marks = [];
  for (let number = Math.ceil(from / step - 1e-9); number * step <= to && marks.length < 100; number += 1) {
    const time = number * step;
    const text = clock(time, step < 1);
    marks.push({ time, x: ((time - from) / span) * pixels, text: step >= 60 && text.length <= 12 ? text.slice(0, -3) : text });
  }
  return marks;
}

/** Round marks of amounts from 0 to the largest. @param {number} largest @param {number} [most] */
export function amountMarks(largest, most = 4) {
  if (!(largest > 0)) return [0];
  const rough = largest / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((one) => one * power >= rough) ?? 10) * power;
  return Array.from({ length: Math.floor(largest / step + 1e-9) + 1 }, (_, number) => +(number * step).toPrecision(12));
}

/**
 * A straight line.
 * @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {number} toX @param {number} toY
 * @param {string} tint @param {number[]} [dash]
 */
export function rule(context, x, y, toX, toY, tint, dash = []) {
  context.strokeStyle = tint;
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(toX, toY);
  context.stroke();
  context.setLineDash([]);
}

/**
 * Begin the line of a curve; where there is no number it is broken.
 * @param {CanvasRenderingContext2D} context @param {number[]} times @param {number[]} values
 * @param {(time: number) => number} across @param {(value: number) => number} up
 */
export function trace(context, times, values, across, up) {
  let isDown = false;
  context.beginPath();
  values.forEach((value, place) => {
    context[isDown ? "lineTo" : "moveTo"](across(times[place] ?? Number.NaN), up(value)); // canvases leave out what is no number
    isDown = !Number.isNaN(value);
  });
}

/** Close it down to the ground. @param {CanvasRenderingContext2D} context @param {number} left @param {number} right @param {number} ground @param {string} tint */
export function fillBelow(context, left, right, ground, tint) {
  context.lineTo(right, ground);
  context.lineTo(left, ground);
  context.fillStyle = tint;
  context.fill();
}

/** Where an arrow key leads to: −1, 1, or 0 if it is another. @param {KeyboardEvent} event */
export function sideways(event) {
  return Number(event.key === "ArrowRight") - Number(event.key === "ArrowLeft");
}

/**
 * Draw the axis of time below a picture.
 * @param {CanvasRenderingContext2D} context @param {{from: number, to: number, left: number, width: number, top: number, height: number}} box
 * @param {{soft: string, grid: string}} colours
 */
export function drawTimeAxis(context, box, colours) {
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "top";
  const y = box.top + box.height;
  let free = -Infinity;
  for (const { x, text } of timeMarks(box.from, box.to, box.width)) {
    const place = Math.round(box.left + x) + 0.5;
    rule(context, place, y, place, y + 4, colours.grid);
    const half = context.measureText(text).width / 2;
    const middle = Math.min(Math.max(place, half), box.left + box.width - half + 8);
    if (middle - half < free) continue;
    free = middle + half + 8;
    context.fillStyle = colours.soft;
    context.fillText(text, middle, y + 6);
  }
}
