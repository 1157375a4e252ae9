// Numbers, amounts and times as the commands print them.

const DAY = 86400;
const UNITS = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const NARROW = "\u202f";

/** 20000 as 20 000. @param {number} number */
export function count(number) {
  return `${Math.round(number)}`.replace(/\B(?=(\d{3})+$)/g, NARROW).replace("-", "−");
}

/** 1 pod, 2 pods. @param {number} number @param {string} one @param {string} [many] */
export function counted(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** A number with as many digits as tell something. @param {number} value */
export function short(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1000 || Number.isInteger(value)) return count(value);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.01 ? 3 : 5;
  return `${+value.toFixed(digits)}`.replace("-", "−");
}

/** @param {number | null | undefined} value a share of one */
export function percent(value) {
  if (value === null || value === undefined) return "–";
  const hundred = value * 100;
  return `${hundred !== 0 && Math.abs(hundred) < 10 ? hundred.toFixed(1) : Math.round(hundred)}${NARROW}%`.replace("-", "−");
}

/** A moment of the run's clock: 14:05:09, 2 d 03:12:00. @param {number} seconds @param {boolean} [fine] */
export function clock(seconds, fine = false) {
  if (seconds >= 1e9 && seconds < 1e10) return new Date(Math.floor(seconds) * 1000).toISOString().replace("T", " ").replace(".000", "");
  const whole = Math.floor(seconds);
  const rest = ((whole % DAY) + DAY) % DAY;
  const days = Math.floor(whole / DAY);
  const parts = [Math.floor(rest / 3600), Math.floor((rest % 3600) / 60), rest % 60];
  let text = parts.map((part) => `${part}`.padStart(2, "0")).join(":");
  const part = Math.round((seconds - whole) * 1000);
  if (fine && part > 0 && part < 1000) text += `.${`${part}`.padStart(3, "0")}`.replace(/0+$/, "");
  return days ? `${days} d ${text}` : text;
}

/** How long something took, in its two largest units: 13 m 9 s. @param {number | null | undefined} seconds */
export function length(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds > 0 && seconds < 1) return seconds < 0.001 ? `${short(seconds * 1e6)} µs` : `${short(seconds * 1000)} ms`;
  if (seconds < 60) return `${+seconds.toPrecision(3)} s`;
  const whole = Math.round(seconds);
  const parts = /** @type {[number, string][]} */ ([
    [Math.floor(whole / DAY), "d"], [Math.floor((whole % DAY) / 3600), "h"], [Math.floor((whole % 3600) / 60), "m"], [whole % 60, "s"],
  ]);
  const first = parts.findIndex(([number]) => number);
  return parts.slice(first, first + 2).filter(([number]) => number).map(([number, unit]) => `${number} ${unit}`).join(" ");
}

/** An amount of a resource in the unit people write it in. @param {string} resource @param {number} value */
export function amount(resource, value) {
  if (resource === "cpu") return value % 1000 && Math.abs(value) < 100000 ? `${count(value)}m` : short(value / 1000);
  if (/^(memory|ephemeral-storage|hugepages-)/.test(resource)) {
    let [size, unit] = [value, 0];
    while (Math.abs(size) >= 1024 && unit < 6) [size, unit] = [size / 1024, unit + 1];
    return `${short(size)}${unit ? ` ${UNITS[unit]}` : ""}`;
  }
  return short(value);
}

/** A value in the unit that a curve or a metric has. @param {string} unit @param {number | null | undefined} value */
export function measured(unit, value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (unit === "share" || unit === "%") return percent(unit === "%" ? value / 100 : value);
  if (unit === "s" || unit === "seconds") return length(value);
  if (unit === "s/s") return `${length(value)}/s`;
  if (unit.startsWith("1/")) return `${short(value)}/${unit.slice(2)}`;
  return unit ? `${short(value)} ${unit}` : short(value);
}

/** What went wrong, in its own words. @param {unknown} error */
export function sentence(error) {
  return error instanceof Error ? error.message : `${error}`;
}

/** What the commands call a pod's state, and how a page marks it besides by colour. */
export const MARKS = /** @type {Record<string, string>} */ ({
  placed: "✓", bound: "✓", unschedulable: "✗", error: "!", waiting: "…", running: "▸", ended: "■",
});

/** A plugin's name without the module it is in. @param {string} name */
export function plugin(name) {
  return name.slice(name.lastIndexOf(":") + 1);
}
