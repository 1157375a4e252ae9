// The search of every page: pods, nodes and owners by a few letters.

import { ask } from "./api.js";
import { h } from "./dom.js";
import { go, link } from "./state.js";

const AFTER = 120;

/** @param {() => string} run its id */
export function searchBox(run) {
  let asked = new AbortController();
  let timer = 0;
  let marked = -1;
  /** @type {string[]} */
  let links = [];
  const list = h("ul", { id: "found", role: "listbox", "aria-label": "found", hidden: true });
  const input = h("input", { type: "search", placeholder: "search  /", "aria-label": "search pods, nodes, owners", autocomplete: "off", spellcheck: "false",
    role: "combobox", "aria-expanded": "false", "aria-controls": "found", input: later, keydown: onKey, blur: () => setTimeout(hide, 150) });

  function later() {
    clearTimeout(timer);
    timer = setTimeout(() => { void find(); }, AFTER);
  }
  async function find() {
    asked.abort();
    asked = new AbortController();
    const text = input.value.trim();
    if (!text) return hide();
    try {
      const found = await ask(["runs", run(), "search"], { text, limit: 12 }, asked.signal);
      links = found.name.map((/** @type {string} */ name, /** @type {number} */ place) => target(found.kind[place], name));
      marked = links.length ? 0 : -1;
      list.replaceChildren(...(links.length ? found.name.map((/** @type {string} */ name, /** @type {number} */ place) =>
        h("li", { role: "option", id: `found-${place}`, "aria-selected": `${place === marked}` }, h("a", { href: links[place] ?? "", tabindex: -1, click: hide }, h("small", {}, found.kind[place]), " ", name)))
        : [h("li", { class: "soft" }, `nothing is called ${text}`)]));
      show();
    } catch (error) {
      if (asked.signal.aborted) return;
      list.replaceChildren(h("li", { class: "bad" }, error instanceof Error ? error.message : `${error}`));
      show();
    }
  }
  /** @param {string} kind @param {string} name */
  function target(kind, name) {
    if (kind === "node") return link("nodes", [name]);
    if (kind === "owner") return link("pods", [], { owner: name });
    const cut = name.indexOf("/");
    return link("pods", [name.slice(0, cut), name.slice(cut + 1)]);
  }
  function show() {
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
  }
  function hide() {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
  }
  /** @param {KeyboardEvent} event */
  function onKey(event) {
    if (event.key === "Escape") {
      input.value = "";
      hide();
      input.blur();
    } else if (event.key === "Enter" && links[marked]) {
      go(links[marked] ?? "");
      hide();
      input.blur();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      marked = (marked + (event.key === "ArrowDown" ? 1 : links.length - 1)) % (links.length || 1);
      [...list.children].forEach((item, place) => item.setAttribute("aria-selected", `${place === marked}`));
      input.setAttribute("aria-activedescendant", `found-${marked}`);
    } else return;
    event.preventDefault();
  }
  return { element: h("div", { class: "search" }, input, list), focus: () => input.focus() };
}
