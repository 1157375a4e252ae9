// A heat map: rows are nodes or whatever else, columns time, colour the share that is held. Wheel, drag, pinch and keys
// move what is in sight; few rows have names and spans in which they took no pods, very few become pods in lanes.
// `heatPart` is a part of a page that has one; a page says what it is of by a `HeatLook`.

import { ask } from "./api.js";
import { drawTimeAxis } from "./axis.js";
import { h } from "./dom.js";
import { drawMark, drawNames, hatch } from "./heat_marks.js";
import { rowLanes } from "./lanes.js";
import { errorBox, part } from "./part.js";
import { picture } from "./picture.js";
import { change, go } from "./state.js";
import { move, timeGestures } from "./stretch.js";
import { colour } from "./theme.js";
import { positions, scales, tileLayer } from "./tiles.js";
import { clock, count, counted, percent } from "./words.js";

/** @typedef {import("./answers.d.ts").RowsAnswer} RowsAnswer */
/** @typedef {import("./answers.d.ts").CellAnswer} CellAnswer */
/** @typedef {import("./tiles.js").HeatLook} HeatLook */
/** @typedef {import("./tiles.js").Sight} Sight */
/** @typedef {{time: number, row: number}} Spot */

const [RIGHT, TOP, BOTTOM, NAMED, AS_LANES, LEAST, REST] = [12, 6, 24, 400, 60, 2, 150];

/** Rows of a heat map, and what they can be ordered by. @param {HeatLook} look @param {number} first @param {number} number @param {AbortSignal} signal @returns {Promise<RowsAnswer>} */
function askRows({ runs, path, values: { order, filter } }, first, number, signal) {
  return ask(["runs", runs()[0]?.id ?? "", ...path, "rows"], { order, filter, first, count: number }, signal);
}

/**
 * A part of a page with a heat map, made anew when it is to show something else.
 * @param {View} view @param {() => HeatLook} look @param {(rows: RowsAnswer) => void} [told] how many rows there are, and labels
 */
export function heatPart(view, look, told) {
  /** @type {ReturnType<typeof heatMap> | null} */
  let map = null;
  let leaving = new AbortController();
  let shown = "";
  view.signal.addEventListener("abort", () => leaving.abort());
  const made = part(view.signal, {
    ask: (stop) => {
      shown = JSON.stringify(look());
      return askRows(look(), 0, 0, stop);
    },
    empty: ({ total }) => (total ? null : look().values.filter ? `no ${look().one} has the labels ${look().values.filter}` : `this run has no ${look().one}s`),
    draw: (rows) => {
      leaving.abort();
      leaving = new AbortController();
      told?.(rows);
      map = heatMap(view, look(), rows, leaving.signal);
      return map.element;
    },
  });
  return {
    element: made.element,
    /** Something is different in the URL; or the run has grown: what holds the present is asked for again, and stays until then. */
    redraw: () => (JSON.stringify(look()) === shown ? map?.redraw() : void made.refresh()),
  };
}

/** @param {View} view @param {HeatLook} look @param {RowsAnswer} start @param {AbortSignal} leaving */
function heatMap(view, look, start, leaving) {
  const { one, what, runs, path, values } = look;
  const { total } = start;
  const isDifference = runs().length > 1;
  let rows = start;
  let box = { left: 0, top: TOP, width: 1, height: 1 };
  /** The pointer, and the middle of the marked cell. @type {Spot[]} */
  let [near, mark] = [];
  const lanes = rowLanes(runs()[0]?.id ?? "");
  let [rest, hover] = [0, 0];
  let [asking, pointing] = [new AbortController(), new AbortController()];
  leaving.addEventListener("abort", () => {
    clearTimeout(rest);
    leave();
    asking.abort();
  });
  const failed = h("div");
  /** @param {unknown} [error] */
  const arrived = (error) => {
    failed.replaceChildren(...(error ? [errorBox(error, () => { layer.retry(); arrived(); })] : []));
    made.redraw();
  };
  const layer = tileLayer(look, leaving, arrived);

  /** @param {number} begin @param {number} end of rows */
  function clamped(begin, end) {
    const size = Math.min(Math.max(end - begin, LEAST), total);
    const first = Math.min(Math.max(begin, 0), total - size);
    return { first, last: first + size };
  }
  /** @returns {Sight} */
  function sight() {
    const [first, last] = (view.query.get("nodes") ?? "").split("-").map((text) => Number.parseFloat(text) || 0);
    return { from: view.from, to: view.to, ...clamped(first ?? 0, last ?? total) };
  }
  /** @param {number} begin @param {number} end of rows */
  function lookAt(begin, end) {
    const { first, last } = clamped(begin, end);
    change({ nodes: last - first < total ? `${+first.toFixed(2)}-${+last.toFixed(2)}` : null });
  }
  const inTime = timeGestures(() => view, () => box);
  /** @param {number} factor @param {Spot} around @param {string} axes */
  function zoom(factor, around, axes) {
    const { first, last } = sight();
    if (axes !== "rows") inTime.zoom(factor, box.left + ((around.time - view.from) / (view.to - view.from)) * box.width);
    if (axes !== "time") lookAt(around.row - (around.row - first) * factor, around.row + (last - around.row) * factor);
  }
  /** @param {number} x @param {number} y @returns {Spot} */
  function spot(x, y) {
    const { from, to, first, last } = sight();
    const row = first + ((y - TOP) / box.height) * (last - first);
    return { time: from + ((x - box.left) / box.width) * (to - from), row: Math.min(Math.max(row, first), last - 0.001) };
  }

  /** @param {CanvasRenderingContext2D} context @param {number} width @param {number} height */
  function draw(context, width, height) {
    const left = width < 600 ? 64 : 128;
    box = { left, top: TOP, width: Math.max(width - left - RIGHT, 1), height: height - TOP - BOTTOM };
    const seen = sight();
    const { across, down } = positions(seen, box);
    const hatched = hatch(context);
    context.save();
    context.beginPath();
    context.rect(left, TOP, box.width, box.height);
    context.clip();
    context.fillStyle = hatched;
    context.fillRect(left, TOP, box.width, box.height);
    const isThere = layer.draw(context, seen, box, near ?? { time: (seen.from + seen.to) / 2, row: (seen.first + seen.last) / 2 });
    context.fillStyle = hatched;
    if (seen.last - seen.first < NAMED) {
      rows.spans.row.forEach((row, place) => {
        const from = across(rows.spans.from_seconds[place] ?? 0);
        context.fillRect(from, down(row), across(rows.spans.to_seconds[place] ?? seen.to) - from, down(row + 1) - down(row));
      });
    }
    if (lanes.paint(context, seen, box)) setTimeout(made.redraw, 16);
    context.strokeStyle = colour("ink");
    for (const row of rows.group_rows) if (row && rows.groups.length < box.height / 4) context.strokeRect(left - 2, Math.round(down(row)) + 0.5, box.width + 4, 0);
    context.strokeStyle = colour("bad");
    if (view.at >= seen.from && view.at <= seen.to) context.strokeRect(across(view.at), 0, 0, height);
    if (mark) drawMark(context, mark, seen, box);
    context.restore();
    drawNames(context, rows, seen, box);
    drawTimeAxis(context, { from: seen.from, to: seen.to, ...box }, { soft: colour("soft"), grid: colour("axis") });
    made.element.setAttribute("aria-busy", "true");
    clearTimeout(rest);
    rest = setTimeout(() => void rested(seen, isThere || !!failed.firstChild), REST);
  }
  /** What is not drawn in haste: names, and pods of few rows. @param {Sight} seen @param {boolean} isThere all else is */
  async function rested(seen, isThere) {
    const [first, last] = [Math.floor(seen.first), Math.ceil(seen.last)];
    const hasNames = last - first > NAMED || (rows.first <= first && rows.first + rows.names.length >= last);
    const hasLanes = look.lanes && last - first < AS_LANES;
    if (!hasLanes) lanes.drop();
    if (hasNames && (!hasLanes || lanes.has(seen))) {
      made.element.setAttribute("aria-busy", `${!isThere}`);
      return;
    }
    asking.abort();
    asking = new AbortController();
    const { signal } = asking;
    try {
      if (!hasNames) rows = await askRows(look, Math.max(0, Math.floor((first + last - NAMED) / 2)), NAMED, signal);
      if (hasLanes) await lanes.ask(seen, rows, signal);
      made.redraw();
    } catch (error) {
      if (!signal.aborted) arrived(error);
    }
  }

  /** Tell what is in a cell. @param {Spot} place @param {number} x @param {number} y */
  function tell(place, x, y) {
    const seen = sight();
    leave();
    const lane = lanes.text(seen, box, place.time, y);
    made.say(lane, x, y);
    if (lane || place.time < seen.from || place.time > seen.to) return;
    pointing = new AbortController();
    const { signal } = pointing;
    hover = setTimeout(async () => {
      try {
        const asked = { ...values, time: place.time, node: Math.floor(place.row), ...scales(seen, box) };
        const cells = /** @type {CellAnswer[]} */ (await Promise.all(runs().map((run) => ask(["runs", run.id, ...path, "cell"], asked, signal))));
        made.say(cellText(cells), x, y);
      } catch (error) {
        if (!signal.aborted) made.say(error instanceof Error ? error.message : "", x, y);
      }
    }, REST / 2);
  }
  /** @param {CellAnswer[]} cells of one run, or of two */
  function cellText(cells) {
    const [{ nodes, num_nodes, begin, end, share, num_pods, pods } = /** @type {CellAnswer} */ ({})] = cells;
    const held = isDifference ? cells.map((cell, place) => `${runs()[place]?.id} ${percent(cell.share)}`).join(", ") : share === null ? "not there" : `${percent(share)} of ${what} · ${counted(num_pods, "pod")}`;
    return [`${nodes[0]}${num_nodes > 1 ? ` and ${count(num_nodes - 1)} more` : ""} · ${clock(begin)}–${clock(end)}`, held, ...(isDifference ? [] : pods.slice(0, 3)), num_pods > 3 && !isDifference ? "…" : ""].filter((line) => line).join("\n");
  }
  function leave() {
    clearTimeout(hover);
    pointing.abort();
  }
  /** The page of a row. @param {Spot} place */
  async function open({ row }) {
    const { names } = await askRows(look, Math.floor(row), 1, leaving);
    if (names[0]) go(look.href(names[0]));
  }
  /** @param {KeyboardEvent} event */
  function key({ key: pressed, shiftKey }) {
    const seen = sight();
    const size = seen.last - seen.first;
    const { z, k } = scales(seen, box);
    const middle = spot(box.left + box.width / 2, TOP + box.height / 2);
    const [right, lower] = /** @type {Record<string, number[]>} */ ({ ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] })[pressed] ?? [];
    const page = { PageUp: -0.5, PageDown: 0.5 }[pressed];
    const closer = { "+": 0.5, "-": 2 }[pressed];
    if (right !== undefined && lower !== undefined) {
      const far = mark ? (shiftKey ? 10 : 1) : 0;
      const { time, row } = mark ?? middle;
      mark = { time: Math.min(Math.max(time + right * far * 2 ** z, view.run.begin), view.run.end - 1e-6), row: Math.min(Math.max(row + lower * far * 2 ** k, 0), total - 0.5) };
      if (mark.time < seen.from || mark.time > seen.to) move(view.run, view, right / 2);
      if (mark.row < seen.first || mark.row >= seen.last) lookAt(mark.row - size / 2, mark.row + size / 2);
      const { across, down } = positions(sight(), box);
      tell(mark, across(mark.time), down(mark.row));
    } else if (page) lookAt(seen.first + page * size, seen.last + page * size);
    else if (closer) zoom(closer, mark ?? middle, "both");
    else if (pressed === "Enter" && mark) void open(mark);
    else return false;
    made.redraw();
    return true;
  }
  /** Rows of cells as a table, at most twelve columns. */
  function twin() {
    const seen = sight();
    const { k } = scales(seen, box);
    const { z } = scales(seen, { width: 12, height: 1 });
    const [left, top] = [Math.floor(seen.from / 2 ** z), Math.floor(seen.first / 2 ** k)];
    const columns = Array.from({ length: Math.ceil(seen.to / 2 ** z) - left }, (_, place) => left + place);
    const number = Math.ceil(seen.last / 2 ** k) - top;
    return {
      heads: [one, ...columns.map((column) => clock(column * 2 ** z))], total: number,
      rows: Array.from({ length: Math.min(number, 200) }, (_, place) => {
        const row = (top + place) * 2 ** k;
        return [k ? `rows ${count(row + 1)}–${count(Math.min(row + 2 ** k, total))}` : rows.names[row - rows.first] ?? count(row + 1), ...columns.map((column) => percent(layer.share(z, k, column, top + place)))];
      }),
    };
  }

  const made = picture(leaving, {
    height: look.height ?? Math.max(280, innerHeight - (innerWidth < 720 ? 520 : 330)),
    draw, key, rows: twin,
    says: () => {
      const { from, to, first, last } = sight();
      const some = last - first < total ? `${one}s ${count(first + 1)}–${count(last)} of ${count(total)}` : counted(total, one);
      return `${what} held${isDifference ? `, ${runs()[1]?.id} less ${runs()[0]?.id}` : ""}, ${some}, ${clock(from)}–${clock(to)}${start.fullest ? `; fullest ${start.fullest}, ${percent(start.fullest_share)}` : ""}`;
    },
    gestures: {
      zoom: (factor, x, y, axes) => zoom(factor, spot(x, y), axes),
      pan: (dx, dy) => {
        const { first, last } = sight();
        const by = (-dy / box.height) * (last - first);
        leave();
        made.say(null, 0, 0);
        inTime.pan(dx);
        lookAt(first + by, last + by);
      },
      click: (x, y) => {
        mark = spot(x, y);
        inTime.click(x);
        tell(mark, x, y);
        made.redraw();
      },
      open: (x, y) => void open(spot(x, y)),
      hover: (x, y) => {
        near = spot(x, y);
        tell(near, x, y);
      },
      leave,
    },
  });
  made.canvas.classList.add("free");
  made.element.setAttribute("aria-busy", "true");
  const legend = h("p", { class: "soft heat-legend" }, isDifference ? "100 % less " : "0 % ", h("i", { class: isDifference ? "ramp both" : "ramp" }), isDifference ? " 100 % more" : " 100 %",
    h("i", { class: "hatch" }), " not there, not ready, cordoned");
  return { element: h("div", { class: "lines" }, legend, failed, made.element), redraw: made.redraw };
}
