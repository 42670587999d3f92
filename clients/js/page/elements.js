/** Elements of the page. Text from outside becomes text, never markup. */

import { pieces } from "./visible.js";

/** Of a longer text only so much is shown at once. */
const MAX_CHARACTERS = 4000;
const SVG = "http://www.w3.org/2000/svg";

/** @typedef {Node | string | null | undefined | false} Child */

/**
 * @param {string} name
 * @param {Record<string, string | boolean | ((event: Event) => void)>} [attributes] functions are listeners
 * @param {Child[]} children
 * @returns {HTMLElement}
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(attribute, value);
    else if (value === true) made.setAttribute(attribute, "");
    else if (value !== false) made.setAttribute(attribute, value);
  }
  made.append(...children.filter(child => child !== null && child !== undefined && child !== false));
  return made;
}

/**
 * Text from outside: apart from the text around it, and with what cannot be seen made visible.
 *
 * @param {string} text
 * @param {string} [more] further classes
 */
export function outside(text, more = "") {
  const shown = pieces(text, MAX_CHARACTERS).map(piece =>
    piece.unseen ? element("span", { class: "unseen" }, piece.text) : piece.text);
  const rest = text.length - MAX_CHARACTERS;
  const cut = rest > 0 && element("span", { class: "cut" }, ` … ${rest.toLocaleString("en")} more characters are not shown`);
  return element("bdi", { class: `outside ${more}`.trim() }, ...shown, cut);
}

/** @param {string} name one of the symbols of the page */
export function icon(name) {
  const made = document.createElementNS(SVG, "svg"), use = document.createElementNS(SVG, "use");
  made.setAttribute("class", "icon");
  made.setAttribute("aria-hidden", "true");
  use.setAttribute("href", `#${name}`);
  made.append(use);
  return made;
}

/** @type {Readonly<Record<string, string>>} */
const ICONS = { pass: "ok", fail: "no", wait: "warn", none: "warn", plain: "ring" };

/** A word with a colour: never the colour alone. @param {string} tone @param {string} word */
export function tag(tone, word) {
  return element("span", { class: `tag ${tone}` }, icon(ICONS[tone] ?? "ring"), outside(word));
}

/** A time as it is here, with the text that was signed beside it. @param {string} text */
export function time(text) {
  const found = new Date(text);
  if (Number.isNaN(found.getTime())) return outside(text, "code");
  const local = found.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
  return element("span", {}, element("time", { datetime: found.toISOString() }, local), " here ", outside(text, "code soft"));
}
