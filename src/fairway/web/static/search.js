// The search of every page: pods, nodes and owners by a few letters.

import { ask } from "./api.js";
import { fill, h } from "./dom.js";
import { link, podLink } from "./state.js";
import { sentence } from "./words.js";

const AFTER = 120;

/** @param {() => string} run its id */
export function searchBox(run) {
  let asked = new AbortController();
  let timer = 0;
  let marked = 0;
  const list = h("ul", { id: "found", role: "listbox", "aria-label": "found", hidden: true });
  const input = h("input", { type: "search", placeholder: "search  /", "aria-label": "search pods, nodes, owners", autocomplete: "off", spellcheck: "false",
    role: "combobox", "aria-expanded": "false", "aria-controls": "found", keydown: onKey, blur: () => setTimeout(() => show(false), 150), input: () => {
      clearTimeout(timer);
      timer = setTimeout(find, AFTER);
    } });

  async function find() {
    asked.abort();
    asked = new AbortController();
    const text = input.value.trim();
    if (!text) return show(false);
    const { signal } = asked;
    try {
      /** @type {import("./answers.d.ts").FoundNames} */
      const { kind, name } = await ask(["runs", run(), "search"], { text, limit: 12 }, signal);
      fill(list, name.length ? name.map((one, place) => h("li", { role: "option", id: `found-${place}` },
        h("a", { href: target(kind[place] ?? "", one), tabindex: -1, click: () => show(false) }, h("small", {}, kind[place]), " ", one)))
        : h("li", { class: "soft" }, `nothing is called ${text}`));
      mark(0);
    } catch (error) {
      if (signal.aborted) return;
      fill(list, h("li", { class: "bad" }, sentence(error)));
    }
    show(true);
  }
  /** @param {string} kind @param {string} name */
  function target(kind, name) {
    if (kind === "node") return link("nodes", [name]);
    if (kind === "owner") return link("pods", [], { owner: name });
    return podLink(name);
  }
  /** @param {boolean} isShown */
  function show(isShown) {
    if (!isShown) {
      clearTimeout(timer);
      asked.abort();
    }
    list.hidden = !isShown;
    input.setAttribute("aria-expanded", `${isShown}`);
  }
  /** @param {number} place around the end to the beginning */
  function mark(place) {
    marked = (place + list.children.length) % list.children.length;
    [...list.children].forEach((item, at) => item.setAttribute("aria-selected", `${at === marked}`));
    input.setAttribute("aria-activedescendant", `found-${marked}`);
  }
  /** @param {KeyboardEvent} event */
  function onKey(event) {
    const step = Number(event.key === "ArrowDown") - Number(event.key === "ArrowUp");
    const chosen = event.key === "Enter" ? list.querySelector('[aria-selected="true"] a') : null;
    if (event.key === "Escape" || chosen) {
      if (chosen instanceof HTMLElement) chosen.click();
      else input.value = "";
      show(false);
      input.blur();
    } else if (step && list.children.length) mark(marked + step);
    else return;
    event.preventDefault();
  }
  return { element: h("div", { class: "search" }, input, list), focus: () => input.focus() };
}
