/** The verification of one document: its format, then its hash in canonical form, then its signature. */

import { PROFILES } from "./canonical.js";
import { claimsDecision, readDecision } from "./decision.js";
import { parse } from "./json.js";
import { readHead } from "./head.js";
import { unixMillis } from "./members.js";
import { checkPasskey } from "./passkey.js";
import { checkVerdict, readReceipt } from "./receipt.js";
import { Refused } from "./refused.js";
import { claimsSession } from "./session.js";
import { checkShown } from "./shown.js";
import { unsigned, verifyDocument, verifySignature } from "./signature.js";
import { Signers } from "./signer.js";

/** @typedef {import("./json.js").Json} Json */
/** @typedef {import("./json.js").JsonObject} JsonObject */
/** @typedef {import("./number.js").Profile} Profile */
/** @typedef {import("./receipt.js").Receipt} Receipt */
/** @typedef {import("./signer.js").Trust} Trust */
/** @typedef {import("./signer.js").TrustedSigner} TrustedSigner */
/** @typedef {import("./text.js").Source} Source */

/** @typedef {"receipt" | "decision_receipt" | "session_entry" | "chain_head"} Kind */
/** @typedef {"valid" | "invalid" | "undecidable"} Answer */

/** @type {Readonly<Record<Kind, readonly string[]>>} The path to the date. */
const DATES = {
  receipt: ["verified_at"],
  decision_receipt: ["binding", "decided_at"],
  session_entry: ["at"],
  chain_head: ["signed_at"],
};

/**
 * The verification of one document.
 *
 * @typedef {object} Verification
 * @property {Kind} kind what the document says it is
 * @property {Answer} answer `valid` only if it is exactly what its signer signed
 * @property {Trust} trust `trusted` only if it is valid and its signer is one of `trusted`
 * @property {string | null} signer the signer's id, when valid
 * @property {string | null} cause a stable code (docs/receipts.md), unless valid
 * @property {string | null} message the cause, for people
 * @property {string | null} help what to do about it
 * @property {Profile | null} wouldVerifyUnder another canonical form that explains the failure; the document is not valid
 * @property {Json | undefined} document what was read, whatever the answer; undefined if it is not JSON
 */

/**
 * @typedef {object} Options
 * @property {readonly TrustedSigner[]} [trusted] the signers whom you trust; without any, trust is `unknown`
 * @property {Profile} [profile] the canonical form that the issuer hashes
 */

/**
 * Verifies a receipt, a decision receipt or an entry of a session, whichever the document says it is.
 *
 * @param {Source} source the document as received; prefer bytes to text
 * @param {Options} [options]
 * @returns {Promise<Verification>}
 * @throws {RangeError} if an option is not valid; never because of the document
 */
export async function verify(source, { trusted = [], profile = "vrf" } = {}) {
  if (!PROFILES.includes(profile)) throw new RangeError(`unknown profile: write one of ${PROFILES.join(", ")}`);
  const signers = new Signers(trusted);
  const [document, refused] = read(source);
  if (refused || document === undefined) return refusedBecause("receipt", refused, document);
  if (document instanceof Map && claimsDecision(document)) {
    return judged("decision_receipt", document, signers, async () => {
      const signer = await verifyDocument(document);
      // The signature first: a document that its signer did not sign is invalid, whatever its format.
      readDecision(document);
      return signer;
    });
  }
  if (document instanceof Map && claimsSession(document)) {
    return judged("session_entry", document, signers, () => verifyDocument(document));
  }
  const verification = await judged("receipt", document, signers, async () => {
    const receipt = readReceipt(document);
    const signer = await verifyReceipt(receipt, profile);
    // An approval that names a passkey is what it says only if the passkey has signed it, too.
    await checkPasskey(receipt.document);
    await checkShown(receipt.document);
    return signer;
  });
  return { ...verification, wouldVerifyUnder: await hint(verification, profile) };
}

/**
 * Verifies a signed chain head. Whether a chain ends there is `verifyChain`.
 *
 * @param {Source} source
 * @param {{ trusted?: readonly TrustedSigner[] }} [options]
 * @returns {Promise<Verification>}
 * @throws {RangeError} if an option is not valid
 */
export async function verifyHead(source, { trusted = [] } = {}) {
  const signers = new Signers(trusted);
  const [document, refused] = read(source);
  if (refused || document === undefined) return refusedBecause("chain_head", refused, document);
  return judged("chain_head", document, signers, () => {
    const head = readHead(document);
    return verifySignature(head.document, head.signature, head.document.get("issuer_key") ?? null, "vrf");
  });
}

/**
 * The date by which the keys of signers end: what the document says, in milliseconds since 1970.
 *
 * @param {Kind} kind @param {Json | undefined} document
 * @returns {number} `Infinity` where it says none: after the end of every key
 */
export function dateOf(kind, document) {
  let value = document;
  for (const name of DATES[kind]) value = value instanceof Map ? value.get(name) : undefined;
  return (typeof value === "string" ? unixMillis(value) : null) ?? Infinity;
}

/** @param {Receipt} receipt @param {Profile} profile @returns {Promise<string>} */
async function verifyReceipt({ document, signature }, profile) {
  if (!signature) throw unsigned();
  const metadata = document.get("metadata");
  const issuerKey = metadata instanceof Map ? metadata.get("issuer_key") : undefined;
  const signer = await verifySignature(document, signature, issuerKey, profile);
  // The signature first: a receipt whose verdict was changed is not what its signer signed.
  checkVerdict(document);
  return signer;
}

/** @param {Source} source @returns {[Json | undefined, Refused | null]} */
function read(source) {
  try {
    return [parse(source), null];
  } catch (error) {
    if (error instanceof Refused) return [undefined, error];
    throw error;
  }
}

/**
 * @param {Kind} kind @param {Json} document @param {Signers} signers
 * @param {() => Promise<string>} check gives the signer
 * @returns {Promise<Verification>}
 */
async function judged(kind, document, signers, check) {
  let signer;
  try {
    signer = await check();
  } catch (error) {
    if (error instanceof Refused) return refusedBecause(kind, error, document);
    throw error;
  }
  const trust = signers.trust(signer, dateOf(kind, document));
  return { kind, answer: "valid", trust, signer, cause: null, message: null, help: null, wouldVerifyUnder: null, document };
}

/**
 * @param {Kind} kind @param {Refused | null} refused @param {Json | undefined} document
 * @returns {Verification}
 */
function refusedBecause(kind, refused, document) {
  return {
    kind,
    answer: refused?.answer ?? "undecidable",
    // Anyone can name a trusted signer in a document that is not valid.
    trust: "unknown",
    signer: null,
    cause: refused?.code ?? null,
    message: refused?.message ?? null,
    help: refused?.help ?? null,
    wouldVerifyUnder: null,
    document,
  };
}

/** Causes that another canonical form can explain. */
const OF_THE_FORM = ["content_hash_mismatch", "number_not_exact", "number_not_finite", "integer_too_long"];
const NOBODY = new Signers([]);
const RESPELT = "`signature.signer_id` is not in the one spelling";

/**
 * Another profile under which the receipt would verify. It explains the failure and never makes the receipt valid.
 *
 * @param {Verification} verification @param {Profile} asked
 * @returns {Promise<Profile | null>}
 */
async function hint({ cause, message, document }, asked) {
  const explained = cause !== null && OF_THE_FORM.includes(cause)
    || cause === "invalid_signer_id" && (message ?? "").startsWith(RESPELT);
  if (!explained || document === undefined) return null;
  for (const profile of PROFILES) {
    if (profile === asked) continue;
    const other = await judged("receipt", document, NOBODY, () => verifyReceipt(readReceipt(document), profile));
    if (other.answer === "valid") return profile;
  }
  return null;
}
