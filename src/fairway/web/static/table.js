// Tables: short ones, and long ones that come from the server page by page, of which only rows in sight are elements.

import { h } from "./dom.js";
import { errorBox, skeleton, SKELETON_AFTER } from "./part.js";
import { count } from "./words.js";

/**
 * A table of what is there.
 * @param {string[]} heads the first column names its row
 * @param {Child[][]} rows
 * @param {{caption?: string, total?: number, words?: number[]}} [options] words: columns to be set flush left
 */
export function table(heads, rows, { caption, total = rows.length, words = [] } = {}) {
  const lefts = heads.map((_, column) => column === 0 || words.includes(column));
  return h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": caption ?? heads.join(", ") },
    h("table", { "aria-label": caption ? null : heads.join(", ") },
      caption && h("caption", {}, caption),
      h("thead", {}, h("tr", {}, ...heads.map((head, column) => h("th", { scope: "col", class: lefts[column] && "words" }, head)))),
      h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((cell, column) => tableCell(cell, column, lefts[column])))))),
    total > rows.length && h("p", { class: "soft" }, `${count(rows.length)} of ${count(total)}`));
}

/** The first of a row names it. @param {Child} content @param {number} column @param {boolean} [isWords] */
function tableCell(content, column, isWords) {
  return h(column ? "td" : "th", { scope: column ? null : "row", class: isWords && "words", title: isWords && typeof content === "string" && content }, content ?? "–");
}

/**
 * @typedef {object} Column
 * @property {string} head
 * @property {(row: Record<string, any>) => Child} [cell] what the row has under the head unless said otherwise
 * @property {string} [sort] the name that the server sorts by
 * @property {boolean} [words] flush left
 * @property {string} [title] what the column says
 */

/**
 * @typedef {object} LongTableOptions
 * @property {string} name what it holds, in a word or two
 * @property {Column[]} columns the first names the row
 * @property {(next: string | null, sort: string, signal: AbortSignal) => Promise<{columns: Record<string, any[]>, total: number, next: string | null}>} ask
 * @property {string} [sort] as the server has it: `-wait`
 * @property {(sort: string) => void} [onSort]
 * @property {(row: Record<string, any>) => void} [open] enter, or a double click
 * @property {string} [empty]
 */

const ROW = 30;
const AHEAD = 12;

/**
 * A long table: loads the next page when its end comes near.
 * @param {AbortSignal} leaving @param {LongTableOptions} options
 */
export function longTable(leaving, options) {
  const { columns, name } = options;
  let sort = options.sort ?? "";
  /** @type {Record<string, any>[]} */
  let rows = [];
  let [total, marked] = [0, 0];
  /** @type {string | null} */
  let next = null;
  let loading = new AbortController();
  let isLoading = false;
  leaving.addEventListener("abort", () => loading.abort());

  const body = h("tbody");
  const head = h("tr");
  const status = h("p", { class: "soft", role: "status" });
  const box = h("div", { class: "wide long", tabindex: 0, role: "region", "aria-label": name, scroll: windowed, keydown: onKey },
    h("table", { "aria-label": name }, h("thead", {}, head), body));
  const failed = h("div");

  /** @param {Column} column */
  const isWords = (column) => column === columns[0] || column.words;

  const heads = columns.map((column) => {
    const sign = h("span");
    const sortBy = () => {
      sort = sort === column.sort ? `-${sort}` : column.sort ?? "";
      options.onSort?.(sort);
      void refresh();
    };
    return { column, sign, cell: h("th", { scope: "col", class: isWords(column) && "words", title: column.title },
      column.sort ? h("button", { type: "button", class: "quiet", click: sortBy }, column.head, sign) : column.head) };
  });
  head.append(...heads.map(({ cell }) => cell));
  /** In place: who sorts by keyboard keeps the focus. */
  function drawHead() {
    for (const { column, sign, cell } of heads) {
      const order = !column.sort ? "" : sort === column.sort ? "ascending" : sort === `-${column.sort}` ? "descending" : "";
      sign.textContent = { ascending: " ▴", descending: " ▾", "": "" }[order];
      if (order) cell.setAttribute("aria-sort", order);
      else cell.removeAttribute("aria-sort");
    }
  }
  async function load() {
    if (isLoading || (rows.length && !next)) return;
    isLoading = true;
    box.ariaBusy = "true";
    const { signal } = loading;
    const timer = setTimeout(() => { if (!rows.length) failed.replaceChildren(skeleton()); }, SKELETON_AFTER);
    try {
      const page = await options.ask(next, sort, signal);
      signal.throwIfAborted();
      rows.push(...rowsOf(page.columns));
      [total, next] = [page.total, page.next];
      failed.replaceChildren();
    } catch (error) {
      if (signal.aborted) return;
      failed.replaceChildren(errorBox(error, () => { void load(); }));
    } finally {
      clearTimeout(timer);
      if (!signal.aborted) {
        isLoading = false;
        box.ariaBusy = "false";
      }
    }
    windowed();
  }
  function windowed() {
    const first = Math.max(0, Math.floor(box.scrollTop / ROW) - AHEAD);
    const last = Math.min(rows.length, Math.ceil((box.scrollTop + (box.clientHeight || 600)) / ROW) + AHEAD);
    const shown = rows.slice(first, last).map((row, place) => {
      const number = first + place;
      return h("tr", { class: number === marked ? "marked" : null, "aria-rowindex": number + 2,
        click: () => mark(number), dblclick: () => options.open?.(row) },
        ...columns.map((column, at) => tableCell(column.cell ? column.cell(row) : row[column.head], at, isWords(column))));
    });
    /** @param {number} number */
    const gap = (number) => {
      const cell = h("td", { colspan: columns.length });
      cell.style.height = `${number * ROW}px`;
      return number ? [h("tr", { class: "gap", "aria-hidden": "true" }, cell)] : [];
    };
    body.replaceChildren(...gap(first), ...shown, ...gap(rows.length - last));
    status.textContent = rows.length ? `${count(rows.length)} of ${count(total)}${next ? ", more come as you scroll" : ""}` : isLoading ? "loading" : (options.empty ?? `no ${name}`);
    if (next && last + AHEAD * 2 >= rows.length) void load();
  }
  /** @param {number} number */
  function mark(number) {
    marked = Math.max(0, Math.min(number, rows.length - 1));
    windowed();
  }
  /** @param {KeyboardEvent} event */
  function onKey(event) {
    const step = /** @type {Record<string, number>} */ ({ ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 })[event.key];
    const row = rows[marked];
    if (event.target !== box) return;
    if (step) {
      mark(marked + step);
      if (marked * ROW < box.scrollTop || (marked + 3) * ROW > box.scrollTop + box.clientHeight) box.scrollTop = Math.max(0, (marked - 5) * ROW);
    } else if (event.key === "Enter" && row) options.open?.(row);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
  async function refresh() {
    loading.abort();
    loading = new AbortController();
    isLoading = false;
    [rows, next, total, marked] = [[], null, 0, 0];
    box.scrollTop = 0;
    drawHead();
    await load();
  }
  /** Rows that came since, above the others; what is looked at stays where it is. @param {Record<string, any>[]} fresh */
  function put(fresh) {
    rows.unshift(...fresh);
    total += fresh.length;
    if (marked) marked += fresh.length;
    if (box.scrollTop) box.scrollTop += fresh.length * ROW;
    redraw();
  }
  /** Draw rows again that have changed, unless somebody is about to use one. */
  function redraw() {
    if (!body.contains(document.activeElement)) windowed();
  }
  void refresh();
  return { element: h("div", { class: "long-table" }, failed, box, status), refresh, redraw, put, rows: () => rows };
}

/** Columns as rows. @param {Record<string, any[]>} columns */
export function rowsOf(columns) {
  const lists = Object.entries(columns);
  return (lists[0]?.[1] ?? []).map((_, place) => Object.fromEntries(lists.map(([column, values]) => [column, values[place]])));
}
