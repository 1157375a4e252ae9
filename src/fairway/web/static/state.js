// The URL is the whole state: which page, which runs, which stretch of time, which moment, and what a page was told.
// Dragging replaces the URL, a click pushes one; back and forward work because nothing is kept elsewhere. Browsers
// refuse to write a URL for every frame of a drag, so what is replaced is written when the hand rests for a moment.

const BASE = "/fairway/ui/";
/** What goes along from page to page. */
const KEPT = ["run", "from", "to", "last", "at"];
const REST = 200;

/** @typedef {{page: string, args: string[], query: URLSearchParams}} Place */
/** @typedef {Record<string, string | number | string[] | null | undefined>} Values */

/** @type {Set<() => void>} */
const listeners = new Set();
let current = new URL(location.href);
let timer = 0;

/** Called when the URL is another. @param {() => void} listener */
export function onMove(listener) {
  listeners.add(listener);
}

/** @returns {Place} */
export function here() {
  const [page = "", ...rest] = current.pathname.slice(BASE.length).split("/");
  const args = rest.filter((part) => part).map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { page: page || "overview", args, query: new URLSearchParams(current.search) };
}

/**
 * Where a page is; the run, the stretch and the moment go along.
 * @param {string} page @param {string[]} [args] @param {Values} [values]
 */
export function link(page, args = [], values = {}) {
  const query = new URLSearchParams();
  const now = here().query;
  for (const name of KEPT) for (const value of now.getAll(name)) query.append(name, value);
  if (page !== "compare") {
    const [first] = query.getAll("run");
    query.delete("run");
    if (first) query.set("run", first);
  }
  set(query, values);
  const path = [page === "overview" ? "" : page, ...args.map(encodeURIComponent)].join("/");
  return `${BASE}${path}${query.size ? `?${written(query)}` : ""}`;
}

/** The page of a pod. @param {string} pod `namespace/name` @param {Values} [values] */
export function podLink(pod, values = {}) {
  const cut = pod.indexOf("/");
  return link("pods", [pod.slice(0, cut), pod.slice(cut + 1)], values);
}

/** Say something else on the same page. @param {Values} values @param {boolean} [isClick] a click is a step of its own */
export function change(values, isClick = false) {
  const query = new URLSearchParams(current.search);
  set(query, values);
  go(`${current.pathname}${query.size ? `?${written(query)}` : ""}`, isClick);
}

/** @param {string} path with its query @param {boolean} [isClick] */
export function go(path, isClick = true) {
  const url = new URL(path, location.origin);
  if (url.href === current.href) return;
  if (isClick) {
    write();
    history.pushState(null, "", url);
  } else if (!timer) timer = setTimeout(write, REST);
  current = url;
  for (const listener of listeners) listener();
}

/** What was replaced and is not written yet. */
export function write() {
  clearTimeout(timer);
  timer = 0;
  if (current.href !== location.href) history.replaceState(null, "", current);
}

/** @param {URLSearchParams} query @param {Values} values */
function set(query, values) {
  for (const [name, value] of Object.entries(values)) {
    query.delete(name);
    if (Array.isArray(value)) for (const one of value) query.append(name, one);
    else if (value !== null && value !== undefined && value !== "") query.set(name, typeof value === "number" ? `${+value.toFixed(3)}` : value);
  }
}

/** Readable, as people pass it on. @param {URLSearchParams} query */
function written(query) {
  return query.toString().replace(/%3A/gi, ":").replace(/%2F/gi, "/").replace(/%2C/gi, ",");
}

addEventListener("pagehide", write);
addEventListener("popstate", () => {
  clearTimeout(timer);
  timer = 0;
  current = new URL(location.href);
  for (const listener of listeners) listener();
});
document.addEventListener("click", (event) => {
  const anchor = event.target instanceof Element ? event.target.closest("a") : null;
  if (!anchor || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  if (anchor.hasAttribute("download") || !anchor.pathname.startsWith(BASE) || anchor.getAttribute("href")?.startsWith("#")) return;
  event.preventDefault();
  go(anchor.pathname + anchor.search);
});
