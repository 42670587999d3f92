/** The format of VRF 1.0 receipts. */

import { Members, notAnInteger, receiptId } from "./members.js";
import { Refused } from "./refused.js";
import { shown } from "./text.js";

/** @typedef {import("./json.js").Json} Json */
/** @typedef {import("./json.js").JsonObject} JsonObject */

const MAX_COUNT = 2n ** 64n - 1n;
const VERDICTS = ["pass", "fail", "partial", "error"];
const STATUSES = ["pass", "fail", "error"];
const DECIDERS = ["verifier", "submission"];
const SIGNATURE = ["algorithm", "signer_id", "content_hash", "signature"];

/**
 * @typedef {object} Signature
 * @property {string} algorithm
 * @property {string} signerId
 * @property {string} contentHash
 * @property {string} signature
 */

/**
 * @typedef {object} Receipt
 * @property {string} id in lower case
 * @property {JsonObject} document
 * @property {Signature | undefined} signature not verified
 */

/**
 * Checks every rule of the format except the signature.
 *
 * @param {Json} document
 * @returns {Receipt}
 * @throws {Refused}
 */
export function readReceipt(document) {
  const top = Members.top(document);
  const version = top.string("vrf_version");
  if (version !== "1.0") {
    throw new Refused("unsupported_version", `\`vrf_version\` is \`${shown(version)}\`, expected \`1.0\``);
  }
  top.string("verdict");
  const id = readId(top.string("receipt_id"));
  top.timestamp("verified_at");
  checkTier(top);
  top.word("verdict", "verdict", VERDICTS);
  const task = top.optionalObject("task");
  ["task_id", "task_type", "description"].forEach(name => task?.optionalString(name));
  checkResults(top.object("results"));
  const hashes = top.object("hashes");
  hashes.digest("specification");
  hashes.digest("output");
  hashes.optionalDigest("tests");
  const signature = top.optionalObject("signature");
  const read = signature && readSignature(signature);
  // Only its type is checked; what is in it is free.
  top.optionalObject("metadata");
  return { id, document: top.members, signature: read };
}

/**
 * The `signature` object: its four members, and no other.
 *
 * @param {Members} members
 * @returns {Signature}
 */
export function readSignature(members) {
  // No signature covers this object: anyone could add a member to a receipt that stays valid.
  members.only(SIGNATURE);
  return {
    algorithm: members.string("algorithm"),
    signerId: members.string("signer_id"),
    contentHash: members.string("content_hash"),
    signature: members.string("signature"),
  };
}

/** @param {string} text */
function readId(text) {
  const id = receiptId(text);
  if (id !== null) return id;
  const help = "write it as in `f47ac10b-58cc-4372-a567-0e02b2c3d479`";
  throw new Refused("invalid_receipt_id", `\`receipt_id\`: \`${shown(text)}\` is not a UUID version 4`, { help });
}

/** @param {Members} top */
function checkTier(top) {
  const tier = top.number("tier");
  if (!tier.isInteger) throw notAnInteger("tier");
  if (tier.count !== null && tier.count <= 3n) return;
  throw new Refused("tier_out_of_range", `\`tier\` is ${shown(tier.text)}, expected 0, 1, 2 or 3`);
}

/**
 * Checks that the verdict can be that of the counts. A project's tests can all pass and its command fail, so `fail` can
 * have any, and `error` says nothing about the work.
 *
 * @param {import("./json.js").JsonObject} document of a receipt that was read
 * @throws {Refused}
 */
export function checkVerdict(document) {
  const top = Members.top(document);
  const verdict = top.string("verdict");
  const results = top.object("results");
  const [total, passed] = [results.count("total"), results.count("passed")];
  const agrees = verdict === "pass" ? passed === total && total > 0n : verdict !== "partial" || passed > 0n && passed < total;
  if (agrees) return;
  const message = `\`verdict\` is \`${verdict}\`, but \`results\` say that ${passed} of ${total} checks passed`;
  throw new Refused("verdict_mismatch", message);
}

/** @param {Members} results */
function checkResults(results) {
  const [total, passed, failed, errors] =
    [results.count("total"), results.count("passed"), results.count("failed"), results.count("errors")];
  /** @type {Map<string, bigint>} */
  const listed = new Map();
  for (const detail of results.objects("details")) {
    const status = checkDetail(detail);
    listed.set(status, (listed.get(status) ?? 0n) + 1n);
  }
  const sum = passed + failed + errors;
  if (sum !== total || sum > MAX_COUNT) {
    const parts = `passed ${passed}, failed ${failed} and errors ${errors} do not add up to it`;
    throw new Refused("total_mismatch", `\`results.total\` is ${total}, but ${parts}`);
  }
  // Details may leave checks out, so fewer are fine.
  for (const [status, counted] of /** @type {const} */ ([["pass", passed], ["fail", failed], ["error", errors]])) {
    const found = listed.get(status) ?? 0n;
    if (found <= counted) continue;
    const message = `\`results.details\` lists ${found} checks with status \`${status}\`, but the count says ${counted}`;
    throw new Refused("details_mismatch", message);
  }
}

/** @param {Members} detail @returns {string} its status */
function checkDetail(detail) {
  detail.string("status");
  detail.string("name");
  const status = detail.word("status", "status", STATUSES);
  detail.optionalString("expected");
  detail.optionalString("actual");
  detail.optionalCount("elapsed_ms");
  detail.optionalString("message");
  detail.optionalString("constraint");
  detail.optionalWord("decided", "decided", DECIDERS);
  return status;
}
