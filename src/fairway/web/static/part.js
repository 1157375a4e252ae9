// A part of a page that asks the server: loading, there, empty, or an error with its hint, and the others stay.

import { Refused } from "./api.js";
import { fill, h } from "./dom.js";

export const SKELETON_AFTER = 150;
/** What is no fault of anybody's: the run was recorded without it, or has none of it. */
const EMPTY = new Set(["not_recorded", "no_devices"]);

/**
 * @template T
 * @typedef {object} PartOptions
 * @property {string} [title]
 * @property {string} [note] said beside the title
 * @property {string} [kind] a class
 * @property {(signal: AbortSignal) => Promise<T>} ask
 * @property {(answer: T) => Child} draw
 * @property {(answer: T) => (string | null)} [empty] what is missing and the command that gives it, if it is empty
 */

/**
 * @template T
 * @param {AbortSignal} leaving the page is left
 * @param {PartOptions<T>} options
 * @returns {{element: HTMLElement, refresh: () => Promise<void>}}
 */
export function part(leaving, options) {
  const body = h("div", { class: "body" });
  const element = h("section", { class: `part ${options.kind ?? ""}` },
    options.title && h("h2", {}, options.title, options.note && h("small", {}, options.note)), body);
  let asked = new AbortController();
  leaving.addEventListener("abort", () => asked.abort());

  async function refresh() {
    asked.abort();
    asked = new AbortController();
    const { signal } = asked;
    if (leaving.aborted) return;
    element.setAttribute("aria-busy", "true");
    const timer = setTimeout(() => {
      if (!body.childElementCount) fill(body, skeleton());
      element.classList.add("waiting");
    }, SKELETON_AFTER);
    try {
      const answer = await options.ask(signal);
      signal.throwIfAborted();
      const missing = options.empty?.(answer);
      fill(body, missing ? emptyBox(missing) : options.draw(answer));
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Refused)) console.error(error);
      fill(body, error instanceof Refused && EMPTY.has(error.code) ? emptyBox(error.message, error.hint) : errorBox(error, refresh));
    } finally {
      clearTimeout(timer);
      if (!signal.aborted) {
        element.setAttribute("aria-busy", "false");
        element.classList.remove("waiting");
      }
    }
  }
  void refresh();
  return { element, refresh };
}

/** Grey bars where something will be. */
export function skeleton() {
  return h("div", { class: "skeleton", "aria-label": "loading", role: "img" }, h("i"), h("i"), h("i"));
}

/** @param {string} message @param {string} [hint] */
export function emptyBox(message, hint) {
  return h("div", { class: "empty" }, h("p", {}, message), hint && h("p", { class: "soft" }, hint));
}

/** @param {unknown} error @param {() => void} [retry] */
export function errorBox(error, retry) {
  const refused = error instanceof Refused ? error : new Refused(0, "failed", "this part of the page failed", `${error}`);
  return h("div", { class: "error", role: "alert" },
    h("p", {}, h("strong", {}, refused.message)), refused.hint && h(refused.code === "forbidden" ? "pre" : "p", {}, refused.hint),
    retry && h("button", { type: "button", click: retry }, "Try again"));
}
