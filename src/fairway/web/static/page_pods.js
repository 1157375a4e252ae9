// Pods: all of them or some, how long they waited, and who refused them last; as they were at the moment.

import { ask } from "./api.js";
import { brief, fill, h } from "./dom.js";
import { filteredTable } from "./filters.js";
import { nodeLink, podLink, podPlace } from "./names.js";
import { part } from "./part.js";
import { change, go } from "./state.js";
import { rowsOf } from "./table.js";
import { clock, count, counted, length, MARKS, plugin } from "./words.js";

/** @type {Page} */
export const page = {
  title: "Pods",
  show(view) {
    const { run, signal } = view;
    const pods = filteredTable(view, { text: null, state: ["waiting", "running", "ended"], "refused-by": null, namespace: null, owner: null, node: null, user: null }, {
      name: "pods",
      sort: "-wait",
      kept: ["at"],
      empty: "there are no such pods: “Show all” takes the filters away",
      ask: (values, stop) => ask(["runs", run.id, "pods"], values, stop),
      open: ({ pod }) => go(podPlace(pod)),
      columns: [
        ["pod", ({ pod }) => podLink(pod), "pod"],
        ["state", ({ state }) => `${MARKS[state]} ${state}`, "state", true],
        ["waited", ({ wait_seconds }) => length(wait_seconds), "wait"],
        ["attempts", ({ attempts }) => count(attempts), "attempts"],
        ["last refusal", ({ refused_by, refusal }) => (refused_by ? `${plugin(refused_by)}: ${refusal}` : refusal), undefined, true],
        ["node", ({ node }) => nodeLink(node), "node", true],
        ["created", ({ created_seconds }) => clock(created_seconds), "created"],
        ["ended", ({ reason }) => reason, "reason", true],
        ["priority", ({ priority }) => count(priority), "priority"],
        ["owner", ({ owner }) => owner && brief(owner), "owner", true],
        ["user", ({ user }) => brief(user), "user", true],
        ["namespace", ({ namespace }) => namespace, "namespace", true],
      ],
    });
    const waits = part(signal, { title: "How long they waited", ask: (stop) => ask(["runs", run.id, "waits"], pods.values(), stop), draw: histogram });
    const when = h("p", { class: "soft" });
    const say = () => fill(when, ...(view.query.get("at") ? [`As they were at ${clock(view.at)}. `, h("button", { type: "button", class: "quiet", click: () => change({ at: null }, true) }, "At the end")] : [run.state === "live" ? "As they are." : "As they were at the end."]));
    say();
    view.live?.onDecisions(({ columns }) => {
      const rows = new Map(pods.table.rows().map((row) => [row.pod, row]));
      for (const { pod, attempt, node, refused_by, refusal } of rowsOf(columns)) {
        const row = rows.get(pod);
        if (row) Object.assign(row, { attempts: attempt }, node ? { node, state: "running" } : { refused_by, refusal });
      }
      pods.table.redraw();
    });
    view.main.append(h("h1", {}, "Pods"), when, pods.controls, waits.element, pods.element);
    return () => {
      if (!pods.update()) return;
      say();
      void waits.refresh();
    };
  },
};

/** Columns of pods by how long they waited; those that have no node on top of the others. @param {import("./answers.d.ts").WaitsAnswer} answer */
function histogram({ up_to, placed, unplaced, waiting }) {
  const most = Math.max(...placed.map((pods, place) => (place ? pods + (unplaced[place] ?? 0) : 1)));
  /** @param {number} pods @param {string} kind */
  const piece = (pods, kind) => {
    const made = h("i", { class: kind });
    made.style.height = `${(pods / most) * 100}%`;
    return made;
  };
  return [
    h("p", {}, `${counted(placed[0] ?? 0, "pod")} got a node at once.`, waiting > 0 && ` ${count(waiting)} had none.`),
    h("ol", { class: "histogram" }, ...up_to.map((to, place) => {
      const [got, still] = [placed[place] ?? 0, unplaced[place] ?? 0];
      return place > 0 && h("li", {}, h("span", {}, got + still > 0 && count(got + still)), h("span", { class: "stack" }, piece(still, "c1"), piece(got, "c0")), h("small", {}, `≤ ${length(to)}`));
    })),
  ];
}
