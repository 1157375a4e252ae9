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
  }

  /** A page: draws itself once, and returns what to do when stretch, moment or anything else in the URL changes. */
  interface Page {
    readonly title: string;
    show(view: View): (() => void) | void;
  }
}

export {};
