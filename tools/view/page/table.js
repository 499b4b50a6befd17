// A long table; the document contains only the visible rows.
import { el, fill } from "./dom.js";

const kRow = 28, kAround = 10;

/** columns: [{name, of(row), class, sort(row)}]. `chosen(row)` is called for a chosen row. Arrow keys move, Enter
 * chooses. */
export function longTable(label, columns, rows, chosen, kindOf = () => "") {
  let order = rows, current = -1, sorted = null, reverse = false;
  const body = el("div", { class: "rows", role: "rowgroup" });
  const space = el("div", { class: "space" }, body);
  const scroll = el("div", { class: "scroll", tabindex: 0, role: "grid", "aria-label": label, "aria-rowcount": rows.length }, space);
  const draw = () => {
    const first = Math.max(0, Math.floor(scroll.scrollTop / kRow) - kAround);
    const last = Math.min(order.length, first + Math.ceil((scroll.clientHeight || 800) / kRow) + 2 * kAround);
    space.style.height = `${order.length * kRow}px`;
    body.style.transform = `translateY(${first * kRow}px)`;
    fill(body, order.slice(first, last).map((row, i) => el("div", { class: `row ${kindOf(row)}`, role: "row", "aria-rowindex": first + i + 1,
      "aria-selected": String(first + i === current), onclick: () => take(first + i) },
    columns.map((c) => el("span", { role: "gridcell", class: c.class }, c.of(row))))));
  };
  const take = (i) => {
    current = i;
    draw();
    chosen(order[i]);
  };
  const move = (i) => {
    current = Math.min(order.length - 1, Math.max(0, i));
    const top = current * kRow;
    if (top < scroll.scrollTop) scroll.scrollTop = top;
    if (top + kRow > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = top + kRow - scroll.clientHeight;
    take(current);
  };
  scroll.addEventListener("scroll", draw);
  scroll.addEventListener("keydown", (e) => {
    const page = Math.floor(scroll.clientHeight / kRow);
    const to = { ArrowDown: current + 1, ArrowUp: current - 1, PageDown: current + page, PageUp: current - page, Home: 0, End: order.length - 1 }[e.key];
    if (to === undefined || order.length === 0) return;
    e.preventDefault();
    move(to);
  });
  const heads = columns.map((c) => el("button", { type: "button", class: c.class, onclick: () => {
    reverse = sorted === c ? !reverse : false;
    sorted = c;
    const key = c.sort ?? c.of;
    order = [...rows].sort((a, b) => {
      const x = key(a), y = key(b);
      return (x < y ? -1 : x > y ? 1 : 0) * (reverse ? -1 : 1);
    });
    heads.forEach((h, i) => h.setAttribute("aria-sort", columns[i] === c ? (reverse ? "descending" : "ascending") : "none"));
    draw();
  } }, c.name));
  new ResizeObserver(draw).observe(scroll);
  return el("div", { class: "table" }, el("div", { class: "row heads" }, heads), scroll);
}
