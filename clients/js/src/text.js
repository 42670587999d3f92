/** Bytes, and text from outside in messages. */

/** @typedef {string | ArrayBuffer | ArrayBufferView} Source text or bytes, as received */

const MAX_SHOWN = 64;
const WHITE_SPACE = /\p{White_Space}/u, ALL_WHITE_SPACE = /\p{White_Space}+/gu;
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
 * A copy of the bytes of a source, so that they cannot change while they are verified.
 *
 * @param {Source} source
 * @returns {Uint8Array<ArrayBuffer> | null} null for a string with half of a surrogate pair, which has no UTF-8
 */
export function received(source) {
  if (typeof source !== "string") return copied(source);
  return /\p{Surrogate}/u.test(source) ? null : utf8(source);
}

/**
 * The text without white space around it, which is Unicode's: that of `trim` has a byte order mark, and lacks U+0085.
 *
 * @param {string} text
 */
export function trimmed(text) {
  let start = 0, end = text.length;
  while (start < end && WHITE_SPACE.test(text.charAt(start))) start++;
  while (start < end && WHITE_SPACE.test(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

/** @param {string} text */
export function withoutSpace(text) {
  return text.replace(ALL_WHITE_SPACE, "");
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
 * Canonical base64 only: each text is the one spelling of its bytes.
 *
 * @param {string} text
 * @returns {Uint8Array<ArrayBuffer> | null} null for other texts, and for an empty one
 */
export function unbase64(text) {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text) || text.length % 4 !== 0) return null;
  const binary = atob(text);
  return btoa(binary) === text ? fromLatin1(binary) : null;
}

/** @param {Uint8Array} bytes @returns {string} one character for each byte */
export function latin1(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return text;
}

/** @param {string} text of characters up to U+00FF @returns {Uint8Array<ArrayBuffer>} */
export function fromLatin1(text) {
  return Uint8Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
}

/** @param {Uint8Array} bytes @returns {string | null} null unless they are UTF-8; a byte order mark is kept */
export function fromUtf8(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** @param {Uint8Array} bytes @returns {string} for a message: what is not UTF-8 is replaced */
export function lossy(bytes) {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/**
 * A number up to 2^64−1 in decimal, without sign, leading zeros or spaces.
 *
 * @param {string} text
 * @returns {bigint | null} null for other texts
 */
export function decimal(text) {
  const value = /^(?:0|[1-9][0-9]{0,19})$/.test(text) ? BigInt(text) : null;
  return value !== null && value < 2n ** 64n ? value : null;
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
