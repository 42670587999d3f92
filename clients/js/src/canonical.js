/** Canonical forms: the text of a document that is hashed. */

import { JsonNumber, checkExact, numberText } from "./number.js";

/** @typedef {import("./json.js").Json} Json */
/** @typedef {import("./json.js").JsonObject} JsonObject */
/** @typedef {import("./number.js").Profile} Profile */

/** @type {readonly Profile[]} Every profile, the default first. */
export const PROFILES = Object.freeze(["vrf", "jcs", "py-utf8", "py-ascii"]);

/** @type {Readonly<Record<string, string>>} */
const SHORT = { '"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r" };

/**
 * The canonical text of a value. Its UTF-8 is what is hashed.
 *
 * @param {Json} value
 * @param {Profile} [profile]
 * @param {string} [leftOut] a member that is left out, at the top only
 * @returns {string}
 * @throws {import("./refused.js").Refused} when the profile cannot write a number; `vrf` never does
 */
export function canonical(value, profile = "vrf", leftOut) {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return quoted(value, profile);
  if (value instanceof JsonNumber) return numberText(value, profile);
  if (Array.isArray(value)) return `[${value.map(item => canonical(item, profile)).join(",")}]`;
  const members = [...value].filter(([name]) => name !== leftOut);
  members.sort(([left], [right]) => (profile === "jcs" ? byUnit(left, right) : byCodePoint(left, right)));
  return `{${members.map(([name, item]) => `${quoted(name, profile)}:${canonical(item, profile)}`).join(",")}}`;
}

/**
 * The document on one line: members in document order, numbers as written.
 *
 * @param {Json} value
 * @returns {string}
 */
export function toText(value) {
  if (Array.isArray(value)) return `[${value.map(toText).join(",")}]`;
  if (!(value instanceof Map)) return canonical(value);
  return `{${[...value].map(([name, item]) => `${quoted(name, "vrf")}:${toText(item)}`).join(",")}}`;
}

/**
 * Refuses a document with a number that the canonical form does not keep.
 *
 * @param {Json} value @param {Profile} profile
 */
export function checkNumbers(value, profile) {
  if (value instanceof JsonNumber) checkExact(value, profile);
  else if (Array.isArray(value)) value.forEach(item => checkNumbers(item, profile));
  else if (value instanceof Map) value.forEach(item => checkNumbers(item, profile));
}

/** RFC 8785, section 3.2.3. @param {string} left @param {string} right */
function byUnit(left, right) {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** @param {string} left @param {string} right */
function byCodePoint(left, right) {
  const length = Math.min(left.length, right.length);
  for (let at = 0; at < length; at++) {
    const difference = rank(left.charCodeAt(at)) - rank(right.charCodeAt(at));
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

/** Surrogates stand for what is beyond U+FFFF. @param {number} unit */
function rank(unit) {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** @param {string} text @param {Profile} profile */
function quoted(text, profile) {
  // Without the flag `u`, as UTF-16 units: Python escapes each half of a pair.
  const escaped = profile === "py-ascii" ? /["\\]|[^ -~]/g : /["\\\u0000-\u001f]/g;
  return `"${text.replace(escaped, unit => SHORT[unit] ?? `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)}"`;
}
