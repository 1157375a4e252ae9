// What a page looks like in this browser; see browser_check.py. Colours and sizes are as they come out.
"use strict";
for (const one of document.querySelectorAll("details")) one.open = true;
const luminance = ([r, g, b]) => [r, g, b].map(v => v / 255)
  .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const rgba = text => (text.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
const contrast = (a, b) => {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
};
const ground = element => {
  for (let e = element; e; e = e.parentElement) {
    const colour = rgba(getComputedStyle(e).backgroundColor);
    if (colour.length < 4 || colour[3] > 0) return colour;
  }
  return [255, 255, 255];
};
const shown = element => element.getClientRects().length > 0;
const found = {
  width: innerWidth, scroll: document.documentElement.scrollWidth, small: [], faint: [], thin: [], out: [], overlaps: [],
  boxes: [],
};
for (const element of document.querySelectorAll("body *:not(script)")) {
  const words = [...element.childNodes].filter(n => n.nodeType === 3).map(n => n.data.trim()).join(" ").trim();
  if (!words || !shown(element) || element.tagName === "title") continue;
  const style = getComputedStyle(element), isDrawn = element instanceof SVGElement;
  const size = parseFloat(style.fontSize) * (isDrawn ? element.getScreenCTM().a : 1);
  if (size < 11) found.small.push(`${words}: ${size}`);
  const ratio = contrast(rgba(isDrawn ? style.fill : style.color), ground(element));
  if (ratio < 4.5) found.faint.push(`${words}: ${ratio.toFixed(2)}`);
  const card = element.closest(".part, .cards > div"), box = element.getBoundingClientRect();
  const edge = card ? card.getBoundingClientRect().right : innerWidth;
  if (!element.closest(".wide") && box.right > edge + 1) found.out.push(words);
}
for (const plot of document.querySelectorAll("svg.plot")) {
  const labels = [...plot.querySelectorAll("text")].filter(shown).map(t => [t.textContent, t.getBoundingClientRect()]);
  labels.forEach(([a, p], i) => labels.slice(i + 1).forEach(([b, q]) => {
    const isBeside = p.left >= q.right - 1 || q.left >= p.right - 1, isAbove = p.top >= q.bottom - 2 || q.top >= p.bottom - 2;
    if (!isBeside && !isAbove) found.overlaps.push(`${a} | ${b}`);
  }));
}
for (const line of document.querySelectorAll(".line, .grid, .axis, .mark, .spread")) {
  const ratio = contrast(rgba(getComputedStyle(line).stroke), ground(line));
  if (ratio < 3) found.thin.push(`${line.getAttribute("class")}: ${ratio.toFixed(2)}`);
}
for (const bar of document.querySelectorAll("svg.bars rect, svg.rows rect")) {
  const ratio = contrast(rgba(getComputedStyle(bar).fill), ground(bar));
  if (ratio < 3) found.thin.push(`bar: ${ratio.toFixed(2)}`);
}
for (const box of document.querySelectorAll(".wide"))
  found.boxes.push({ scrolls: box.scrollWidth > box.clientWidth + 1, focus: box.tabIndex });
found.widths = [...new Set([...document.querySelectorAll("polyline.line")].map(l => getComputedStyle(l).strokeWidth))];
found.dark = matchMedia("(prefers-color-scheme: dark)").matches;
const note = parent.document.createElement("pre");
note.id = "measured";
note.textContent = JSON.stringify(found);
parent.document.body.append(note);
