// A picture on a canvas, for everybody: sharp on every screen, drawn anew when its size or the colours change, with a
// name that says what it shows, the focus, a line that tells what is below the pointer, and a table that says the same.

import { announce, fill, h, visible } from "./dom.js";
import { listen } from "./gestures.js";
import { table } from "./table.js";
import { onTheme } from "./theme.js";

/**
 * @typedef {object} PictureOptions
 * @property {number} height in pixels
 * @property {(context: CanvasRenderingContext2D, width: number, height: number) => void} draw
 * @property {() => string} says what it shows, in a sentence
 * @property {() => {heads: string[], rows: (string | number | null)[][], total?: number}} rows the same as a table, at most 200 rows
 * @property {(x: number, y: number) => (string | null)} [tip] what is at a place
 * @property {import("./gestures.js").Gestures} [gestures]
 * @property {(event: KeyboardEvent) => boolean} [key] whether it was for the picture
 */

const MOST_ROWS = 200;

/**
 * @param {AbortSignal} leaving
 * @param {PictureOptions} options
 * @returns {{element: HTMLElement, canvas: HTMLCanvasElement, redraw: () => void, say: (text: string | null, x: number, y: number) => void}}
 */
export function picture(leaving, options) {
  const canvas = h("canvas", { role: "img", tabindex: 0 });
  const tip = h("div", { class: "tip", hidden: true });
  const twin = h("div", { class: "twin", hidden: true });
  const button = h("button", { type: "button", class: "quiet twin-button", title: "the same as a table (T)", "aria-pressed": "false", click: toggle }, "table");
  const element = h("div", { class: "picture" }, h("div", { class: "stage" }, canvas, tip), button, twin);
  canvas.style.height = `${options.height}px`;
  let asked = 0;

  function redraw() {
    if (!asked) asked = requestAnimationFrame(drawNow);
  }
  function drawNow() {
    asked = 0;
    const { width, height } = canvas.getBoundingClientRect();
    if (leaving.aborted || width < 1 || height < 1) return;
    const scale = devicePixelRatio || 1;
    const [wide, high] = [Math.round(width * scale), Math.round(height * scale)];
    if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
    const context = canvas.getContext("2d");
    if (!context) return;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    options.draw(context, width, height);
    canvas.setAttribute("aria-label", visible(options.says()));
    if (!twin.hidden) fillTwin();
  }
  function fillTwin() {
    const { heads, rows, total = rows.length } = options.rows();
    fill(twin, table(heads, rows.slice(0, MOST_ROWS), { caption: options.says(), total }));
  }
  function toggle() {
    twin.hidden = !twin.hidden;
    button.setAttribute("aria-pressed", `${!twin.hidden}`);
    if (!twin.hidden) fillTwin();
  }
  /** @param {string | null} text @param {number} x @param {number} y */
  function say(text, x, y) {
    tip.hidden = !text;
    if (!text) return;
    fill(tip, ...text.split("\n").map((line) => h("div", {}, line)));
    announce(text.replace(/\n/g, ", "));
    const { width } = canvas.getBoundingClientRect();
    tip.style.left = `${Math.max(0, Math.min(x + 14, width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${y + 18}px`;
  }

  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "T") toggle();
    else if (!options.key?.(event)) return;
    event.preventDefault();
    event.stopPropagation();
  });
  canvas.addEventListener("blur", () => say(null, 0, 0));
  const { hover, leave } = options.gestures ?? {};
  listen(canvas, {
    ...options.gestures,
    hover: (x, y) => {
      if (options.tip) say(options.tip(x, y), x, y);
      hover?.(x, y);
    },
    leave: () => {
      say(null, 0, 0);
      leave?.();
    },
  });
  const watcher = new ResizeObserver(redraw);
  watcher.observe(canvas);
  leaving.addEventListener("abort", () => watcher.disconnect());
  onTheme(redraw, leaving);
  return { element, canvas, redraw, say };
}
