// What modules of the pages agree on. Types of the API's answers are in answers.d.ts, which is made of the server's own.

import type { KnownRun } from "./answers.d.ts";

declare global {
  /** What an element may hold: text is shown as it is, nothing is parsed. */
  type Child = Node | string | number | null | undefined | false | Child[];

  /** What a page is shown with. */
  interface View {
    readonly main: HTMLElement;
    /** Aborted when the page is left. */
    readonly signal: AbortSignal;
    readonly run: KnownRun;
    readonly runs: KnownRun[];
    readonly args: string[];
    /** What the URL says, read anew at every look. */
    readonly query: URLSearchParams;
    /** The stretch that all pages look at, within the run. */
    readonly from: number;
    readonly to: number;
    /** The moment that all pages look at. */
    readonly at: number;
    /** What a scheduler at work tells, until the page is left; null for recorded runs. `run.end`, and with it a stretch
     * that reaches it, moves by itself then: the page is told as of any other move. */
    readonly live: Live | null;
  }

  interface Live {
    /** How it stands, each second. */
    onTick(listener: (tick: Tick) => void): void;
    /** The latest attempts, at most four times a second. */
    onDecisions(listener: (told: ToldDecisions) => void): void;
    /** Whatever is told of a pod, named `namespace/name`: `what.kind` is attempt, queue, bound, unbound, pod, preempted. */
    onPod(pod: string, listener: (told: { time: number; what: Record<string, any> }) => void): void;
  }

  interface Tick {
    now: number;
    /** Pods by place in the queue. */
    queue: Record<string, number>;
    /** Share held, by resource. */
    utilisation: Record<string, number>;
    /** Attempts so far. */
    placed: number;
    failed: number;
    silent_seconds: number;
    trouble: string;
  }

  interface ToldDecisions {
    /** time_seconds, scheduler, pod, attempt, outcome, node, num_feasible, num_nodes, cycle_seconds, refused_by, refusal */
    columns: Record<string, any[]>;
    num_rows: number;
    /** So many came besides, before them. */
    more: number;
  }

  /** A page: draws itself once, and returns what to do when stretch, moment or anything else in the URL changes. */
  interface Page {
    readonly title: string;
    show(view: View): (() => void) | void;
  }
}

export {};
