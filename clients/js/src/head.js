/** The format of signed chain heads. */

import { Members } from "./members.js";
import { readSignature } from "./receipt.js";
import { Refused } from "./refused.js";
import { shown } from "./text.js";

/** @typedef {import("./json.js").Json} Json */
/** @typedef {import("./json.js").JsonObject} JsonObject */

const FORMAT = "proofmark-chain-head/1";

/**
 * A signed statement of a chain's length and last receipt.
 *
 * @typedef {object} Head
 * @property {JsonObject} document
 * @property {bigint} length the number of receipts
 * @property {string} tip the hash of the last receipt
 * @property {import("./receipt.js").Signature} signature not verified
 */

/**
 * Checks every rule of the format except the signature.
 *
 * @param {Json} document
 * @returns {Head}
 * @throws {Refused}
 */
export function readHead(document) {
  const top = Members.top(document);
  const format = top.string("format");
  if (format !== FORMAT) {
    throw new Refused("wrong_format", `\`format\` is \`${shown(format)}\`, expected \`${FORMAT}\``);
  }
  top.string("chain");
  top.timestamp("signed_at");
  const length = top.count("length"), tip = top.digest("tip");
  return { document: top.members, length, tip, signature: readSignature(top.object("signature")) };
}
