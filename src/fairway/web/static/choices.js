// Choices that are part of the URL: what is chosen, and what is typed, stand there and nowhere else.

import { h } from "./dom.js";
import { change } from "./state.js";

/** Values that are called as they are. @param {string[]} names @returns {Record<string, string>} */
export const same = (names) => Object.fromEntries(names.map((name) => [name, name]));

/**
 * One of several, the first unless the URL says otherwise.
 * @param {View} view @param {string} name in the URL @param {string} label @param {Record<string, string>} values and how they are called
 */
export function choice(view, name, label, values) {
  const select = h("select", { change: () => change({ [name]: select.value === Object.keys(values)[0] ? null : select.value }, true) });
  /** @param {Record<string, string>} now */
  const offer = (now) => {
    values = now;
    select.replaceChildren(...Object.entries(values).map(([value, text]) => h("option", { value }, text)));
    redraw();
  };
  const value = () => view.query.get(name) ?? Object.keys(values)[0] ?? "";
  const redraw = () => {
    select.value = value();
    if (select.value !== value()) select.append(h("option", { value: value(), selected: true }, value()));
  };
  offer(values);
  return { element: h("label", {}, label, select), value, offer, redraw };
}

/** A text, taken when it is complete. @param {View} view @param {string} name in the URL @param {string} label @param {string} example */
export function typed(view, name, label, example) {
  const input = h("input", { placeholder: example, spellcheck: "false", change: () => change({ [name]: input.value.trim() }, true) });
  const value = () => view.query.get(name) ?? "";
  const redraw = () => { input.value = value(); };
  redraw();
  return { element: h("label", {}, label, input), value, redraw };
}
