/** Bytes, and text from outside in messages. */

/** @typedef {string | ArrayBuffer | ArrayBufferView} Source text or bytes, as received */

const MAX_SHOWN = 64;
/** Characters that cannot be seen, or that change the one before them. */
const UNSEEN = /[\p{Grapheme_Extend}\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;
/** @type {Readonly<Record<string, string>>} */
const SHORT = { "\t": "\\t", "\n": "\\n", "\r": "\\r" };
/** @type {Readonly<Record<string, string>>} */
const QUOTED = { ...SHORT, "\0": "\\0", "\\": "\\\\", '"': '\\"', "'": "\\'" };

/** @param {string} text @returns {Uint8Array<ArrayBuffer>} its UTF-8 */
export function utf8(text) {
  return new TextEncoder().encode(text);
}

/**
 * A copy of the bytes, which nobody can change while they are verified.
 *
 * @param {Exclude<Source, string>} source
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function copied(source) {
  if (ArrayBuffer.isView(source)) {
    return new Uint8Array(new Uint8Array(source.buffer, source.byteOffset, source.byteLength));
  }
  if (source instanceof ArrayBuffer) return new Uint8Array(source.slice(0));
  throw new TypeError("a document is a string, an ArrayBuffer or a view of one");
}

/**
 * Text for a message: control characters escaped, cut after 64 characters.
 *
 * @param {string} text
 */
export function shown(text) {
  let escaped = "", count = 0;
  for (const char of text) {
    if (count++ === MAX_SHOWN) return escaped + "…";
    escaped += /\p{Cc}/u.test(char) ? (SHORT[char] ?? codePoint(char)) : char;
  }
  return escaped;
}

/**
 * One character for a message, as Rust's `escape_debug` writes it.
 *
 * @param {string} char
 */
export function shownCharacter(char) {
  return QUOTED[char] ?? (UNSEEN.test(char) ? codePoint(char) : char);
}

/** @param {string} char */
function codePoint(char) {
  return `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;
}

/** @param {Uint8Array} bytes @returns {string} lower-case hex digits */
export function hex(bytes) {
  return Array.from(bytes, byte => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * @param {string} digits lower-case hex digits
 * @param {number} length in bytes
 * @returns {Uint8Array<ArrayBuffer> | null} null unless there are exactly that many
 */
export function unhex(digits, length) {
  if (digits.length !== length * 2 || !/^[0-9a-f]*$/.test(digits)) return null;
  return Uint8Array.from({ length }, (_, at) => parseInt(digits.slice(at * 2, at * 2 + 2), 16));
}

/**
 * The number of bytes before the first that is not UTF-8.
 *
 * @param {Uint8Array} bytes
 */
export function validUpTo(bytes) {
  let at = 0;
  while (at < bytes.length) {
    const length = sequenceLength(bytes, at);
    if (length === 0) return at;
    at += length;
  }
  return at;
}

/**
 * The length of the character at `at`; 0 where there is none (RFC 3629, section 4).
 *
 * @param {Uint8Array} bytes @param {number} at
 */
function sequenceLength(bytes, at) {
  const first = bytes[at] ?? 0, second = bytes[at + 1] ?? 0;
  if (first < 0x80) return 1;
  const length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  // The second byte excludes overlong forms, surrogates, and what is beyond U+10FFFF.
  const lowest = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const highest = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (length === 0 || second < lowest || second > highest) return 0;
  for (let more = 2; more < length; more++) {
    if (((bytes[at + more] ?? 0) & 0xc0) !== 0x80) return 0;
  }
  return length;
}
