// Elements out of tags, attributes and children as text. There is no way to pass markup, so whatever a run holds (names,
// labels, messages) is shown letter for letter; what would turn or hide what stands beside it is written out.

// eslint-disable-next-line no-misleading-character-class
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u00ad\u200b-\u200d\u2060-\u2064\ufeff\u2028\u2029]/gu;

/** Text that somebody else wrote, fit to be shown. @param {string} text */
export function visible(text) {
  return text.replace(UNSEEN, (sign) => {
    const code = sign.charCodeAt(0);
    return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

/**
 * An element. Attributes that are false, null or undefined are left out; functions become listeners.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, string | number | boolean | null | undefined | ((event: any) => void)>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) set(element, name, `${value}`);
  }
  fill(element, ...children);
  return element;
}

/** @param {HTMLElement} element @param {string} name @param {string} value */
function set(element, name, value) {
  if (name === "style" || name.startsWith("on") || name === "srcdoc") throw new Error(`no element gets ${name}`);
  if (name === "href" && !/^(\/fairway\/|#)/.test(value)) throw new Error("links stay on these pages");
  element.setAttribute(name, name === "title" || name === "aria-label" ? visible(value) : value);
}

/** Put children in place of what was there. @param {Element} element @param {...Child} children */
export function fill(element, ...children) {
  element.replaceChildren(...flat(children));
}

/** @param {Child[]} children @returns {Node[]} */
function flat(children) {
  return children.flatMap((child) => {
    if (child === null || child === undefined || child === false) return [];
    if (Array.isArray(child)) return flat(child);
    return [child instanceof Node ? child : document.createTextNode(visible(`${child}`))];
  });
}

/** A long name, whole in its title and in the copy. @param {string} text @param {number} [longest] */
export function brief(text, longest = 40) {
  if (text.length <= longest) return h("span", {}, text);
  return h("span", { title: text }, `${text.slice(0, longest - 12)}…${text.slice(-11)}`);
}

/** A button that copies. @param {string} label @param {() => string} text @param {string} [title] */
export function copyButton(label, text, title) {
  const button = h("button", { type: "button", title, click: async () => {
    await navigator.clipboard.writeText(text());
    announce("copied");
    fill(button, "copied");
    setTimeout(() => fill(button, label), 1500);
  } }, label);
  return button;
}

const region = h("div", { "aria-live": "polite", class: "unseen" });

/** Said by screen readers when they have time. @param {string} text */
export function announce(text) {
  if (!region.isConnected) document.body.append(region);
  if (region.textContent !== text) fill(region, text);
}
