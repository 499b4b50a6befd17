// The colours of the canvas: the style sheet's colours, and a scale for amounts.

const kNames = ["back", "panel", "ink", "soft", "faint", "line", "card", "group", "group2", "accent", "edge", "warm",
  "product", "attention", "pointwise", "reduce", "move", "control", "quantize", "other", "input", "changed", "removed", "added"];

export function palette() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(kNames.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

const channels = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

/** Between two colours of six digits. */
export function mixed(a, b, share) {
  const from = channels(a), to = channels(b);
  return `rgb(${from.map((c, i) => Math.round(c + (to[i] - c) * share)).join(" ")})`;
}

export const isDark = () => document.documentElement.dataset.theme === "dark";

export function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  document.dispatchEvent(new CustomEvent("theme"));
}

export function firstTheme() {
  const query = matchMedia("(prefers-color-scheme: dark)");
  setTheme(query.matches ? "dark" : "light");
  query.addEventListener("change", () => setTheme(query.matches ? "dark" : "light"));
}
