// Runs before a page's own scripts and notes what nobody can see afterwards: words that are drawn on canvases with what
// is below them, and which elements wait for clicks and for keys. See every_page.py.
(() => {
  "use strict";
  window.drawnWords = [];
  window.listening = new Map();
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const { getContext } = HTMLCanvasElement.prototype;
  HTMLCanvasElement.prototype.getContext = function (kind, options) {
    return getContext.call(this, kind, { ...options, willReadFrequently: true });
  };
  const { fillText, getImageData } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function (words, x, y, ...more) {
    const { width } = this.measureText(words);
    const { a: scale, e: left, f: top } = this.getTransform();
    const size = Number(/([\d.]+)px/.exec(this.font)?.[1]);
    const begin = x - { start: 0, left: 0, center: width / 2, end: width, right: width }[this.textAlign];
    const middle = y + { top: size / 2, hanging: size / 2, middle: 0, alphabetic: -size / 3, bottom: -size / 2, ideographic: -size / 2 }[this.textBaseline];
    const under = [0.1, 0.3, 0.5, 0.7, 0.9].map((share) => {
      const [red, green, blue, alpha] = getImageData.call(this, (begin + width * share) * scale + left, middle * scale + top, 1, 1).data;
      return `rgb(${red} ${green} ${blue} / ${alpha / 255})`;
    });
    if (words.trim()) {
      window.drawnWords.push({ canvas: this.canvas, words, size, fill: this.fillStyle, alpha: this.globalAlpha, under, isDark: dark.matches });
    }
    fillText.call(this, words, x, y, ...more);
  };
  const { addEventListener } = EventTarget.prototype;
  EventTarget.prototype.addEventListener = function (kind, ...more) {
    if (this instanceof Element) window.listening.set(this, [...(window.listening.get(this) ?? []), kind]);
    return addEventListener.call(this, kind, ...more);
  };
})();
