// Numbers and sizes as readable text.

const kBytes = ["B", "kB", "MB", "GB", "TB"];

export function scaled(value, units) {
  let step = 0;
  while (value >= 999.5 && step + 1 < units.length) {
    value /= 1000;
    ++step;
  }
  const digits = value >= 100 || (step === 0 && Number.isInteger(value)) ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${units[step]}`.trim();
}

export const bytesText = (value) => scaled(value, kBytes);
export const flopsText = (value) => scaled(value, ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"]);
export const countText = (value) => value.toLocaleString("en");

export function timeText(seconds) {
  if (seconds >= 1) return `${seconds.toFixed(2)} s`;
  return scaled(seconds * 1e9, ["ns", "µs", "ms"]);
}

export function numberText(value) {
  if (value === null || value === undefined) return "not finite";
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value);
  return Number(value).toPrecision(4);
}

export const shareText = (part, whole) => (whole > 0 ? `${((100 * part) / whole).toFixed(part / whole < 0.1 ? 1 : 0)} %` : "");

/** "float32 [s0, 64]", and the blocks of a quantized value. */
export function typeText(type) {
  if (!type) return "";
  const blocks = type.block ? ` in ${type.block[0]} × ${type.block[1]}` : "";
  return `${type.dtype} [${type.sizes.join(", ")}]${blocks}`;
}

/** "s0 × 64": a short text for nodes. */
export function shapeText(type) {
  if (!type) return "";
  if (type.sizes.length === 0) return `${type.dtype} scalar`;
  return `${type.dtype}  ${type.sizes.map((s) => (String(s).length > 14 ? "…" : s)).join(" × ")}`;
}

export const plural = (count, word) => `${countText(count)} ${word}${count === 1 ? "" : "s"}`;
