// Tiles of heat maps: 256 by 256 cells as bytes. At most 400 are kept, the one used longest ago goes first; until a tile is
// there a coarser one stands in for it. Nearest to the pointer is asked for first; what left the window is cancelled.

import { bytes } from "./api.js";
import { colour, onTheme, ramp } from "./theme.js";

/** @typedef {{z: number, k: number, x: number, y: number}} Place columns of 2^z seconds, rows of 2^k; x and y count tiles */
/** @typedef {{from: number, to: number, first: number, last: number}} Sight a stretch of time and rows */
/** @typedef {{left: number, top: number, width: number, height: number}} Box */
/** @typedef {Place & {of: string, codes: Uint8Array, image: HTMLCanvasElement | null, end: number}} Tile end: of the run, as was known */
/**
 * @typedef {object} HeatLook what a heat map is of
 * @property {() => import("./answers.d.ts").KnownRun[]} runs one; or two, of which the second less the first is shown
 * @property {(string | number)[]} path below the run's: `["heat", "cpu"]`
 * @property {{order: string, filter: string, stat: string}} values
 * @property {string} what is held: `cpu`
 * @property {string} one what a row is: `node`
 * @property {(name: string) => string} href the page of a row
 * @property {boolean} [lanes] few rows are shown as pods
 * @property {number} [height] in pixels
 */

const [SIZE, KEPT, AT_ONCE, NONE] = [256, 400, 5, new Uint8Array()];
/** The one that was used longest ago first. @type {Map<string, Tile>} */
const kept = new Map();
/** Colours by code, as a canvas has them. @type {Uint32Array[]} */
let palettes = [];

onTheme(() => {
  palettes = [];
  for (const tile of kept.values()) tile.image = null;
});

/** How coarse cells have to be, each at least a pixel. @param {Sight} seen @param {{width: number, height: number}} box */
export function scales(seen, box) {
  /** @param {number} size @param {number} least */
  const power = (size, least) => Math.min(Math.max(Math.ceil(Math.log2(size) - 1e-9), least), 20);
  return { z: power((seen.to - seen.from) / box.width, -10), k: power((seen.last - seen.first) / box.height, 0) };
}

/** Where times and rows are. @param {Sight} seen @param {Box} box */
export function positions({ from, to, first, last }, box) {
  return {
    /** @param {number} time */
    across: (time) => box.left + Math.min(Math.max((time - from) / (to - from), 0), 1) * box.width,
    /** @param {number} row */
    down: (row) => box.top + ((row - first) / (last - first)) * box.height,
  };
}

/** @param {HeatLook} look @param {AbortSignal} leaving @param {(error?: unknown) => void} arrived */
export function tileLayer(look, leaving, arrived) {
  const isDifference = look.runs().length > 1;
  const of = JSON.stringify([look.runs().map(({ id }) => id), look.path, look.values]);
  const sheet = document.createElement("canvas");
  /** @type {Map<string, AbortController>} */
  const asked = new Map();
  /** @type {Place[]} */
  let wanted = [];
  let hasFailed = false;
  leaving.addEventListener("abort", () => want([]));

  /** @param {Place} place */
  const keyOf = ({ z, k, x, y }) => `${[z, k, x, y]}${of}`;
  const end = () => Math.min(...look.runs().map((run) => run.end));
  /** Has the run grown by something that can be seen in it? @param {Tile} tile */
  const isOld = ({ z, x, end: was }) => (x + 1) * SIZE * 2 ** z > was && end() - was >= Math.max(1, 2 ** z / 4);

  /** The tile, or the finest coarser one that there is. @param {Place} place */
  function nearest({ z, k, x, y }) {
    /** @type {Tile | undefined} */
    let best;
    for (const tile of kept.values()) {
      if (tile.of === of && tile.z >= z && tile.k >= k && (!best || tile.z + tile.k < best.z + best.k)
        && tile.x === Math.floor(x / 2 ** (tile.z - z)) && tile.y === Math.floor(y / 2 ** (tile.k - k))) best = tile;
    }
    if (best) keep(best);
    return best;
  }
  /** @param {Tile} tile */
  function keep(tile) {
    kept.delete(keyOf(tile));
    kept.set(keyOf(tile), tile);
    const [oldest = ""] = kept.keys();
    if (kept.size > KEPT) kept.delete(oldest);
  }
  /** @param {Place[]} places the most urgent first */
  function want(places) {
    wanted = places;
    const keys = new Set(places.map(keyOf));
    for (const [key, controller] of asked) if (!keys.has(key)) controller.abort();
    next();
  }
  function next() {
    for (const place of wanted) {
      if (asked.size >= AT_ONCE || hasFailed) return;
      const tile = kept.get(keyOf(place));
      if (!asked.has(keyOf(place)) && (!tile || isOld(tile))) void load(place);
    }
  }
  /** @param {Place} place */
  async function load({ z, k, x, y }) {
    const key = keyOf({ z, k, x, y });
    const controller = new AbortController();
    asked.set(key, controller);
    const known = end();
    try {
      const [one = NONE, other] = await Promise.all(look.runs().map((run) => bytes(["runs", run.id, ...look.path, z, k, x, y],
        { ...look.values, v: run.state === "complete" ? run.version : null }, controller.signal)));
      keep({ z, k, x, y, of, image: null, end: known, codes: other?.map((code, cell) => (code && one[cell] ? 128 + Math.round((code - one[cell]) / 2) : 0)) ?? one });
      asked.delete(key);
      arrived();
    } catch (error) {
      asked.delete(key);
      if (!controller.signal.aborted) {
        hasFailed = true;
        arrived(error);
      }
    }
    next();
  }
  /** @param {Tile} tile */
  function imageOf(tile) {
    if (tile.image) return tile.image;
    const colours = palettes[+isDifference] ??= Uint32Array.from([[0, 0, 0, 0], ...ramp(isDifference ? ["c1", "h0", "c0"] : undefined)],
      ([red = 0, green = 0, blue = 0, clear = 255]) => ((clear << 24) | (blue << 16) | (green << 8) | red) >>> 0);
    tile.image = document.createElement("canvas");
    tile.image.width = tile.image.height = SIZE;
    const pixels = new ImageData(SIZE, SIZE);
    new Uint32Array(pixels.data.buffer).set(Uint32Array.from(tile.codes, (code) => colours[code] ?? 0));
    tile.image.getContext("2d")?.putImageData(pixels, 0, 0);
    return tile.image;
  }

  return {
    /**
     * Draw the cells in sight, and ask for those that are not there. Says whether all were.
     * @param {CanvasRenderingContext2D} context @param {Sight} seen @param {Box} box @param {{time: number, row: number}} near
     */
    draw(context, seen, box, near) {
      const { z, k } = scales(seen, box);
      const [wide, high] = [2 ** z, 2 ** k];
      const [left, top] = [Math.floor(seen.from / wide), Math.floor(seen.first / high)];
      sheet.width = Math.ceil(seen.to / wide) - left;
      sheet.height = Math.ceil(seen.last / high) - top;
      const cells = sheet.getContext("2d");
      const missing = [];
      for (let y = Math.floor(top / SIZE); y * SIZE * high < seen.last; y += 1) {
        for (let x = Math.floor(left / SIZE); x * SIZE * wide < seen.to; x += 1) {
          const tile = nearest({ z, k, x, y });
          if (tile && cells) {
            const [width, height] = [SIZE * 2 ** (z - tile.z), SIZE * 2 ** (k - tile.k)];
            cells.imageSmoothingEnabled = false;
            cells.drawImage(imageOf(tile), (x * width) % SIZE, (y * height) % SIZE, width, height, x * SIZE - left, y * SIZE - top, SIZE, SIZE);
          } else if (cells) {
            cells.fillStyle = colour("edge");
            cells.fillRect(x * SIZE - left, y * SIZE - top, SIZE, SIZE);
          }
          if (tile?.z !== z || tile.k !== k || isOld(tile)) missing.push({ z, k, x, y, far: Math.hypot((x + 0.5) * SIZE - near.time / wide, (y + 0.5) * SIZE - near.row / high) });
        }
      }
      context.imageSmoothingEnabled = false;
      context.drawImage(sheet, seen.from / wide - left, seen.first / high - top, (seen.to - seen.from) / wide, (seen.last - seen.first) / high, box.left, box.top, box.width, box.height);
      want(missing.sort((one, other) => one.far - other.far));
      return !missing.length;
    },
    /** What is in a cell: a share, a difference of shares, null if nothing is there or it is not known yet. @param {number} z @param {number} k @param {number} column @param {number} group */
    share(z, k, column, group) {
      const place = { z, k, x: Math.floor(column / SIZE), y: Math.floor(group / SIZE) };
      const tile = kept.get(keyOf(place));
      if (!tile) {
        wanted.push(place);
        next();
      }
      const code = tile?.codes[(group % SIZE) * SIZE + (column % SIZE)];
      return code ? (isDifference ? (code - 128) / 127 : (code - 1) / 254) : null;
    },
    retry() {
      hasFailed = false;
    },
  };
}
