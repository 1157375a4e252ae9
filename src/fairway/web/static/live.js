// A scheduler at work, in the frame: how old it is what pages show, what is missing, and the pace at which they look again.

import { ask, Refused } from "./api.js";
import { announce, fill, h } from "./dom.js";
import { errorBox } from "./part.js";
import { on, retry, state, watch } from "./stream.js";
import { clock, count } from "./words.js";

const [COLUMNS, LATE, RUNS_EVERY] = [480, 3, 30];

/** What a page may ask for, for as long as it is shown. @param {AbortSignal} leaving @returns {Live} */
export function liveView(leaving) {
  return {
    onTick: (listener) => on("tick", listener, leaving),
    onDecisions: (listener) => on("decisions", listener, leaving),
    onPod: (pod, listener) => watch(pod, listener, leaving),
  };
}

/**
 * @param {() => View} view @param {() => void} moved pages have to look again @param {(error: Refused) => void} ousted nobody is let in any more
 * @returns {{state: HTMLElement, banner: HTMLElement}}
 */
export function liveFrame(view, moved, ousted) {
  const words = h("button", { type: "button", class: "quiet", title: "follow the present (l)" });
  const late = h("div");
  const gaps = h("div");
  const forever = new AbortController().signal;
  let [now, asked, stream, said, trouble, silence] = [view().run.end, performance.now(), "", "", "", 0];

  function draw() {
    const age = Math.round((performance.now() - state.heard) / 1000 + (trouble ? silence : 0));
    const { error } = state;
    const isLate = !document.hidden && (age > LATE || (error instanceof Refused && error.status > 0));
    const { run, to } = view();
    fill(words, `live${age > 1 ? ` · ${age} s ago` : ""}`);
    words.classList.toggle("bad", isLate);
    words.setAttribute("aria-pressed", `${to >= run.end}`);
    if (error instanceof Refused && error.status === 401) ousted(error);
    const refused = error instanceof Refused && error.status ? error : null;
    const why = refused?.message ?? (error ? "the server does not answer" : trouble || "nothing comes");
    fill(late, isLate && refused?.status === 403 && errorBox(refused, retry), isLate && refused?.status !== 403 && h("p", {}, h("strong", {}, `What is shown is ${age} s old: `), `${why}. `,
      error !== null && [`It is asked again in ${Math.max(0, Math.round((state.again - performance.now()) / 1000))} s. `, h("button", { type: "button", class: "quiet", click: retry }, "Ask now")]));
    if (said !== (isLate ? why : "")) announce(isLate ? `What is shown gets old: ${why}` : "live again");
    said = isLate ? why : "";
  }

  async function askRuns() {
    asked = performance.now();
    const known = await ask(["runs"]).catch(() => null);
    const fresh = known?.runs.find((/** @type {{id: string}} */ { id }) => id === view().run.id);
    if (fresh) Object.assign(view().run, fresh, { end: Math.max(view().run.end, fresh.end) });
  }

  /** @param {{lost: number | null, from: number | null, to: number, why: string}} gap */
  function tell({ lost, from, to, why }) {
    const when = from === null ? `until ${clock(to)}` : `between ${clock(from)} and ${clock(to)}`;
    const text = `${lost === null ? "What happened" : lost === 1 ? "1 event" : `${count(lost)} events`} ${when} ${lost === 1 ? "is" : "are"} missing: ${why}. `;
    const line = h("p", { class: "gap" }, text, h("button", { type: "button", class: "quiet", click: () => line.remove() }, "Close"));
    gaps.append(line);
    while (gaps.childElementCount > 3) gaps.firstChild?.remove();
    announce(text);
  }

  on("hello", (hello) => {
    const [name] = hello.sequence.split(":");
    if (stream && name && name !== stream) tell({ lost: null, from: now, to: hello.now, why: "the server began anew" });
    stream = name || stream;
    void askRuns().then(moved);
  }, forever);
  on("gap", tell, forever);
  on("tick", (tick) => {
    ({ now, trouble, silent_seconds: silence } = tick);
    const { run, from, to } = view();
    if (performance.now() - asked > RUNS_EVERY * 1000) void askRuns();
    const column = ((to >= run.end ? to - from : run.end - run.begin) / COLUMNS) / 4;
    if (now - run.end < Math.max(1, column) - 0.1) return;
    run.end = now;
    moved();
  }, forever);
  setInterval(draw, 1000);
  draw();
  return { state: words, banner: h("div", { class: "notes" }, late, gaps) };
}
