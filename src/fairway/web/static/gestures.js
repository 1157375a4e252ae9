// What people do with a picture: wheel, drag, pinch, click, double click, hover. Says it in pixels of the picture.

/**
 * @typedef {object} Gestures
 * @property {(factor: number, x: number, y: number, axes: "both" | "time" | "rows") => void} [zoom] smaller than 1: closer
 * @property {(dx: number, dy: number) => void} [pan]
 * @property {() => void} [end] a drag has ended
 * @property {(x: number, y: number) => void} [click]
 * @property {(x: number, y: number) => void} [open] double click
 * @property {(x: number, y: number) => void} [hover]
 * @property {() => void} [leave]
 */

const CLICK = 4;

/** @param {HTMLElement} element @param {Gestures} gestures */
export function listen(element, gestures) {
  /** @type {Map<number, {x: number, y: number}>} */
  const down = new Map();
  let moved = 0;
  /** @param {MouseEvent} event */
  const place = (event) => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  element.addEventListener("wheel", (event) => {
    if (!gestures.zoom) return;
    event.preventDefault();
    const { x, y } = place(event);
    if (gestures.pan && Math.abs(event.deltaX) > Math.abs(event.deltaY)) gestures.pan(-event.deltaX, 0);
    else gestures.zoom(1.0015 ** (event.deltaY || event.deltaX), x, y, event.shiftKey ? "time" : event.altKey ? "rows" : "both");
  }, { passive: false });

  element.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    element.setPointerCapture(event.pointerId);
    down.set(event.pointerId, place(event));
    moved = down.size > 1 ? CLICK + 1 : 0;
  });
  element.addEventListener("pointermove", (event) => {
    const now = place(event);
    const before = down.get(event.pointerId);
    if (!before) {
      gestures.hover?.(now.x, now.y);
      return;
    }
    const [other] = [...down].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    moved += Math.hypot(now.x - before.x, now.y - before.y);
    down.set(event.pointerId, now);
    if (other) {
      const apart = Math.hypot(now.x - other.x, now.y - other.y) || 1;
      const was = Math.hypot(before.x - other.x, before.y - other.y) || 1;
      gestures.zoom?.(was / apart, (now.x + other.x) / 2, (now.y + other.y) / 2, "both");
    } else if (moved > CLICK) gestures.pan?.(now.x - before.x, now.y - before.y);
  });
  /** @param {PointerEvent} event */
  const up = (event) => {
    if (!down.delete(event.pointerId)) return;
    const { x, y } = place(event);
    if (event.type === "pointerup" && moved <= CLICK) gestures.click?.(x, y);
    else if (!down.size) gestures.end?.();
  };
  element.addEventListener("pointerup", up);
  element.addEventListener("pointercancel", up);
  element.addEventListener("pointerleave", () => gestures.leave?.());
  element.addEventListener("dblclick", (event) => {
    const { x, y } = place(event);
    gestures.open?.(x, y);
  });
}
