// Elements. Text is always set as text, because names in archives are untrusted data.

/** el("button", {class: "x", onclick: f, "aria-label": "…"}, "text", child, …) */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(4)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren(...children.flat(4).filter((c) => c !== undefined && c !== null && c !== false));
  return element;
}

export const byId = (id) => document.getElementById(id);

/** Names and values in two columns. */
export function facts(pairs) {
  return el("dl", { class: "facts" },
    pairs.filter(([, value]) => value !== undefined && value !== null && value !== "")
      .map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

export const section = (title, ...children) => el("section", {}, el("h3", {}, title), ...children);

export const say = (text) => { byId("status").textContent = text; };
