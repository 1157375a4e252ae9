// Keys: those of every page, those of this page, and a list of all of them behind `?`.

import { fill, h } from "./dom.js";

const NAMES = /** @type {Record<string, string>} */ ({ Escape: "esc", Enter: "enter" });

/** @typedef {{keys: string[], says: string, does: (event: KeyboardEvent) => void}} Binding */

/** @type {Binding[]} */
const everywhere = [];
/** @type {Binding[]} */
let ofPage = [];
let first = "";
let forget = 0;

/** @param {string} keys names apart by a blank; `g n` after each other is written `g+n` @param {string} says @param {(event: KeyboardEvent) => void} does */
export function bind(keys, says, does) {
  everywhere.push({ keys: keys.split(" "), says, does });
}

/** Keys of this page, in place of those of the page before. */
export function clearPageKeys() {
  ofPage = [];
}

/** @param {string} keys @param {string} says @param {(event: KeyboardEvent) => void} does */
export function bindPage(keys, says, does) {
  ofPage.push({ keys: keys.split(" "), says, does });
}

const dialog = h("dialog", { class: "help", "aria-label": "keys", click: (/** @type {MouseEvent} */ event) => event.target === dialog && dialog.close() });

export function showHelp() {
  if (!dialog.isConnected) document.body.append(dialog);
  /** @param {string} title @param {Omit<Binding, "does">[]} bindings */
  const list = (title, bindings) => bindings.length > 0 && [h("h3", {}, title), h("dl", {}, ...bindings.map(({ keys, says }) =>
    h("div", {}, h("dt", {}, ...keys.map((key) => h("kbd", {}, key.replace("+", " then ")))), h("dd", {}, says))))];
  fill(dialog, h("h2", {}, "Keys"), h("div", { class: "columns" }, h("div", {}, list("On every page", everywhere)), h("div", {}, list("On this page", ofPage),
    list("On a picture with the focus", [
      { keys: ["T"], says: "the same as a table" }, { keys: ["←", "→", "↑", "↓"], says: "move the mark" }, { keys: ["enter"], says: "open what is marked" },
      { keys: ["+", "-"], says: "a heat map closer, farther" }, { keys: ["page up", "page down"], says: "other rows of a heat map" },
    ]))), h("form", { method: "dialog" }, h("button", {}, "Close")));
  dialog.showModal();
}

document.addEventListener("keydown", (event) => {
  const { target } = event;
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
  if (target instanceof Element && target.matches("input, select, textarea") && event.key !== "Escape") return;
  const key = NAMES[event.key] ?? event.key;
  const said = first ? `${first}+${key}` : key;
  const found = [...ofPage, ...everywhere].find(({ keys }) => keys.includes(said));
  clearTimeout(forget);
  if (!first && key === "g") {
    first = "g";
    forget = setTimeout(() => { first = ""; }, 1500);
    return;
  }
  first = "";
  if (!found || (key === "enter" && target instanceof Element && target.closest("a, button, summary, canvas, tr"))) return;
  event.preventDefault();
  found.does(event);
});
