/** Reads the members of one object, naming the place of what is missing or of the wrong type. */

import { JsonNumber } from "./number.js";
import { Refused } from "./refused.js";
import { shown, unhex } from "./text.js";

/** @typedef {import("./json.js").Json} Json */
/** @typedef {import("./json.js").JsonObject} JsonObject */

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

export class Members {
  /**
   * @param {JsonObject} object
   * @param {string} [path] how places in it begin, as in `results.`
   */
  constructor(object, path = "") {
    this.members = object;
    this.path = path;
  }

  /** @param {Json} document */
  static top(document) {
    if (document instanceof Map) return new Members(document);
    throw wrongType("document", "an object", typeName(document));
  }

  /** @param {string} name */
  object(name) {
    return this.optionalObject(name) ?? this.missing(name);
  }

  /** @param {string} name */
  optionalObject(name) {
    const value = this.members.get(name);
    if (value === undefined) return undefined;
    if (value instanceof Map) return new Members(value, `${this.path}${name}.`);
    throw wrongType(this.path + name, "an object", typeName(value));
  }

  /**
   * The objects of an array, each read when it is reached.
   *
   * @param {string} name
   * @returns {Generator<Members, void>}
   */
  *objects(name) {
    const items = this.required(name);
    if (!Array.isArray(items)) throw wrongType(this.path + name, "an array", typeName(items));
    for (const [index, item] of items.entries()) {
      const place = `${this.path}${name}[${index}]`;
      if (!(item instanceof Map)) throw wrongType(place, "an object", typeName(item));
      yield new Members(item, `${place}.`);
    }
  }

  /**
   * Refuses members other than these: no signature covers them.
   *
   * @param {readonly string[]} names
   */
  only(names) {
    for (const name of this.members.keys()) {
      if (names.includes(name)) continue;
      throw new Refused("unsigned_member", `\`${this.path}${name}\` is not covered by the signature`, { help: "remove it" });
    }
  }

  /** @param {string} name */
  string(name) {
    const value = this.required(name);
    if (typeof value === "string") return value;
    throw wrongType(this.path + name, "a string", typeName(value));
  }

  /** @param {string} name */
  optionalString(name) {
    return this.members.has(name) ? this.string(name) : undefined;
  }

  /** @param {string} name */
  number(name) {
    const value = this.required(name);
    if (value instanceof JsonNumber) return value;
    throw wrongType(this.path + name, "an integer", typeName(value));
  }

  /** @param {string} name @returns {bigint} */
  count(name) {
    const number = this.number(name), place = this.path + name;
    if (!number.isInteger) throw notAnInteger(place);
    if (number.count !== null) return number.count;
    const message = `\`${place}\` is ${shown(number.text)}, expected an integer from 0 to 2^64−1`;
    throw new Refused("count_out_of_range", message);
  }

  /** @param {string} name */
  optionalCount(name) {
    return this.members.has(name) ? this.count(name) : undefined;
  }

  /** @param {string} name */
  digest(name) {
    const text = this.string(name);
    if (isDigest(text)) return text;
    const message = `\`${this.path}${name}\`: \`${shown(text)}\` is not a SHA-256 digest`;
    throw new Refused("invalid_hash", message, { help: "write `sha256:` and 64 lower-case hex digits" });
  }

  /** @param {string} name */
  optionalDigest(name) {
    return this.members.has(name) ? this.digest(name) : undefined;
  }

  /** @param {string} name */
  timestamp(name) {
    const text = this.string(name);
    if (unixMillis(text) !== null) return text;
    const message = `\`${this.path}${name}\`: \`${shown(text)}\` is not an ISO 8601 time in UTC`;
    throw new Refused("invalid_timestamp", message, { help: "write it as in `2026-02-19T00:46:00Z`" });
  }

  /**
   * One of some words.
   *
   * @param {string} name @param {string} what @param {readonly string[]} words
   */
  word(name, what, words) {
    const found = this.string(name);
    if (words.includes(found)) return found;
    const message = `\`${this.path}${name}\`: unknown ${what} \`${shown(found)}\``;
    throw new Refused(`unknown_${what}`, message, { help: `write one of ${words.map(word => `\`${word}\``).join(", ")}` });
  }

  /** @param {string} name @param {string} what @param {readonly string[]} words */
  optionalWord(name, what, words) {
    return this.members.has(name) ? this.word(name, what, words) : undefined;
  }

  /** @param {string} name @returns {Json} */
  required(name) {
    const value = this.members.get(name);
    return value === undefined ? this.missing(name) : value;
  }

  /** @param {string} name @returns {never} */
  missing(name) {
    throw new Refused("missing_field", `missing field \`${this.path}${name}\``);
  }
}

/** @param {string} place */
export function notAnInteger(place) {
  return wrongType(place, "an integer", "number with a fraction or exponent");
}

/** @param {string} place @param {string} expected @param {string} found */
function wrongType(place, expected, found) {
  return new Refused("wrong_type", `\`${place}\`: expected ${expected}, found ${found}`);
}

/** @param {Json} value */
function typeName(value) {
  if (value === null) return "null";
  if (value instanceof JsonNumber) return "number";
  if (Array.isArray(value)) return "array";
  return value instanceof Map ? "object" : typeof value;
}

/** @param {string} text */
export function isDigest(text) {
  return text.startsWith("sha256:") && unhex(text.slice(7), 32) !== null;
}

/**
 * Milliseconds since 1970 of an instant in UTC, finer fractions cut off; null unless it is one, on the calendar.
 *
 * @param {string} text
 */
export function unixMillis(text) {
  const parts = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|\+00:00)$/.exec(text);
  if (!parts) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.slice(1, 7).map(Number);
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = month === 2 && leap ? 29 : (DAYS[month - 1] ?? 0);
  if (year < 1 || day < 1 || day > days || hour > 23 || minute > 59 || second > 59) return null;
  return Date.parse(`${text.slice(0, 19)}.${(parts[7] ?? "").slice(0, 3).padEnd(3, "0")}Z`);
}

/**
 * A UUID version 4 in lower case; null for any other text.
 *
 * @param {string} text in either case
 */
export function receiptId(text) {
  const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
  return pattern.test(text) ? text.toLowerCase() : null;
}
