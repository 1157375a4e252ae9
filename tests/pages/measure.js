// What a page looks like in this browser, a function to be called in it; see browser_check.py and tests/browser. Colours
// and sizes are as they come out: what is see-through is painted over what is below it.
() => {
  "use strict";
  for (const one of document.querySelectorAll("details")) one.open = true;
  const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const mixed = colours => {
    pixel.globalAlpha = 1;
    pixel.fillStyle = "#fff";
    pixel.fillRect(0, 0, 1, 1);
    for (const [colour, opacity] of colours) {
      pixel.fillStyle = "transparent";
      pixel.fillStyle = colour;
      pixel.globalAlpha = opacity;
      pixel.fillRect(0, 0, 1, 1);
    }
    return [...pixel.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const luminance = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => {
    const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (light + 0.05) / (dark + 0.05);
  };
  const outwards = element => {
    const line = [];
    for (let e = element; e; e = e.parentElement) line.push(e);
    return line;
  };
  const grounds = element => outwards(element).reverse().map(e => [getComputedStyle(e).backgroundColor, 1]);
  const opacity = element => outwards(element).reduce((all, e) => all * Number(getComputedStyle(e).opacity), 1);
  /** How far a colour on an element is told from what is behind it. */
  const told = (colour, element, behind = element) => {
    const below = grounds(behind);
    return contrast(mixed([...below, [colour, opacity(element)]]), mixed(below));
  };
  const shown = element => element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0
    && !element.closest(".unseen");
  const scrolls = element => outwards(element.parentElement).some(e => getComputedStyle(e).overflowX !== "visible" && e !== document.body && e !== document.documentElement);
  const brief = words => words.replace(/\s+/g, " ").slice(0, 60);
  const found = {
    width: innerWidth, scroll: document.documentElement.scrollWidth, small: [], faint: [], thin: [], out: [], overlaps: [],
    boxes: [], targets: [],
  };
  for (const element of document.querySelectorAll("body *:not(script)")) {
    const words = [...element.childNodes].filter(n => n.nodeType === 3).map(n => n.data.trim()).join(" ").trim()
      || (element instanceof HTMLInputElement && element.placeholder);
    if (!words || !shown(element) || element.tagName === "title" || element.closest(":disabled")) continue;
    const isEmpty = element instanceof HTMLInputElement && !element.value;
    const style = getComputedStyle(element, isEmpty ? "::placeholder" : null), isDrawn = element instanceof SVGElement;
    const size = parseFloat(style.fontSize) * (isDrawn ? element.getScreenCTM().a : 1);
    if (size < 11) found.small.push(`${brief(words)}: ${size}`);
    const ratio = told(isDrawn ? style.fill : style.color, element);
    if (ratio < 4.5) found.faint.push(`${brief(words)}: ${ratio.toFixed(2)}`);
    const card = element.closest(".part, .cards > div"), box = element.getBoundingClientRect();
    const edge = card ? card.getBoundingClientRect().right : innerWidth;
    if (!scrolls(element) && box.right > edge + 1) found.out.push(brief(words));
  }
  for (const plot of document.querySelectorAll("svg.plot")) {
    const labels = [...plot.querySelectorAll("text")].filter(shown).map(t => [t.textContent, t.getBoundingClientRect()]);
    labels.forEach(([a, p], i) => labels.slice(i + 1).forEach(([b, q]) => {
      const isBeside = p.left >= q.right - 1 || q.left >= p.right - 1, isAbove = p.top >= q.bottom - 2 || q.top >= p.bottom - 2;
      if (!isBeside && !isAbove) found.overlaps.push(`${a} | ${b}`);
    }));
  }
  for (const line of document.querySelectorAll("svg :is(.line, .grid, .axis, .mark, .spread)")) {
    const ratio = told(getComputedStyle(line).stroke, line);
    if (ratio < 3) found.thin.push(`${line.getAttribute("class")}: ${ratio.toFixed(2)}`);
  }
  for (const bar of document.querySelectorAll("svg.bars rect, svg.rows rect")) {
    const ratio = told(getComputedStyle(bar).fill, bar);
    if (ratio < 3) found.thin.push(`bar: ${ratio.toFixed(2)}`);
  }
  // What is told by a filled box, and the edges of what one types into or chooses from.
  for (const mark of document.querySelectorAll(".bar-track > *, .keys-hint i, .box")) {
    const ratio = told(getComputedStyle(mark).backgroundColor, mark, mark.parentElement);
    if (shown(mark) && ratio < 3) found.thin.push(`${mark.className || "bar"}: ${ratio.toFixed(2)}`);
  }
  for (const field of document.querySelectorAll("main :is(input, select, textarea), header :is(input, select)")) {
    const ratio = told(getComputedStyle(field).borderTopColor, field, field.parentElement);
    if (shown(field) && ratio < 3) found.thin.push(`edge of ${field.tagName}: ${ratio.toFixed(2)}`);
  }
  // Targets of 24 pixels, or so far from others that a circle of 24 touches none; links within a sentence are as high as it.
  const controls = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [role='button']")]
    .filter(e => shown(e) && !e.disabled);
  const rooms = controls.map(e => e.getBoundingClientRect());
  controls.forEach((element, place) => {
    const { width, height, left, right, top, bottom } = rooms[place];
    const [x, y] = [(left + right) / 2, (top + bottom) / 2];
    const isInSentence = getComputedStyle(element).display === "inline"
      && [...element.parentElement.childNodes].some(n => n !== element && n.textContent.trim());
    const isNear = rooms.some((other, at) => at !== place && !controls[at].contains(element) && !element.contains(controls[at])
      && Math.hypot(Math.max(other.left - x, x - other.right, 0), Math.max(other.top - y, y - other.bottom, 0)) < 12);
    if (Math.min(width, height) < 23.5 && !isInSentence && isNear)
      found.targets.push(`${element.tagName} ${brief(element.textContent || element.getAttribute("aria-label") || "")}: ${width.toFixed(0)} × ${height.toFixed(0)}`);
  });
  for (const box of document.querySelectorAll(".wide"))
    found.boxes.push({ scrolls: box.scrollWidth > box.clientWidth + 1, focus: box.tabIndex });
  found.widths = [...new Set([...document.querySelectorAll("polyline.line")].map(l => getComputedStyle(l).strokeWidth))];
  found.dark = matchMedia("(prefers-color-scheme: dark)").matches;
  // Words on canvases, as tests/browser/watch.js noted them: the ground is what was drawn before them, or the page.
  for (const { canvas, words, size, fill, alpha, under, isDark } of window.drawnWords ?? []) {
    if (!canvas.isConnected || !shown(canvas) || isDark !== found.dark) continue;
    if (size < 11) found.small.push(`drawn ${brief(words)}: ${size}`);
    const below = grounds(canvas);
    const ratios = under.map(colour => contrast(mixed([...below, [colour, 1], [fill, alpha]]), mixed([...below, [colour, 1]])));
    const ratio = ratios.sort((a, b) => a - b)[Math.floor(ratios.length / 2)] ?? 21;
    if (ratio < 4.5) found.faint.push(`drawn ${brief(words)}: ${ratio.toFixed(2)}`);
  }
  for (const kind of ["small", "faint", "thin", "out", "targets"]) found[kind] = [...new Set(found[kind])];
  return found;
}
