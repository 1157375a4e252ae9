// What stands in and beside a heat map besides its cells: names, groups, what is hatched, the marked cell.

import { shortened } from "./lanes.js";
import { colour } from "./theme.js";
import { positions, scales } from "./tiles.js";
import { count } from "./words.js";

/** @typedef {import("./tiles.js").Sight} Sight */
/** @typedef {import("./tiles.js").Box} Box */
/** @typedef {import("./answers.d.ts").RowsAnswer} RowsAnswer */

const [GAP, NAMED] = [13, 400];

/** Lines across, which are seen on every colour. @param {CanvasRenderingContext2D} context */
export function hatch(context) {
  const tile = new OffscreenCanvas(8, 8);
  const lines = tile.getContext("2d");
  if (!lines) return "";
  for (const begin of [-8, 0, 8]) {
    lines.moveTo(begin, 8);
    lines.lineTo(begin + 8, 0);
  }
  for (const [tint, width] of /** @type {[string, number][]} */ ([["card", 3], ["soft", 1]])) {
    lines.strokeStyle = colour(tint);
    lines.lineWidth = width;
    lines.stroke();
  }
  return context.createPattern(tile, "repeat") ?? "";
}

/** The marked cell: dark on light, so that it is seen on every colour. @param {CanvasRenderingContext2D} context @param {{time: number, row: number}} mark @param {Sight} seen @param {Box} box */
export function drawMark(context, { time, row }, seen, box) {
  const { z, k } = scales(seen, box);
  const { across, down } = positions(seen, box);
  const [wide, high] = [2 ** z, 2 ** k];
  const [begin, first] = [Math.floor(time / wide) * wide, Math.floor(row / high) * high];
  for (const [tint, by] of /** @type {[string, number][]} */ ([["card", 2.5], ["ink", 1]])) {
    context.strokeStyle = colour(tint);
    context.lineWidth = 1.5;
    context.strokeRect(across(begin) - by, down(first) - by, across(begin + wide) - across(begin) + 2 * by, down(first + high) - down(first) + 2 * by);
  }
}

/**
 * Groups and names beside the rows, as far as there is room.
 * @param {CanvasRenderingContext2D} context @param {RowsAnswer} rows @param {Sight} seen @param {Box} box
 */
export function drawNames(context, rows, seen, box) {
  const { down } = positions(seen, box);
  const bottom = box.top + box.height;
  /** @type {number[]} */
  const taken = [];
  context.textAlign = "right";
  context.textBaseline = "middle";
  /** @param {string} text @param {number} y @param {string} weight */
  const write = (text, y, weight) => {
    if (y < box.top || y > bottom || taken.some((other) => Math.abs(other - y) < GAP)) return;
    taken.push(y);
    context.font = `${weight} 11px system-ui, sans-serif`;
    context.fillStyle = colour(weight ? "ink" : "soft");
    context.fillText(shortened(context, text, box.left - 10), box.left - 6, Math.min(Math.max(y, box.top + 6), bottom - 6));
  };
  rows.groups.forEach((group, place) => {
    const top = Math.max(down(rows.group_rows[place] ?? 0), box.top);
    if (down(rows.group_rows[place + 1] ?? rows.total) > top + GAP) write(group || "(none)", top + 7, "600");
  });
  const step = 2 ** Math.max(0, Math.ceil(Math.log2((GAP * (seen.last - seen.first)) / box.height)));
  for (let row = Math.ceil(seen.first / step) * step; row < seen.last; row += step) {
    const name = seen.last - seen.first < NAMED ? rows.names[row - rows.first] : `row ${count(row + 1)}`;
    if (name) write(name, down(row + 0.5), "");
  }
}
