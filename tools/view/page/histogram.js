// A histogram, as a picture with a text for screen readers.
import { palette } from "./colors.js";
import { el } from "./dom.js";
import { numberText } from "./text.js";

export function histogram(numbers, height = 90) {
  const w = 300;
  const canvas = el("canvas", { class: "histogram", width: 2 * w, height: 2 * height, role: "img",
    "aria-label": `Histogram of ${numbers.count} numbers from ${numberText(numbers.low)} to ${numberText(numbers.high)}` });
  const context = canvas.getContext("2d"), colors = palette();
  context.scale(2, 2);
  // Square roots make rare values visible, too.
  const most = Math.sqrt(Math.max(1, ...numbers.bins));
  const step = w / numbers.bins.length;
  const zero = numbers.high > numbers.low ? ((0 - numbers.low) / (numbers.high - numbers.low)) * w : -1;
  context.fillStyle = colors.product;
  numbers.bins.forEach((count, i) => {
    const h = count > 0 ? Math.max(1, (Math.sqrt(count) / most) * (height - 6)) : 0;
    context.fillRect(i * step, height - h, Math.max(0.5, step - 0.6), h);
  });
  context.fillStyle = colors.line;
  context.fillRect(0, height - 1, w, 1);
  if (zero >= 0 && zero <= w) {
    context.fillStyle = colors.soft;
    context.globalAlpha = 0.5;
    context.fillRect(zero, 0, 1, height);
  }
  return el("figure", {}, canvas, el("figcaption", {}, el("span", {}, numberText(numbers.low)), el("span", {}, "heights are roots of counts"), el("span", {}, numberText(numbers.high))));
}
