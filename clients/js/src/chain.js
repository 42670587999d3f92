/** Chains: documents in order, each of which pins the one before it by its hash. */

import { canonical } from "./canonical.js";
import { claimsDecision, readDecision } from "./decision.js";
import { sha256 } from "./ed25519.js";
import { readHead } from "./head.js";
import { MAX_BYTES, parse } from "./json.js";
import { isDigest, receiptId } from "./members.js";
import { JsonNumber } from "./number.js";
import { readReceipt } from "./receipt.js";
import { Refused } from "./refused.js";
import { sessionEntryId } from "./session.js";
import { Signers, signerId, signerKey } from "./signer.js";
import { copied, shown, utf8 } from "./text.js";
import { dateOf, verify, verifyHead } from "./verify.js";

/** @typedef {import("./json.js").Json} Json */
/** @typedef {import("./json.js").JsonObject} JsonObject */
/** @typedef {import("./head.js").Head} Head */
/** @typedef {import("./signer.js").Trust} Trust */
/** @typedef {import("./text.js").Source} Source */
/** @typedef {import("./verify.js").Answer} Answer */
/** @typedef {import("./verify.js").Options} Options */
/** @typedef {import("./verify.js").Verification} Verification */

/**
 * @typedef {object} Links
 * @property {"valid" | "invalid" | "undecidable"} answer whether every link holds
 * @property {string | null} cause a stable code (docs/receipts.md): that of the first link that does not hold
 * @property {string | null} message the cause, for people
 * @property {string | null} help what to do about it
 * @property {Loss[]} losses what documents of the chain state that it has lost
 */

/**
 * @typedef {object} Loss
 * @property {string} id the document that states it
 * @property {bigint} position where it stands
 * @property {{ position: bigint, hash: string }} lost the end that the chain had
 */

/**
 * @typedef {object} ChainVerification
 * @property {Answer} answer the worst of all parts; `valid` only if every document, every link and the head are
 * @property {Trust} trust `trusted` only if every signer is
 * @property {Links} links
 * @property {number} length the number of documents that can be part of a chain
 * @property {Verification[]} documents in order
 * @property {Verification | null} head
 */

/**
 * @typedef {object} ChainOptions
 * @property {Source} [head] the signed head of the chain, which shows whether its end is missing
 */

/** @typedef {{ id: string, hash: string, position: bigint }} Tip the last document of a chain so far */

/**
 * Verifies documents, in this order, as one complete chain: each of them, each link, and the head if there is one.
 *
 * @param {Iterable<Source> | AsyncIterable<Source>} sources
 * @param {Options & ChainOptions} [options]
 * @returns {Promise<ChainVerification>}
 * @throws {RangeError} if an option is not valid
 */
export async function verifyChain(sources, { head, trusted = [], profile = "vrf" } = {}) {
  const signers = new Signers(trusted);
  const chain = new Chain();
  /** @type {Verification[]} */
  const documents = [];
  for await (const source of sources) {
    const verification = await verify(source, { trusted, profile });
    // A document that is not a receipt leaves a gap in the chain.
    if (verification.document !== undefined) await chain.add(verification.document);
    documents.push(verification);
  }
  const verifiedHead = head === undefined ? null : await verifyHead(head, { trusted });
  const signedEnd = verifiedHead ? readable(verifiedHead.document) : null;
  const links = chain.finish(signedEnd, signers.ids(dateOf("chain_head", signedEnd?.document)));
  const parts = [...documents, ...(verifiedHead ? [verifiedHead] : [])];
  const answer = worst([...parts.map(part => part.answer), links.answer]);
  return { answer, trust: least(parts), links, length: chain.length, documents, head: verifiedHead };
}

/**
 * The documents of a file: one, or one on each line.
 *
 * @param {Source} source
 * @returns {{ line: number | null, bytes: Uint8Array<ArrayBuffer> }[]} `line` from 1 where there is one on each
 */
export function splitDocuments(source) {
  const bytes = typeof source === "string" ? utf8(source) : copied(source);
  if (bytes.length <= MAX_BYTES && !hasSeveral(bytes)) return [{ line: null, bytes }];
  const documents = [];
  let line = 0;
  for (let start = 0; start < bytes.length;) {
    const found = bytes.indexOf(0x0a, start);
    const end = found < 0 ? bytes.length : found;
    const one = bytes.subarray(start, end);
    line++;
    start = end + 1;
    if (one.length > MAX_BYTES || one.some(byte => !WHITE_SPACE.includes(byte))) documents.push({ line, bytes: one });
  }
  return documents;
}

const WHITE_SPACE = [0x09, 0x0a, 0x0c, 0x0d, 0x20];

/** @param {Uint8Array} bytes */
function hasSeveral(bytes) {
  try {
    parse(bytes);
  } catch (error) {
    // With any other error it is one document, of which that error is reported.
    return error instanceof Refused && error.code === "trailing_data";
  }
  return false;
}

/** @param {Json | undefined} document */
function readable(document) {
  try {
    return document === undefined ? null : readHead(document);
  } catch {
    return null;
  }
}

/** @param {readonly Answer[]} answers @returns {Answer} */
function worst(answers) {
  return answers.includes("undecidable") ? "undecidable" : answers.includes("invalid") ? "invalid" : "valid";
}

/** @param {readonly Verification[]} parts @returns {Trust} */
function least(parts) {
  if (parts.some(part => part.trust === "untrusted")) return "untrusted";
  return parts.length > 0 && parts.every(part => part.trust === "trusted") ? "trusted" : "unknown";
}

/** The links of a chain whose documents come one after another. Signatures are not looked at. */
export class Chain {
  length = 0;
  /** @type {Tip | null} */
  #last = null;
  /** @type {string | null} The signer of all documents so far; null where one is unsigned or another signed it. */
  #signer = null;
  /** @type {Loss[]} */
  #losses = [];
  /** @type {Refused | null} */
  #broken = null;

  /**
   * Adds the next document, if it can be part of a chain. After one that does not continue the chain, the rest changes
   * nothing.
   *
   * @param {Json} document
   */
  async add(document) {
    const id = document instanceof Map ? linkId(document) : null;
    if (!(document instanceof Map) || id === null) return;
    this.length++;
    if (this.#broken) return;
    try {
      await this.#append(id, document);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.#broken = error;
    }
  }

  /** Whether a document did not continue the chain. */
  get isBroken() {
    return this.#broken !== null;
  }

  /**
   * Whether every link holds, up to the head if there is one.
   *
   * @param {Head | null} head
   * @param {readonly string[]} trusted ids of signers whose heads count for any chain
   * @returns {Links}
   */
  finish(head, trusted) {
    const broken = this.#broken ?? this.#end(head, trusted);
    const { answer = "valid", code = null, message = null, help = null } = broken ?? {};
    return { answer, cause: code, message, help, losses: this.#losses };
  }

  /** @param {string} id @param {JsonObject} document */
  async #append(id, document) {
    const position = chainPosition(document);
    if (position === null) {
      throw broken("unlinked", `receipt ${id} has no \`metadata.chain_position\`, so it belongs to no chain`);
    }
    if (this.#last) checkFollows(document, id, position, this.#last);
    else checkStarts(document, id, position);
    const lost = lostEnd(document, id);
    if (lost) this.#losses.push({ id, position, lost });
    const signer = namedSigner(document);
    this.#signer = this.#last === null || this.#signer === signer ? signer : null;
    this.#last = { id, hash: await sha256(canonical(document)), position };
  }

  /** @param {Head | null} head @param {readonly string[]} trusted @returns {Refused | null} */
  #end(head, trusted) {
    // Nothing to verify is not a valid chain: an export that failed would pass as one.
    if (!this.#last) return broken("empty_chain", "there are no receipts", "give the receipts of the chain in order");
    if (!head) return null;
    const signer = namedSigner(head.document);
    // Anyone can sign a head for a chain cut off anywhere, so only the signer of all receipts counts, or a trusted one.
    if (signer === null || (signer !== this.#signer && !trusted.includes(signer))) {
      const named = shown(head.signature.signerId);
      const message = `the head is signed by ${named}, who did not sign every receipt of the chain and is not trusted`;
      return broken("untrusted_head", message, "trust that key if the head is its issuer's");
    }
    const found = this.#last.position + 1n;
    // Before the tips are compared: they differ in a truncated chain, too.
    if (found < head.length) {
      const message = `the signed head says ${head.length} receipts and there are ${found}: the end of the chain is missing`;
      return broken("truncated", message);
    }
    if (found === head.length && this.#last.hash === head.tip) return null;
    const message = `the signed head is of another chain: it pins ${head.length} receipts ending in ${head.tip}`;
    return broken("other_head", message);
  }
}

/** The id of a document that can be part of a chain; null for others. @param {JsonObject} document */
function linkId(document) {
  try {
    return readReceipt(document).id;
  } catch {
    // Not a receipt.
  }
  try {
    if (claimsDecision(document)) return readDecision(document);
  } catch {
    // Not a decision receipt.
  }
  return sessionEntryId(document);
}

/** @param {JsonObject} document @param {string} id @param {bigint} position */
function checkStarts(document, id, position) {
  const metadata = metadataOf(document);
  // `null` counts as present: a field without a value is absent.
  if (position === 0n && !metadata.has("previous_receipt") && !metadata.has("previous_receipt_hash")) return;
  const due = "a chain begins at 0 without a predecessor";
  throw broken("wrong_first_position", `the first receipt, ${id}, has position ${position}: ${due}`);
}

/** @param {JsonObject} document @param {string} id @param {bigint} position @param {Tip} last */
function checkFollows(document, id, position, last) {
  const after = last.position;
  if (position === after) {
    throw broken("fork", `receipts ${last.id} and ${id} both have position ${position}: the chain forks`);
  }
  if (position < after) {
    const message = `receipt ${id} with position ${position} comes after position ${after}: the receipts are out of order`;
    throw broken("reordered", message);
  }
  if (position !== after + 1n) {
    throw broken("gap", `position ${after + 1n} is missing: receipt ${id} has position ${position}`);
  }
  const metadata = metadataOf(document);
  const [hash, previous] = [metadata.get("previous_receipt_hash"), metadata.get("previous_receipt")];
  // An id does not fix the content of the predecessor; its hash does.
  if (typeof hash !== "string") {
    throw broken("unpinned", `receipt ${id} has no \`metadata.previous_receipt_hash\`: an id alone pins nothing`);
  }
  if (hash === last.hash && typeof previous === "string" && receiptId(previous) === last.id) return;
  const message = `receipt ${id} pins another predecessor than ${last.id}, the one before it: that one was replaced or changed`;
  throw broken("swapped_predecessor", message);
}

/** The end that the document states the chain has lost. @param {JsonObject} document @param {string} id */
function lostEnd(document, id) {
  const loss = metadataOf(document).get("chain_loss");
  if (loss === undefined) return null;
  const [position, hash] = loss instanceof Map ? [loss.get("position"), loss.get("hash")] : [];
  const count = position instanceof JsonNumber ? position.count : null;
  if (count !== null && typeof hash === "string" && isDigest(hash)) return { position: count, hash };
  const message = `receipt ${id} has a \`metadata.chain_loss\` without a position or a hash, so what was lost is not known`;
  throw broken("unreadable_loss", message);
}

/** @param {string} code @param {string} message @param {string} [help] */
function broken(code, message, help) {
  return new Refused(code, message, { answer: "invalid", help });
}

/** @param {JsonObject} document @returns {JsonObject} */
function metadataOf(document) {
  const metadata = document.get("metadata");
  return metadata instanceof Map ? metadata : new Map();
}

/** @param {JsonObject} document @returns {bigint | null} */
function chainPosition(document) {
  const position = metadataOf(document).get("chain_position");
  return position instanceof JsonNumber ? position.count : null;
}

/** The signer that `signature` names, not verified. @param {JsonObject} document */
function namedSigner(document) {
  const signature = document.get("signature");
  const named = signature instanceof Map ? signature.get("signer_id") : undefined;
  try {
    return typeof named === "string" ? signerId(signerKey(named)) : null;
  } catch {
    return null;
  }
}
