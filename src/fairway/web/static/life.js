// The life of a pod in a line: where it waited, when it was tried, when it had its node. Waiting and running have scales of
// their own, since pods wait for seconds and run for hours.

import { sideways } from "./axis.js";
import { h } from "./dom.js";
import { legend } from "./lines.js";
import { table } from "./table.js";
import { clock, length } from "./words.js";

/** @typedef {{attempt: number, timeSeconds: number, outcome: string, node: string | null}} Attempt */

const TINTS = /** @type {Record<string, number>} */ ({ active: 0, in_flight: 6, backoff: 4, unschedulable: 1, gated: 5, waiting: 7, starting: 3, running: 2 });

/**
 * @param {Record<string, any>} story as the API has it @param {number} end of the run @param {number | undefined} at the moment that is looked at
 * @param {{open: (attempt: Attempt) => void, look: (at: number) => void, step: (by: number) => void}} does
 */
export function life(story, end, at, { open, look, step }) {
  const over = story.endedSeconds ?? end;
  const placed = story.boundSeconds ?? over;
  /** @type {Attempt[]} */
  const attempts = story.attempts;
  const stays = staysOf(story, placed, over);
  /** @param {number} from @param {number} to @param {boolean} isLast @param {string} kind */
  const track = (from, to, isLast, kind) => {
    /** @param {string} name @param {number} begin @param {number} until @param {Record<string, any>} more */
    const piece = (name, begin, until, more) => {
      const made = h("i", { class: name, title: more.title, click: more.click });
      made.style.left = `${((begin - from) / (to - from)) * 100}%`;
      made.style.background = more.tint;
      if (until > begin) made.style.width = `${((until - begin) / (to - from)) * 100}%`;
      return made;
    };
    const line = h("div", { class: "life", click: (/** @type {MouseEvent} */ event) => {
      const { left, width } = line.getBoundingClientRect();
      look(from + ((event.clientX - left) / width) * (to - from));
    } }, ...stays.filter((stay) => stay.from >= from && stay.to <= to).map((stay) => piece("", stay.from, stay.to, { tint: `var(--c${TINTS[stay.name] ?? 7})`, title: `${stay.name}, ${length(stay.to - stay.from)}` })),
    ...attempts.filter(({ timeSeconds }) => timeSeconds <= to && (timeSeconds > from || kind === "waited")).map((one) => piece("tick", one.timeSeconds, 0, { tint: "",
      title: `attempt ${one.attempt} at ${clock(one.timeSeconds, true)}: ${one.outcome}`, click: (/** @type {Event} */ event) => { event.stopPropagation(); open(one); } })),
    at !== undefined && at >= from && (at < to || isLast) && piece("now", Math.min(at, to), 0, { title: clock(at, true) }));
    return to > from && h("div", { class: kind }, line, h("small", {}, `${clock(from)} – ${clock(to)} · ${kind} ${length(to - from)}`));
  };
  const names = Object.keys(TINTS).filter((name) => stays.some((stay) => stay.name === name));
  const rows = [...stays.map(({ name, from, to }) => ({ from, cells: [clock(from, true), name, length(to - from)] })),
    ...attempts.map((one) => ({ from: one.timeSeconds, cells: [clock(one.timeSeconds, true), `attempt ${one.attempt}`, `${one.outcome} ${one.node ?? ""}`] }))];
  return [
    legend([...names, "attempts"], [...names.map((name) => () => `var(--c${TINTS[name]})`), () => "var(--ink)"]),
    h("div", { class: "lives", role: "img", tabindex: 0, "aria-label": story.headline, keydown: (/** @type {KeyboardEvent} */ event) => step(sideways(event)) }, track(story.createdSeconds, placed, over <= placed, "waited"), track(placed, over, true, "had its node")),
    h("details", {}, h("summary", {}, "the same as a table"), table(["time", "what", "how"], rows.sort((one, other) => one.from - other.from).slice(0, 400).map(({ cells }) => cells), { total: rows.length, words: [1, 2] })),
  ];
}

/** Where it was, one after the other. @param {Record<string, any>} story @param {number} placed @param {number} over */
function staysOf(story, placed, over) {
  /** @type {{timeSeconds: number, place: string | null}[]} */
  const moves = story.stays.length ? story.stays : [{ timeSeconds: story.createdSeconds, place: "waiting" }];
  const stays = moves.map(({ timeSeconds, place }, number) => ({ name: place ?? "waiting", from: timeSeconds, to: Math.min(moves[number + 1]?.timeSeconds ?? placed, placed) }));
  const started = story.startedSeconds ?? over;
  return [...stays, { name: "starting", from: placed, to: started }, { name: "running", from: started, to: over }].filter(({ from, to }) => to > from);
}
