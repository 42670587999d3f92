/** Signatures of documents. */

import { canonical, checkNumbers } from "./canonical.js";
import { sha256, verifyStrictly } from "./ed25519.js";
import { Members } from "./members.js";
import { readSignature } from "./receipt.js";
import { Refused } from "./refused.js";
import { signerId, signerKey } from "./signer.js";
import { shown, unhex, utf8 } from "./text.js";

/** @typedef {import("./json.js").Json} Json */
/** @typedef {import("./json.js").JsonObject} JsonObject */
/** @typedef {import("./number.js").Profile} Profile */
/** @typedef {import("./receipt.js").Signature} Signature */

/**
 * Verifies the signature of a document that holds it:
 *
 * 1. `content_hash` = hex(SHA-256(canonical(document without `signature`)));
 * 2. Ed25519-verify-strict(`signer_id`, ASCII(`content_hash`), `signature`);
 * 3. `issuer_key` = `signer_id`, where the document has one: it is signed, and `signer_id` is not.
 *
 * @param {JsonObject} document
 * @param {Signature} signature
 * @param {Json | undefined} issuerKey
 * @param {Profile} profile
 * @returns {Promise<string>} the signer's id
 * @throws {Refused}
 */
export async function verifySignature(document, signature, issuerKey, profile) {
  const { algorithm, contentHash } = signature;
  if (algorithm !== "ed25519") {
    throw new Refused("unknown_algorithm", `\`signature.algorithm\` is \`${shown(algorithm)}\`, expected \`ed25519\``);
  }
  const key = signer(signature.signerId, profile);
  const claimed = contentHash.startsWith("sha256:") ? contentHash.slice(7) : contentHash;
  if (!unhex(claimed, 32)) {
    throw new Refused("invalid_content_hash", "`signature.content_hash` is not 64 lower-case hex digits");
  }
  const bytes = unhex(signature.signature, 64);
  if (!bytes) throw new Refused("invalid_signature", "`signature.signature` is not 128 lower-case hex digits");
  // A number that two readers understand differently may stand for two values under one hash.
  checkNumbers(document, profile);
  if (await sha256(canonical(document, profile, "signature")) !== `sha256:${claimed}`) {
    throw invalid("content_hash_mismatch", "the content does not match `signature.content_hash`: it was changed after signing, or hashed in another canonical form");
  }
  // The text as written: an issuer who begins it with `sha256:` has signed that, too.
  if (!await verifyStrictly(key, utf8(contentHash), bytes)) {
    throw invalid("signature_mismatch", "the signature is not that of `signature.signer_id` over `signature.content_hash`");
  }
  // The same text, not the same key: a key has several spellings, of which the issuer has signed one.
  if (issuerKey !== undefined && issuerKey !== signature.signerId) {
    throw invalid("issuer_key_mismatch", "the signed `issuer_key` is not the same text as `signature.signer_id`: another key signed the same content, or the key was respelled");
  }
  return signerId(key);
}

/**
 * Verifies a document of another format than VRF, which must name its signer in `issuer_key`, at the top.
 *
 * @param {JsonObject} document
 * @returns {Promise<string>} the signer's id
 * @throws {Refused}
 */
export async function verifyDocument(document) {
  if (!document.has("signature")) throw unsigned();
  const signature = readSignature(new Members(document).object("signature"));
  return verifySignature(document, signature, document.get("issuer_key") ?? null, "vrf");
}

export function unsigned() {
  return new Refused("unsigned", "no `signature`: an unsigned claim");
}

/**
 * `signer_id` is not signed, so under the profile `vrf` it has one spelling: otherwise anyone could respell it in a receipt
 * that stays valid, and change the receipt's hash.
 *
 * @param {string} text @param {Profile} profile
 */
function signer(text, profile) {
  const key = named(text);
  if (profile !== "vrf" || signerId(key) === text) return key;
  throw new Refused("invalid_signer_id", "`signature.signer_id` is not in the one spelling of profile `vrf`, base64 of the key's SubjectPublicKeyInfo: the receipt is of another issuer, or the key was respelled");
}

/** @param {string} text */
function named(text) {
  try {
    return signerKey(text);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    throw new Refused(error.code, `\`signature.signer_id\`: ${error.message}`, { help: error.help });
  }
}

/** @param {string} code @param {string} message */
function invalid(code, message) {
  return new Refused(code, message, { answer: "invalid" });
}
