// Light, dark, or as the system has it; and the colours of the moment, for what is drawn on a canvas.

const KEPT = "fairway-theme";
const CHOICES = /** @type {const} */ (["system", "light", "dark"]);
const DARK = matchMedia("(prefers-color-scheme: dark)");

/** @type {Map<string, string>} */
const colours = new Map();
/** @type {Set<() => void>} */
const listeners = new Set();
let choice = CHOICES.find((one) => one === localStorage.getItem(KEPT)) ?? "system";

/** Called when colours are others. @param {() => void} listener @param {AbortSignal} [signal] */
export function onTheme(listener, signal) {
  listeners.add(listener);
  signal?.addEventListener("abort", () => listeners.delete(listener));
}

export function isDark() {
  return choice === "dark" || (choice === "system" && DARK.matches);
}

/** The next of light, dark, as the system; says which it is now. */
export function nextTheme() {
  choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length] ?? "system";
  localStorage.setItem(KEPT, choice);
  apply();
  return choice === "system" ? "as the system" : choice;
}

export function apply() {
  const dark = document.getElementById("dark");
  dark?.setAttribute("media", choice === "system" ? "(prefers-color-scheme: dark)" : choice === "dark" ? "all" : "not all");
  document.documentElement.style.colorScheme = choice === "system" ? "light dark" : choice;
  colours.clear();
  for (const listener of listeners) listener();
}

/** A colour of the style sheets by its variable: `ink`, `c0`. @param {string} name */
export function colour(name) {
  let found = colours.get(name);
  if (!found) {
    found = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
    colours.set(name, found);
  }
  return found;
}

/** The colour of the nth of several things. @param {number} number */
export function nth(number) {
  return colour(`c${number % 8}`);
}

/** Colours of a share from 0 to 1, by lightness, as red, green, blue, in 255 steps after that of nothing. @param {string[]} [names] of colours on the way */
export function ramp(names = ["h0", "h1", "h2", "h3", "h4", "h5"]) {
  const stops = names.map((name) => {
    const text = colour(name);
    return [1, 3, 5].map((place) => Number.parseInt(text.slice(place, place + 2), 16));
  });
  return Array.from({ length: 255 }, (_, step) => {
    const place = (step / 254) * (stops.length - 1);
    const low = Math.min(Math.floor(place), stops.length - 2);
    const [one, other] = [stops[low] ?? [], stops[low + 1] ?? []];
    return one.map((value, part) => Math.round(value + ((other[part] ?? 0) - value) * (place - low)));
  });
}

DARK.addEventListener("change", apply);
