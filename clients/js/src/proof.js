/** Proofs that a document is in a transparency log (C2SP tlog-proof). */

import { canonical } from "./canonical.js";
import { openCheckpoint, readHash } from "./checkpoint.js";
import { digest } from "./ed25519.js";
import { parse } from "./json.js";
import { Members } from "./members.js";
import { MAX_NOTE_BYTES, readVkey } from "./note.js";
import { isMetBy, readPolicy } from "./policy.js";
import { Refused } from "./refused.js";
import { copied, decimal, hex, latin1, lossy, received, shown, unbase64, unhex, utf8 } from "./text.js";

/** @typedef {import("./note.js").Vkey} Vkey */
/** @typedef {import("./policy.js").Policy} Policy */
/** @typedef {import("./text.js").Source} Source */

const HEADER = "c2sp.org/tlog-proof@v1";
/** How many hashes a proof has at most. */
const MAX_HASHES = 63;
/** How many bytes of extra data a proof file has at most: a receipt has at most 1 MiB. */
const MAX_EXTRA_BYTES = 1 << 20;
/** Extra data in base64, the path, the other lines and a note. */
const MAX_FILE_BYTES = Math.ceil(MAX_EXTRA_BYTES / 3) * 4 + MAX_HASHES * 45 + 128 + MAX_NOTE_BYTES;
/** The tag of `COSE_Sign1` (RFC 9052, section 4.2). No JSON begins with it. */
const COSE_SIGN1 = 0xd2;
/** What is hashed before an entry, and before two nodes (RFC 9162, section 2.1.1). */
const LEAF = 0, NODE = 1;

/**
 * The verification of a proof file. Its words are those of `proofmark log verify`.
 *
 * @typedef {object} ProofVerification
 * @property {"valid" | "invalid" | "undecidable"} answer `valid` only if a known log has signed a tree that has the entry
 * @property {string | null} code a stable code: why it is not valid, or `quorum_not_met`
 * @property {string | null} reason the code in words, for people
 * @property {"trusted" | "unknown"} log whether a known log has signed the checkpoint
 * @property {"met" | "not_met" | "unknown"} witnessed whether witnesses of the policy are enough; `unknown` without a policy
 * @property {bigint | null} index where the file says the entry is: proven when the answer is valid
 * @property {bigint | null} size how many entries the signed tree has
 * @property {string | null} origin of the log
 * @property {{ witness: string, time: bigint }[]} cosignatures of witnesses of the policy, in seconds since 1970; the caller
 * judges how old a proof may be
 * @property {Uint8Array<ArrayBuffer> | null} document the one inside the file, when it is what is proven to be logged
 */

/**
 * @typedef {object} ProofOptions
 * @property {readonly string[]} [logKeys] verifier keys of logs, beside those of the policy
 * @property {Source} [policy] a policy file; without it no witness is known, and no quorum asked for
 */

/**
 * Verifies that a proof file proves a document to be logged. Whether the document's own signature is good is another
 * question, for `verify`.
 *
 * @param {Source} file the proof file as received
 * @param {Source} entry the document, or its entry: 64 lower-case hex digits, with or without `sha256:`
 * @param {ProofOptions} [options]
 * @returns {Promise<ProofVerification>}
 * @throws {RangeError} if an option is not valid; never because of the file or the document
 */
export async function verifyProof(file, entry, { logKeys = [], policy } = {}) {
  /** @type {ProofVerification} */
  const found = {
    answer: "valid", code: null, reason: null, log: "unknown", witnessed: "unknown",
    index: null, size: null, origin: null, cosignatures: [], document: null,
  };
  // All bytes are copied before anything is awaited.
  const bytes = received(file), document = typeof entry === "string" ? entry : copied(entry);
  const trusted = { logs: [...logKeys], policy: policy === undefined ? undefined : received(policy) };
  try {
    const keys = await readTrusted(trusted);
    const due = await entryOf(document);
    await lookInto(found, readProofFile(bytes), due, keys);
    if (found.witnessed === "not_met") {
      found.code = "quorum_not_met";
      found.reason = "too few witnesses of the policy have cosigned the checkpoint";
    }
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    // This is judged after the log's signature.
    if (error.code === "cosignature_mismatch") found.log = "trusted";
    [found.answer, found.code, found.reason] = [error.answer, error.code, error.message];
  }
  return found;
}

/**
 * In the order: log, checkpoint, cosignatures, quorum, inclusion.
 *
 * @param {ProofVerification} found what is known so far, which this adds to
 * @param {ProofFile} proof @param {Uint8Array<ArrayBuffer>} entry
 * @param {{ logs: Vkey[], policy: Policy | null }} trusted
 */
async function lookInto(found, proof, entry, { logs, policy }) {
  found.index = proof.index;
  const opened = await openCheckpoint(proof.checkpoint, [...logs, ...policy?.logs ?? []], policy?.witnesses ?? []);
  const { origin, size, root } = opened.checkpoint;
  found.log = "trusted";
  found.cosignatures = opened.cosignatures.map(({ key, time }) => ({ witness: key.name, time }));
  if (policy) found.witnessed = isMetBy(policy, opened.cosignatures) ? "met" : "not_met";
  [found.origin, found.size] = [origin, size];
  await checkInclusion(await hashed(LEAF, entry), proof.index, size, proof.path, root);
  // It is in canonical form, so an entry is the digest of its bytes; other spellings of a document are not taken.
  if (proof.extra && hex(await digest(proof.extra)) === hex(entry)) found.document = proof.extra;
}

/** @param {{ logs: string[], policy: Uint8Array<ArrayBuffer> | null | undefined }} trusted */
async function readTrusted({ logs, policy }) {
  if (policy === null) throw new RangeError("`policy` has half of a surrogate pair");
  /** @type {<Read>(name: string, read: Promise<Read>) => Promise<Read>} */
  const option = (name, read) => read.catch(error => {
    if (!(error instanceof Refused) || error.code === "cannot_check_here") throw error;
    // A key that is left out would make a refusal of what somebody wanted to trust.
    throw new RangeError(`\`${name}\`: ${error.message}`);
  });
  return {
    logs: await option("logKeys", Promise.all(logs.map(readVkey))),
    policy: policy ? await option("policy", readPolicy(policy)) : null,
  };
}

/**
 * The entry of a document: SHA-256 of the canonical form `vrf` of JSON, signature included, or of a tagged `COSE_Sign1`.
 *
 * @param {string | Uint8Array<ArrayBuffer>} document or the digits of an entry, which are no document
 * @returns {Promise<Uint8Array<ArrayBuffer>>} 32 bytes
 * @throws {Refused} when it is neither
 */
async function entryOf(document) {
  const digits = typeof document === "string" ? unhex(document.startsWith("sha256:") ? document.slice(7) : document, 32) : null;
  if (digits) return digits;
  const bytes = received(document);
  if (bytes?.[0] === COSE_SIGN1) return digest(bytes);
  return digest(utf8(canonical(Members.top(parse(document)).members)));
}

/**
 * @typedef {object} ProofFile
 * @property {Uint8Array<ArrayBuffer> | null} extra data that nothing authenticates
 * @property {bigint} index
 * @property {Uint8Array<ArrayBuffer>[]} path siblings from the leaf up
 * @property {Uint8Array<ArrayBuffer>} checkpoint signed, not read
 */

/**
 * Reads a proof file. Nothing of it is verified.
 *
 * @param {Uint8Array<ArrayBuffer> | null} bytes
 * @returns {ProofFile}
 * @throws {Refused} `malformed_proof`, `too_large`
 */
export function readProofFile(bytes) {
  if (!bytes) throw malformed("the proof file has half of a surrogate pair");
  if (bytes.length > MAX_FILE_BYTES) {
    throw new Refused("too_large", `the proof file has ${bytes.length} bytes: at most ${MAX_FILE_BYTES} are read`);
  }
  let at = 0;
  const nextLine = () => {
    const end = bytes.indexOf(0x0a, at);
    if (end < 0) throw malformed("the proof file ends before its checkpoint");
    const line = bytes.subarray(at, end);
    at = end + 1;
    return line;
  };
  if (latin1(nextLine()) !== HEADER) throw malformed(`the proof file does not begin with the line \`${HEADER}\``);
  let line = nextLine(), extra = null;
  const encoded = after("extra ", line);
  if (encoded !== null) {
    extra = unbase64(encoded);
    if (!extra || extra.length > MAX_EXTRA_BYTES) {
      throw malformed(`the extra data of the proof file is not 1 to ${MAX_EXTRA_BYTES} bytes in base64`);
    }
    line = nextLine();
  }
  const index = decimal(after("index ", line) ?? "");
  if (index === null) throw malformed(`\`${quoted(line)}\` is not the line \`index <decimal>\` of a proof file`);
  const path = [];
  for (line = nextLine(); line.length > 0; line = nextLine()) {
    if (path.length === MAX_HASHES) throw malformed(`the path of the proof file has more than ${MAX_HASHES} hashes`);
    const hash = readHash(latin1(line));
    if (!hash) throw malformed(`\`${quoted(line)}\` is not a hash of the path in base64, nor the empty line behind the path`);
    path.push(hash);
  }
  return { extra, index, path, checkpoint: bytes.slice(at) };
}

/** @param {string} prefix @param {Uint8Array} line @returns {string | null} what follows the prefix */
function after(prefix, line) {
  const text = latin1(line);
  return text.startsWith(prefix) ? text.slice(prefix.length) : null;
}

/** @param {Uint8Array} line */
function quoted(line) {
  // What is shown is cut after 64 characters, so no more need be decoded.
  return shown(lossy(line.subarray(0, 512)));
}

/**
 * Checks that `leaf` is the hash of entry `index` in the tree of `size` entries with this root (RFC 9162, section 2.1.3.2).
 *
 * @param {Uint8Array<ArrayBuffer>} leaf @param {bigint} index @param {bigint} size
 * @param {readonly Uint8Array<ArrayBuffer>[]} path @param {Uint8Array<ArrayBuffer>} root
 * @throws {Refused} `inclusion_mismatch`
 */
async function checkInclusion(leaf, index, size, path, root) {
  if (index >= size) throw notIncluded(`a tree of ${size} entries has no entry ${index}`);
  const wrongLength = `the proof has ${path.length} hashes, which is not the number that it needs`;
  let [node, last, hash] = [index, size - 1n, leaf];
  for (const sibling of path) {
    if (last === 0n) throw notIncluded(wrongLength);
    if (node % 2n === 1n || node === last) {
      hash = await hashed(NODE, sibling, hash);
      while (node % 2n === 0n && node !== 0n) [node, last] = [node >> 1n, last >> 1n];
    } else {
      hash = await hashed(NODE, hash, sibling);
    }
    [node, last] = [node >> 1n, last >> 1n];
  }
  if (last !== 0n) throw notIncluded(wrongLength);
  if (hex(hash) !== hex(root)) throw notIncluded("the hashes of the proof do not lead to the root");
}

/** @param {number} first @param {Uint8Array[]} parts */
function hashed(first, ...parts) {
  return digest(Uint8Array.of(first, ...parts.flatMap(part => [...part])));
}

/** @param {string} message */
function notIncluded(message) {
  return new Refused("inclusion_mismatch", `the entry is not proven to be at this index: ${message}`, { answer: "invalid" });
}

/** @param {string} message */
function malformed(message) {
  return new Refused("malformed_proof", message);
}
