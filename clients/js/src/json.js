/**
 * A strict reader of JSON (RFC 8259). What two programs could read differently is refused: duplicate keys, lone surrogates,
 * a byte order mark, deep nesting.
 */

import { JsonNumber } from "./number.js";
import { Refused } from "./refused.js";
import { copied, shown, shownCharacter, utf8, validUpTo } from "./text.js";

/** @typedef {import("./text.js").Source} Source */
/** @typedef {Map<string, Json>} JsonObject members in document order */
/** @typedef {null | boolean | string | JsonNumber | Json[] | Map<string, Json>} Json */

/** The largest document, in bytes. */
export const MAX_BYTES = 1 << 20;
/** How many arrays and objects may be inside each other. */
export const MAX_DEPTH = 64;
/** How many values a document may have: as many as fit into the largest one. */
export const MAX_VALUES = MAX_BYTES / 2;

/** Objects of more members say at their end that a name is there twice, as `proofmark` does. */
const FEW_MEMBERS = 16;

/** @type {Readonly<Record<string, string>>} */
const ESCAPES = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
/** @type {ReadonlyMap<string, Json>} */
const LITERALS = new Map([["null", null], ["true", true], ["false", false]]);

/**
 * Reads one document.
 *
 * @param {Source} source
 * @returns {Json} numbers as they are written, objects as maps
 * @throws {Refused} with a code of `docs/receipts.md`, and the line and column
 */
export function parse(source) {
  const [bytes, text] = typeof source === "string" ? [utf8(source), source] : [copied(source), null];
  if (bytes.length > MAX_BYTES) {
    const message = `the document is larger than ${MAX_BYTES} bytes`;
    throw located("too_large", message, "make the document smaller", placeInBytes(bytes, MAX_BYTES));
  }
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    const help = "save it as UTF-8 without a byte order mark";
    throw located("byte_order_mark", "the document starts with a byte order mark", help, placeInBytes(bytes, 0));
  }
  return new Reader(text === null ? decoded(bytes) : wellFormed(text)).document();
}

/** @param {Uint8Array<ArrayBuffer>} bytes */
function decoded(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw located("invalid_utf8", "invalid UTF-8", "save it as UTF-8", placeInBytes(bytes, validUpTo(bytes)));
  }
}

/**
 * A string with half of a surrogate pair has no UTF-8.
 *
 * @param {string} text
 */
function wellFormed(text) {
  const lone = /\p{Surrogate}/u.exec(text);
  if (lone) throw located("invalid_utf8", "invalid UTF-8", "save it as UTF-8", placeInText(text, lone.index));
  return text;
}

/**
 * @param {string} code @param {string} message @param {string} help
 * @param {{ line: number, column: number }} place
 */
function located(code, message, help, { line, column }) {
  return new Refused(code, `${message} at line ${line}, column ${column}`, { help });
}

/** @param {Uint8Array} bytes @param {number} offset */
function placeInBytes(bytes, offset) {
  let line = 1, column = 1;
  for (const byte of bytes.subarray(0, offset)) {
    if (byte === 0x0a) [line, column] = [line + 1, 1];
    // A character is counted at its first byte.
    else if ((byte & 0xc0) !== 0x80) column++;
  }
  return { line, column };
}

/** @param {string} text @param {number} offset in UTF-16 units */
function placeInText(text, offset) {
  const before = text.slice(0, offset).split("\n");
  return { line: before.length, column: [...(before.at(-1) ?? "")].length + 1 };
}

class Reader {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.depth = 0;
    this.values = 0;
  }

  document() {
    this.skipSpace();
    const value = this.value();
    this.skipSpace();
    if (this.at < this.text.length) throw this.refused("trailing_data", "more text after the document", "remove it");
    return value;
  }

  /** @returns {Json} */
  value() {
    if (this.values === MAX_VALUES) {
      throw this.refused("too_many_values", `more than ${MAX_VALUES} values`, "make the document smaller");
    }
    this.values++;
    const first = this.text[this.at] ?? "";
    if (first === '"') return this.string();
    if (first === "{") return this.nested(() => this.object());
    if (first === "[") return this.nested(() => this.array());
    if (/[-0-9]/.test(first)) return this.number();
    if (/[A-Za-z]/.test(first)) return this.literal();
    throw this.unexpected("a value");
  }

  /** @param {() => Json} read */
  nested(read) {
    if (this.depth === MAX_DEPTH) {
      throw this.refused("too_deep", `nested deeper than ${MAX_DEPTH} levels`, "flatten the document");
    }
    this.depth++;
    this.at++;
    this.skipSpace();
    const value = read();
    this.depth--;
    return value;
  }

  array() {
    /** @type {Json[]} */
    const items = [];
    if (this.eat("]")) return items;
    do items.push(this.value()); while (this.commaOr("]", "`,` or `]`"));
    return items;
  }

  object() {
    /** @type {JsonObject} */
    const members = new Map();
    /** @type {Refused | null} */
    let repeated = null, count = 0;
    if (this.eat("}")) return members;
    do {
      const start = this.at;
      if (this.text[start] !== '"') throw this.unexpected("a key in double quotes");
      // Names are compared unescaped: `"a"` and `"\u0061"` are one name.
      const name = this.string();
      if (members.has(name)) {
        repeated ??= this.refused("duplicate_key", `duplicate key \`${shown(name)}\``, "keep one of them", start);
        if (count < FEW_MEMBERS) throw repeated;
      }
      count++;
      this.skipSpace();
      if (!this.eat(":")) throw this.unexpected("`:`");
      this.skipSpace();
      members.set(name, this.value());
    } while (this.commaOr("}", "`,` or `}`"));
    if (repeated) throw repeated;
    return members;
  }

  /**
   * Whether another item follows.
   *
   * @param {string} close @param {string} expected
   */
  commaOr(close, expected) {
    this.skipSpace();
    if (this.eat(close)) return false;
    const comma = this.at;
    if (!this.eat(",")) throw this.unexpected(expected);
    this.skipSpace();
    if (this.text[this.at] !== close) return true;
    throw this.refused("trailing_comma", "a comma before the closing bracket", "remove it", comma);
  }

  number() {
    const start = this.at;
    this.eat("-");
    const whole = this.at;
    this.digits();
    if (this.at - whole > 1 && this.text[whole] === "0") {
      throw this.refused("leading_zero", "a number with a leading zero", "remove the zero", whole);
    }
    if (this.eat(".")) this.digits();
    if (this.eat("e") || this.eat("E")) {
      if (!this.eat("+")) this.eat("-");
      this.digits();
    }
    return new JsonNumber(this.text.slice(start, this.at));
  }

  /** Skips one digit or more. */
  digits() {
    const digits = this.matched(/[0-9]*/y);
    if (digits !== "") return;
    if (this.at === this.text.length) throw this.ended();
    throw this.refused("invalid_number", "a number that lacks a digit", "write it as in `0.5` or `1e9`");
  }

  literal() {
    const start = this.at;
    // The whole word, so that `nullable` is an invalid literal and not `null` with more text after it.
    const word = this.matched(/[A-Za-z0-9]*/y);
    const value = LITERALS.get(word);
    if (value !== undefined) return value;
    if (this.at === this.text.length && [...LITERALS.keys()].some(literal => literal.startsWith(word))) throw this.ended();
    const help = "write `true`, `false` or `null`, or put a string in double quotes";
    throw this.refused("invalid_literal", `\`${shown(word)}\` is not a JSON value`, help, start);
  }

  string() {
    this.at++;
    let text = "";
    for (;;) {
      text += this.matched(/[^"\\\u0000-\u001f]*/y);
      const next = this.text[this.at];
      if (next === undefined) throw this.ended();
      if (next === '"') break;
      if (next !== "\\") {
        const help = `write \`\\u${next.charCodeAt(0).toString(16).padStart(4, "0")}\``;
        throw this.refused("control_character", "a bare control character in a string", help);
      }
      text += this.escape();
    }
    this.at++;
    return text;
  }

  escape() {
    const start = this.at;
    const letter = this.text[start + 1];
    if (letter === undefined) throw this.ended();
    this.at += 2;
    if (letter === "u") return this.unicodeEscape(start);
    const plain = Object.hasOwn(ESCAPES, letter) ? ESCAPES[letter] : undefined;
    if (plain === undefined) throw this.invalidEscape(start);
    return plain;
  }

  /** @param {number} start */
  unicodeEscape(start) {
    const lone = () =>
      this.refused("lone_surrogate", "half of a surrogate pair in a `\\u` escape", "write both halves, or the character itself", start);
    const unit = this.fourHex(start);
    if (unit < 0xd800 || unit > 0xdfff) return String.fromCharCode(unit);
    if (unit > 0xdbff || !this.text.startsWith("\\u", this.at)) throw lone();
    const second = this.at;
    this.at += 2;
    const low = this.fourHex(second);
    if (low < 0xdc00 || low > 0xdfff) throw lone();
    return String.fromCharCode(unit, low);
  }

  /** @param {number} escape where the escape begins */
  fourHex(escape) {
    const digits = this.matched(/[0-9A-Fa-f]{0,4}/y);
    if (digits.length === 4) return parseInt(digits, 16);
    throw this.at === this.text.length ? this.ended() : this.invalidEscape(escape);
  }

  skipSpace() {
    this.matched(/[ \t\n\r]*/y);
  }

  /**
   * What the pattern matches here, which is skipped.
   *
   * @param {RegExp} pattern sticky
   */
  matched(pattern) {
    pattern.lastIndex = this.at;
    const [found = ""] = pattern.exec(this.text) ?? [];
    this.at += found.length;
    return found;
  }

  /** @param {string} char */
  eat(char) {
    const here = this.text[this.at] === char;
    if (here) this.at++;
    return here;
  }

  /** @param {string} code @param {string} message @param {string} help @param {number} [at] */
  refused(code, message, help, at = this.at) {
    return located(code, message, help, placeInText(this.text, at));
  }

  ended() {
    return this.refused("unexpected_end", "the document ends in the middle of a value", "is it cut off?", this.text.length);
  }

  /** @param {number} at */
  invalidEscape(at) {
    return this.refused("invalid_escape", "invalid escape in a string", "write `\\\\` for a backslash", at);
  }

  /** @param {string} expected */
  unexpected(expected) {
    const found = this.text.codePointAt(this.at);
    if (found === undefined) return this.ended();
    const message = `expected ${expected}, found \`${shownCharacter(String.fromCodePoint(found))}\``;
    return this.refused("unexpected_character", message, `write ${expected} here`);
  }
}
