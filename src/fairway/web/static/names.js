// Names of nodes and pods as links to their pages.

import { brief, fill, h } from "./dom.js";
import { link } from "./state.js";
import { counted } from "./words.js";

const MOST = 200;

/** @param {string | null | undefined} node */
export function nodeLink(node) {
  return node && h("a", { href: link("nodes", [node]) }, brief(node));
}

/** Where a pod's page is. @param {string} pod `namespace/name` @param {import("./state.js").Values} [values] */
export function podPlace(pod, values) {
  const cut = pod.indexOf("/");
  return link("pods", [pod.slice(0, cut), pod.slice(cut + 1)], values);
}

/** @param {string} pod `namespace/name` @param {import("./state.js").Values} [values] */
export function podLink(pod, values) {
  return h("a", { href: podPlace(pod, values) }, brief(pod, 46));
}

/** Words that unfold to what they count. @param {Child} words @param {() => Child[]} find */
export function unfolding(words, find) {
  const box = h("div", { class: "names" });
  return h("details", { toggle: () => {
    const found = find();
    fill(box, ...found.slice(0, MOST), found.length > MOST && `${MOST} of ${counted(found.length, "node")}`);
  } }, h("summary", {}, words), box);
}
