// Questions to the server. The token came in the part of the URL that is never sent; it is kept for this tab alone. That
// of a cluster, which somebody typed in, is kept nowhere: whoever loads the page again is asked again.

const BASE = "/fairway/api/v1";
const TOKEN = "fairway-token";
const AT_ONCE = 8;

/** What can not be answered: the server's sentence, and what to do. */
export class Refused extends Error {
  /** @param {number} status @param {string} code @param {string} message @param {string} hint */
  constructor(status, code, message, hint) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }
}

/** Take the token out of the URL, so that nobody copies it along. */
export function takeToken() {
  const found = /(?:^#|&)token=([^&]+)/.exec(location.hash);
  if (!found) return;
  sessionStorage.setItem(TOKEN, found[1] ?? "");
  history.replaceState(null, "", location.pathname + location.search);
}

let typed = "";

/** @param {string} token @param {boolean} isKept it is this server's alone */
export function setToken(token, isKept) {
  if (isKept) sessionStorage.setItem(TOKEN, token);
  else typed = token;
}

/** @param {Record<string, string | number | string[] | boolean | null | undefined>} values */
function query(values) {
  const made = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (Array.isArray(value)) for (const one of value) made.append(name, one);
    else if (value !== null && value !== undefined && value !== "") made.set(name, `${value}`);
  }
  return made.size ? `?${made}` : "";
}

let underWay = 0;
/** @type {(() => void)[]} */
const line = [];

/** @param {string} path @param {AbortSignal} [signal] @returns {Promise<Response>} */
async function fetched(path, signal) {
  if (underWay < AT_ONCE) underWay += 1;
  else await new Promise((resolve) => line.push(() => resolve(null)));
  try {
    signal?.throwIfAborted();
    const headers = { Authorization: `Bearer ${typed || (sessionStorage.getItem(TOKEN) ?? "")}` };
    const response = await fetch(BASE + path, { headers, signal }).catch((error) => {
      if (signal?.aborted) throw error;
      throw new Refused(0, "no_server", "the server does not answer", "it may have been ended: start fairway ui again, or try again");
    });
    if (response.ok) return response;
    const said = await response.json().catch(() => null);
    const { code = "failed", message = `the server answered ${response.status}`, hint = "" } = said?.error ?? {};
    throw new Refused(response.status, code, message, hint);
  } finally {
    const next = line.shift();
    if (next) next();
    else underWay -= 1;
  }
}

/** What is read as it comes. @param {(string | number)[]} parts @param {Record<string, any>} values @param {AbortSignal} [signal] */
export function opened(parts, values, signal) {
  return fetched(parts.map((part) => `/${encodeURIComponent(part)}`).join("") + query(values), signal);
}

/**
 * A JSON answer. Parts of the path are percent-encoded.
 * @param {(string | number)[]} parts @param {Record<string, any>} [values] @param {AbortSignal} [signal] @returns {Promise<any>}
 */
export async function ask(parts, values = {}, signal) {
  return (await opened(parts, values, signal)).json();
}

/**
 * Bytes, such as a tile.
 * @param {(string | number)[]} parts @param {Record<string, any>} [values] @param {AbortSignal} [signal]
 */
export async function bytes(parts, values = {}, signal) {
  return new Uint8Array(await (await opened(parts, values, signal)).arrayBuffer());
}
