// What a scheduler at work does, as it tells it: one stream a tab. When it breaks off it is asked for again, from where
// it was; it rests while nobody looks. Pages hear of it by way of their view, the frame by `on`.

import { opened } from "./api.js";

const [SILENCE, LONGEST] = [10_000, 30];

/** @type {Map<string, Set<(data: any) => void>>} */
const listeners = new Map();
/** Pods that pages watch, each as often as somebody does. @type {string[]} */
let pods = [];
/** Messages that have no word of their own to resume from: they belong to the next one that has. @type {[string, any][]} */
let early = [];
let [after, delay, timer, guard] = ["", 1, 0, 0];
let reading = new AbortController();

/** How it goes: when something came last, why nothing does, and when it is asked for again; times of `performance.now`. */
export const state = { heard: performance.now(), error: /** @type {unknown} */ (null), again: 0 };

/** @param {"hello" | "tick" | "decisions" | "pod" | "gap"} name @param {(data: any) => void} listener @param {AbortSignal} leaving */
export function on(name, listener, leaving) {
  const all = listeners.get(name) ?? new Set();
  listeners.set(name, all.add(listener));
  leaving.addEventListener("abort", () => all.delete(listener));
}

/** What is told of one pod. @param {string} pod `namespace/name` @param {(told: any) => void} listener @param {AbortSignal} leaving */
export function watch(pod, listener, leaving) {
  pods.push(pod);
  on("pod", (told) => { if (`${told.what.pod?.namespace}/${told.what.pod?.name}` === pod) listener(told); }, leaving);
  leaving.addEventListener("abort", () => { pods.splice(pods.indexOf(pod), 1); });
  retry();
}

/** Ask now, whatever was waited for. */
export function retry() {
  clearTimeout(timer);
  clearTimeout(guard);
  reading.abort();
  if (!document.hidden) timer = setTimeout(read);
}

/** Begin; once. */
export function follow() {
  document.addEventListener("visibilitychange", retry);
  retry();
}

async function read() {
  const own = new AbortController();
  reading = own;
  early = [];
  try {
    const listen = () => {
      clearTimeout(guard);
      guard = setTimeout(() => own.abort("nothing comes any more"), SILENCE);
    };
    listen();
    const { body } = await opened(["stream"], { after, pod: [...new Set(pods)].slice(0, 20) }, own.signal);
    const reader = /** @type {ReadableStream<Uint8Array>} */ (body).getReader();
    const words = new TextDecoder();
    for (let rest = ""; ;) {
      const { done, value } = await reader.read();
      if (done) throw new Error("the stream has ended");
      listen();
      const parts = (rest + words.decode(value, { stream: true })).split("\n\n");
      rest = parts.pop() ?? "";
      parts.forEach(take);
    }
  } catch (error) {
    if (reading !== own || (own.signal.aborted && typeof own.signal.reason !== "string")) return;
    clearTimeout(guard);
    Object.assign(state, { error, again: performance.now() + delay * 1000 });
    timer = setTimeout(read, delay * 1000);
    delay = Math.min(2 * delay, LONGEST);
  }
}

/** @param {string} text one message */
function take(text) {
  const fields = Object.fromEntries(text.split("\n").map((line) => line.split(/: (.*)/s)));
  if (!fields.event) return;
  Object.assign(state, { heard: performance.now(), error: null });
  delay = 1;
  early.push([fields.event, JSON.parse(fields.data)]);
  if (!fields.id) return;
  after = fields.id;
  for (const [name, data] of early.splice(0)) for (const listener of listeners.get(name) ?? []) listener(data);
}
