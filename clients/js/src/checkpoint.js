/** Checkpoints that logs sign and witnesses cosign (C2SP tlog-checkpoint, tlog-cosignature). */

import { verifyStrictly } from "./ed25519.js";
import { COSIGNATURE_KEY, isKeyName, isSignedBy, linesOf, readNote } from "./note.js";
import { Refused } from "./refused.js";
import { decimal, hex, shown, unbase64, utf8 } from "./text.js";

/** @typedef {import("./note.js").Note} Note */
/** @typedef {import("./note.js").Vkey} Vkey */

/** How many bytes a hash of the tree has. */
const HASH_BYTES = 32;
/** The first line of what a witness signs, which no checkpoint can begin with. */
const COSIGNATURE = "cosignature/v1";
/** The root of the empty tree, SHA-256 of nothing (RFC 9162, section 2.1.1). */
const OF_NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
/** The latest time of a cosignature, in seconds. */
const MAX_TIME = 2n ** 63n - 1n;

/**
 * The head of a log.
 *
 * @typedef {object} Checkpoint
 * @property {string} origin
 * @property {bigint} size how many entries the tree has
 * @property {Uint8Array<ArrayBuffer>} root of the tree, 32 bytes
 */

/**
 * A cosignature that verifies.
 *
 * @typedef {object} Cosignature
 * @property {Vkey} key of the witness
 * @property {bigint} time by the clock of the witness, in seconds since 1970
 */

/**
 * Reads a signed checkpoint and verifies the lines of known keys, in an order in which nothing is interpreted before it is
 * known to be signed.
 *
 * @param {Uint8Array} bytes
 * @param {readonly Vkey[]} logs
 * @param {readonly Vkey[]} witnesses
 * @returns {Promise<{ checkpoint: Checkpoint, cosignatures: Cosignature[] }>}
 * @throws {Refused} when it must not be used
 */
export async function openCheckpoint(bytes, logs, witnesses) {
  const note = readNote(bytes);
  const signedBy = [];
  for (const key of logs) if (await isSignedBy(note, key)) signedBy.push(key);
  const [first] = signedBy;
  if (!first) throw new Refused("unsigned_by_log", "no known log has signed the checkpoint");
  const checkpoint = readCheckpoint(note.text);
  if (!signedBy.some(key => key.name === checkpoint.origin)) {
    const message = `the checkpoint is of \`${shown(checkpoint.origin)}\`, but signed by the log \`${shown(first.name)}\``;
    throw new Refused("wrong_origin", message, { answer: "invalid" });
  }
  /** @type {Map<string, Cosignature>} */
  const cosignatures = new Map();
  for (const key of witnesses) {
    const time = await cosignedAt(note, key), of = hex(key.key);
    // A witness counts once, also when a caller knows it twice.
    if (time !== null && !cosignatures.has(of)) cosignatures.set(of, { key, time });
  }
  return { checkpoint, cosignatures: [...cosignatures.values()] };
}

/**
 * Reads a hash of the tree.
 *
 * @param {string} text
 * @returns {Uint8Array<ArrayBuffer> | null} null unless it is 32 bytes in base64
 */
export function readHash(text) {
  const bytes = unbase64(text);
  return bytes?.length === HASH_BYTES ? bytes : null;
}

/**
 * Reads what is signed. Extension lines say nothing and are left out.
 *
 * @param {string} text with its last line feed
 * @returns {Checkpoint}
 */
function readCheckpoint(text) {
  const [origin, size, root, ...extensions] = text.slice(0, -1).split("\n");
  if (origin === undefined || size === undefined || root === undefined) {
    throw malformed("the checkpoint has fewer than three lines: it is an origin, a size and a root");
  }
  if (!isKeyName(origin) || origin === COSIGNATURE) {
    const faults = `it is empty, has a space or a plus sign, or is \`${COSIGNATURE}\``;
    throw malformed(`\`${shown(origin)}\` is not the origin of a log: ${faults}`);
  }
  const count = decimal(size);
  if (count === null) throw malformed(`\`${shown(size)}\` is not the size of a tree: write it in decimal, without leading zeros`);
  const hash = readHash(root);
  if (!hash) throw malformed(`the root \`${shown(root)}\` is not 32 bytes in base64`);
  if (extensions.includes("")) throw malformed("an extension line is empty");
  if (count === 0n && hex(hash) !== OF_NOTHING) throw malformed("the root of a tree of size 0 is not the hash of nothing");
  return { origin, size: count, root: hash };
}

/**
 * The time at which a witness has cosigned a note; the latest one if it has done so more than once.
 *
 * @param {Note} note @param {Vkey} key of another type than `COSIGNATURE_KEY`, it has not
 * @returns {Promise<bigint | null>}
 * @throws {Refused} `cosignature_mismatch` when a line of the key does not verify, which spoils the whole note
 */
async function cosignedAt(note, key) {
  /** @type {bigint | null} */
  let latest = null;
  for (const { signature } of key.type === COSIGNATURE_KEY ? linesOf(note, key) : []) {
    const time = await verifiedTime(note.text, key, signature);
    if (time === null) {
      throw new Refused("cosignature_mismatch", `the cosignature of \`${key.name}\` does not verify`, { answer: "invalid" });
    }
    if (latest === null || time > latest) latest = time;
  }
  return latest;
}

/** @param {string} text @param {Vkey} key @param {Uint8Array<ArrayBuffer>} signature the time and what signs it */
async function verifiedTime(text, key, signature) {
  if (signature.length <= 8) return null;
  const time = new DataView(signature.buffer).getBigUint64(0);
  if (time > MAX_TIME) return null;
  const message = utf8(`${COSIGNATURE}\ntime ${time}\n${text}`);
  return await verifyStrictly(key.key, message, signature.slice(8)) ? time : null;
}

/** @param {string} message */
function malformed(message) {
  return new Refused("malformed_checkpoint", message);
}
