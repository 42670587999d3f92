/**
 * Verifies Proofmark's receipts, decision receipts, sessions and chains offline, and proofs of its transparency logs, with
 * the answers and causes of `proofmark receipt verify` and `proofmark log verify`.
 *
 * @module
 */

export { PROFILES, canonical, toText } from "./canonical.js";
export { splitDocuments, verifyChain } from "./chain.js";
export { hashFile, placesOf } from "./file.js";
export { MAX_BYTES, MAX_DEPTH, MAX_VALUES, parse } from "./json.js";
export { JsonNumber } from "./number.js";
export { verifyProof } from "./proof.js";
export { Refused } from "./refused.js";
export { fingerprint, readSigners } from "./signer.js";
export { verify, verifyHead } from "./verify.js";

/** @typedef {import("./chain.js").ChainVerification} ChainVerification */
/** @typedef {import("./chain.js").Links} Links */
/** @typedef {import("./json.js").Json} Json */
/** @typedef {import("./number.js").Profile} Profile */
/** @typedef {import("./proof.js").ProofOptions} ProofOptions */
/** @typedef {import("./proof.js").ProofVerification} ProofVerification */
/** @typedef {import("./signer.js").EndingSigner} EndingSigner */
/** @typedef {import("./signer.js").TrustedSigner} TrustedSigner */
/** @typedef {import("./verify.js").Options} Options */
/** @typedef {import("./verify.js").Verification} Verification */
