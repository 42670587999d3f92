/** Signed notes, and the keys by which they verify (C2SP signed-note). */

import { digest, verifyStrictly } from "./ed25519.js";
import { Refused } from "./refused.js";
import { fromUtf8, hex, shown, unbase64, utf8 } from "./text.js";

/** How many bytes a note has at most. */
export const MAX_NOTE_BYTES = 256 << 10;
/** How many signature lines a note has at most. */
export const MAX_NOTE_LINES = 64;
/** The type of a key that signs the text of a note, as logs do. */
export const NOTE_KEY = 1;
/** The type of a key that signs a checkpoint and a time, as witnesses do. */
export const COSIGNATURE_KEY = 4;
/** What every signature line begins with. */
const DASH = "\u2014 ";
/** What the name of a key must not have. */
const NOT_IN_A_NAME = /[\p{White_Space}\p{Cc}+]/u;

/**
 * A verifier key of a log or a witness.
 *
 * @typedef {object} Vkey
 * @property {string} name that of a log is its origin
 * @property {number} type what it signs: `NOTE_KEY` or `COSIGNATURE_KEY`
 * @property {Uint8Array<ArrayBuffer>} key 32 bytes
 * @property {string} id the key id: 8 lower-case hex digits
 */

/**
 * @typedef {object} NoteLine
 * @property {string} name
 * @property {string} id of the key: 8 lower-case hex digits
 * @property {Uint8Array<ArrayBuffer>} signature not verified
 */

/**
 * @typedef {object} Note
 * @property {string} text what is signed, with its last line feed; not to be interpreted before a known key has signed it
 * @property {NoteLine[]} lines
 */

/**
 * Reads a verifier key: `<name>+<key id>+<base64 of type and key>`.
 *
 * @param {string} text
 * @returns {Promise<Vkey>}
 * @throws {Refused} `malformed_vkey`
 */
export async function readVkey(text) {
  // The base64 may have plus signs of its own, so only the first two part.
  const [, name, id, encoded] = /^([^+]*)\+([^+]*)\+([^]*)$/.exec(text) ?? [];
  if (name === undefined || id === undefined || encoded === undefined) {
    throw malformedVkey(`\`${shown(text)}\` is not a verifier key: write \`<name>+<key id>+<base64>\``);
  }
  const bytes = unbase64(encoded), type = bytes?.[0];
  const notAKey = () => malformedVkey(`\`${shown(encoded)}\` is not a type and an Ed25519 key in base64`);
  if (!bytes || type === undefined) throw notAKey();
  if (type !== NOTE_KEY && type !== COSIGNATURE_KEY) {
    throw malformedVkey(`the type ${type} of the key is not known: it is 1 for a log, and 4 for a witness or a mirror`);
  }
  if (bytes.length !== 33) throw notAKey();
  if (!isKeyName(name)) {
    const faults = "it is empty, or has a space, a plus sign or a control character";
    throw malformedVkey(`\`${shown(name)}\` is not the name of a key: ${faults}`);
  }
  const expected = hex((await digest(Uint8Array.of(...utf8(`${name}\n`), ...bytes))).subarray(0, 4));
  if (id !== expected) throw malformedVkey(`the key id \`${shown(id)}\` is not that of this name and key, \`${expected}\``);
  return { name, type, key: bytes.slice(1), id };
}

/**
 * Whether a key can have this name.
 *
 * @param {string} name
 */
export function isKeyName(name) {
  return name !== "" && !NOT_IN_A_NAME.test(name);
}

/**
 * Reads a note. Nothing of it is verified.
 *
 * @param {Uint8Array} bytes
 * @returns {Note}
 * @throws {Refused} `malformed_note`, `too_large`
 */
export function readNote(bytes) {
  if (bytes.length > MAX_NOTE_BYTES) {
    throw new Refused("too_large", `the note has ${bytes.length} bytes: at most ${MAX_NOTE_BYTES} are read`);
  }
  const note = fromUtf8(bytes);
  if (note === null) throw malformedNote("the note is not UTF-8");
  if (/[\u0000-\u0009\u000b-\u001f]/.test(note)) {
    throw malformedNote("the note has a control character other than line feeds");
  }
  const end = note.lastIndexOf("\n\n"), signatures = note.slice(end + 2);
  if (end < 0 || signatures === "") throw malformedNote("the note has no empty line between its text and its signatures");
  if (!signatures.endsWith("\n")) throw malformedNote("the note does not end with a line feed");
  /** @type {NoteLine[]} */
  const lines = [];
  for (const line of signatures.slice(0, -1).split("\n")) {
    if (lines.length === MAX_NOTE_LINES) throw new Refused("too_large", `the note has more than ${MAX_NOTE_LINES} signature lines`);
    lines.push(readLine(line));
  }
  return { text: note.slice(0, end + 1), lines };
}

/** @param {string} line @returns {NoteLine} */
function readLine(line) {
  const rest = line.startsWith(DASH) ? line.slice(DASH.length) : "", space = rest.indexOf(" ");
  const name = rest.slice(0, Math.max(space, 0)), bytes = unbase64(rest.slice(space + 1));
  if (!isKeyName(name) || !bytes || bytes.length <= 4) {
    throw malformedNote(`\`${shown(line)}\` is not a signature line: it is \`\u2014 <key name> <base64>\``);
  }
  return { name, id: hex(bytes.subarray(0, 4)), signature: bytes.slice(4) };
}

/**
 * The lines with the name and the id of a key, verified or not. Lines with the same name and another key id belong to other keys.
 *
 * @param {Note} note @param {Vkey} key
 */
export function linesOf(note, key) {
  return note.lines.filter(line => line.id === key.id && line.name === key.name);
}

/**
 * Whether a key has signed a note.
 *
 * @param {Note} note @param {Vkey} key of another type than `NOTE_KEY`, it has not
 * @returns {Promise<boolean>}
 * @throws {Refused} `log_signature_mismatch` when a line of the key does not verify, which spoils the whole note
 */
export async function isSignedBy(note, key) {
  const lines = key.type === NOTE_KEY ? linesOf(note, key) : [];
  for (const { signature } of lines) {
    if (await verifyStrictly(key.key, utf8(note.text), signature)) continue;
    const message = `the signature line of the log \`${key.name}\` does not verify: the checkpoint was changed, or is forged`;
    throw new Refused("log_signature_mismatch", message, { answer: "invalid" });
  }
  return lines.length > 0;
}

/** @param {string} message */
function malformedVkey(message) {
  return new Refused("malformed_vkey", message);
}

/** @param {string} message */
function malformedNote(message) {
  return new Refused("malformed_note", message);
}
