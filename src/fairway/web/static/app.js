// The frame: which runs there are, which page is shown, and what is the same on all of them.

import { ask, Refused, setToken, takeToken } from "./api.js";
import { announce, fill, h } from "./dom.js";
import { bind, clearPageKeys, showHelp } from "./keys.js";
import { liveFrame, liveView } from "./live.js";
import { emptyBox, errorBox, skeleton } from "./part.js";
import { searchBox } from "./search.js";
import { change, go, here, link, onMove } from "./state.js";
import { follow, retry } from "./stream.js";
import { goTo, look, move, within, zoom } from "./stretch.js";
import { apply, nextTheme } from "./theme.js";
import { timeBar } from "./time_bar.js";
import { clock, count } from "./words.js";

/** @typedef {import("./answers.d.ts").KnownRun} KnownRun */
/** Name in the path, what people call it, its key after `g`, and the module that has it. @type {[string, string, string, () => Promise<{page: Page}>][]} */
const PAGES = [
  ["overview", "Overview", "o", () => import("./page_overview.js")],
  ["nodes", "Nodes", "n", () => import("./page_nodes.js")],
  ["pods", "Pods", "p", () => import("./page_pods.js")],
  ["queue", "Queue", "q", () => import("./page_queue.js")],
  ["gpus", "GPUs", "g", () => import("./page_gpus.js")],
  ["plugins", "Plugins", "l", () => import("./page_plugins.js")],
  ["compare", "Compare", "c", () => import("./page_compare.js")],
  ["decisions", "Decisions", "d", () => import("./page_decisions.js")],
];
/** Pages of one thing, by the page of all and how many names they have. @type {Record<string, [number, () => Promise<{page: Page}>]>} */
const SINGLE = {
  nodes: [1, () => import("./page_node.js")],
  pods: [2, () => import("./page_pod.js")],
};

/** @type {KnownRun[]} */
let runs = [];
let leaving = new AbortController();
let leavingRun = new AbortController();
let shown = "";
let shownRun = "";
/** @type {(() => void) | void} */
let update;
/** @type {{element: HTMLElement, redraw: () => void} | null} */
let bar = null;
/** Of a scheduler at work. @type {ReturnType<typeof liveFrame> | null} */
let live = null;
let navigated = "";
let frame = 0;

const main = h("main", { id: "main", tabindex: -1 });
const nav = h("nav", { "aria-label": "pages" });
const state = h("span", { class: "run-state" });
const chooser = h("select", { "aria-label": "run", change: () => change({ run: chooser.value, from: null, to: null, at: null }, true) });
const notes = h("div", { class: "notes", role: "status" });
const foot = h("footer");
const search = searchBox(() => run().id);

/** The run that is shown: the one that the URL names, else the first. @returns {KnownRun} */
function run() {
  const [first] = runs;
  if (!first) throw new Refused(404, "no_runs", "this server shows no runs", "fairway ui RUN.duckdb");
  const named = here().query.get("run");
  return runs.find(({ id }) => id === named) ?? first;
}

/** @param {string} name @param {number} otherwise */
function moment(name, otherwise) {
  const said = Number.parseFloat(here().query.get(name) ?? "");
  return Number.isFinite(said) ? said : otherwise;
}

/** The stretch that all pages look at: what the URL says, or so much until now. */
function seen() {
  const now = run();
  const last = moment("last", 0);
  return within(now, last > 0 ? now.end - last : moment("from", now.begin), last > 0 ? now.end : moment("to", now.end));
}

/** @returns {View} */
function view() {
  const { signal } = leaving;
  return {
    main, signal, runs,
    live: live && liveView(signal),
    get run() { return run(); },
    get args() { return here().args; },
    get query() { return here().query; },
    get from() { return seen().from; },
    get to() { return seen().to; },
    get at() { return Math.min(Math.max(moment("at", run().end), run().begin), run().end); },
  };
}

/** The page that the URL names, or what changed on it. */
async function show() {
  frame = 0;
  const { page, args, query } = here();
  const key = JSON.stringify([page, args, page === "compare" ? query.getAll("run") : run().id]);
  if (key === shown) {
    update?.();
    bar?.redraw();
    drawNav();
    return;
  }
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  shown = key;
  update = undefined;
  clearPageKeys();
  if (run().id !== shownRun) drawFrame();
  drawNav();
  const known = PAGES.find(([name]) => name === page);
  const [most, single] = SINGLE[page] ?? [0, null];
  const load = args.length === 0 ? known?.[3] : args.length === most ? single : null;
  if (!load) {
    fill(main, h("h1", {}, "No such page"), emptyBox(`there is nothing at ${location.pathname}`, "the links above lead to all that there is"));
    return;
  }
  fill(main, skeleton());
  try {
    const made = (await load()).page;
    if (signal.aborted) return;
    const title = [...args.slice(-1), made.title, run().id].join(" · ");
    document.title = `${title} – Fairway`;
    fill(main);
    update = made.show(view());
    announce(title);
    scrollTo(0, 0);
  } catch (error) {
    if (signal.aborted) return;
    console.error(error);
    fill(main, errorBox(error, () => { shown = ""; void show(); }));
  }
}

function drawFrame() {
  const now = run();
  leavingRun.abort();
  leavingRun = new AbortController();
  shownRun = now.id;
  fill(chooser, ...runs.map(({ id, name }) => h("option", { value: id, selected: id === now.id, title: name }, id)));
  fill(state, ...(live ? [live.state] : [now.state, now.state === "complete" ? "" : " ⚠"]));
  state.className = `run-state ${now.state}`;
  state.title = `${count(now.nodes)} nodes, ${count(now.pods)} pods, ${count(now.decisions)} decisions, ${clock(now.begin)}–${clock(now.end)}`;
  const words = /** @type {Record<string, string>} */ ({
    partial: "This run was not finished: its scheduler is still writing it, or ended without closing it. What is here was kept until then.",
    interrupted: "This run was interrupted: it ends where it was stopped.",
  });
  fill(notes, ...[words[now.state], ...now.notes].filter((note) => note && !(live && /^nothing was heard/.test(note))).map((note) => h("p", {}, note)));
  bar = timeBar(view, leavingRun.signal);
  fill(foot, bar.element);
}

function drawNav() {
  const { page, query } = here();
  if (navigated === (navigated = `${page}?${query}`)) return; // time went on, and somebody may stand on a link
  fill(nav, ...PAGES.map(([name, title]) => h("a", { href: link(name), "aria-current": name === page ? "page" : null }, title)));
}

/** Somebody has to be told the token, once. @param {Refused} refused */
function askForToken(refused) {
  if (document.activeElement instanceof HTMLInputElement && main.contains(document.activeElement)) return;
  const isOwn = refused.code === "no_token";
  const input = h("input", { type: "password", "aria-label": "token", autocomplete: "off", required: true });
  fill(main, h("h1", {}, "Fairway"), h("form", { class: "part", submit: (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    setToken(input.value.trim(), isOwn);
    shown = "";
    void start();
  } }, h("p", {}, h("strong", {}, refused.message)), h(refused.code === "forbidden" ? "pre" : "p", {}, refused.hint), input, " ", h("button", {}, "Open")));
  input.focus();
}

async function start() {
  fill(main, skeleton());
  try {
    runs = (await ask(["runs"])).runs;
    if (live) retry();
    else if (runs.some((one) => one.state === "live")) {
      live = liveFrame(view, moved, (error) => { leaving.abort(); askForToken(error); });
      const present = () => look(run(), run().end - (view().to - view().from), run().end);
      bind("l", "follow the present", present);
      live.state.addEventListener("click", present);
      follow();
    }
    if (!document.querySelector("header")) {
      document.body.append(h("header", {}, h("a", { class: "brand", href: "/fairway/ui/" }, "Fairway"), chooser, state, nav, search.element,
        quiet("◐", "colours", "light, dark, as the system (t)", turn), quiet("?", "keys", "all keys (?)", showHelp)), notes, live?.banner ?? "", main, foot);
      onMove(moved);
    }
    await show();
  } catch (error) {
    if (error instanceof Refused && (error.status === 401 || error.code === "forbidden")) askForToken(error);
    else fill(main, errorBox(error, () => { void start(); }));
  }
}

/** @param {string} sign @param {string} name @param {string} title @param {() => void} click */
function quiet(sign, name, title, click) {
  return h("button", { type: "button", class: "quiet", "aria-label": name, title, click }, sign);
}

function moved() {
  frame ||= requestAnimationFrame(() => { void show(); });
}

function turn() {
  announce(`colours: ${nextTheme()}`);
}

function bindKeys() {
  bind("/", "search", search.focus);
  bind("?", "all keys", showHelp);
  bind("esc", "back, close", () => {
    const { page, args } = here();
    const focused = document.activeElement;
    if (focused instanceof HTMLElement && focused !== document.body && focused !== main) focused.blur();
    else if (args.length) go(link(page));
  });
  bind("a", "earlier", () => move(run(), view(), -0.25));
  bind("d", "later", () => move(run(), view(), 0.25));
  bind("w", "closer, around the moment", () => zoom(run(), view(), 0.5, middle()));
  bind("s", "farther", () => zoom(run(), view(), 2, middle()));
  bind("0", "the whole run", () => look(run(), run().begin, run().end));
  bind("{ }", "the moment a little earlier, later", (event) => goTo(run(), view().at + ((view().to - view().from) / 100) * (event.key === "{" ? -1 : 1)));
  for (const [name, title, key] of PAGES) bind(`g+${key}`, title, () => go(link(name)));
  bind("t", "light, dark, as the system", turn);
}

/** The moment if it is in sight, else the middle. */
function middle() {
  const { from, to, at } = view();
  return at > from && at < to ? at : (from + to) / 2;
}

takeToken();
apply();
document.body.append(main);
bindKeys();
void start();
