/** promptfoo: an assertion that verifies an output. promptfoo loads this file by itself. */

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";

import { verify } from "@proofmark/verify";

import { Client } from "../client.js";
import { trustedSigners } from "../decision.js";
import { Local } from "../local.js";

/** @typedef {import("../types.js").Receipt} Receipt */
/** @typedef {{ pass: boolean, score: number, reason: string, componentResults?: GradingResult[], metadata?: { receipt: Receipt } }} GradingResult */

/**
 * @typedef {object} Config
 * @property {string | object} request how the output is checked: a request without `output`, or its JSON file
 * @property {string | undefined} [url] the server that verifies; else the command `proofmark` of this machine does
 * @property {string | undefined} [home] where the command keeps receipts and keys
 * @property {string | undefined} [binary] the command
 * @property {string | undefined} [chain] the chain that the receipt becomes part of
 * @property {number | undefined} [timeoutMs] how long a verification may take
 * @property {string | readonly string[] | undefined} [trusted] whose receipts count: the text of public key files, or signer ids
 */

/** What the `config` of the assertion may have. */
const OPTIONS = ["request", "url", "home", "binary", "chain", "timeoutMs", "trusted"];

/**
 * Verifies an output: `{type: javascript, value: "package:proofmark/promptfoo:verified", config: {request: sort.json}}`.
 *
 * Each check is one of `componentResults`, and the signed receipt is in `metadata`.
 *
 * @param {unknown} output
 * @param {{ config?: any }} context
 * @returns {Promise<GradingResult>}
 * @throws {Error} where the output could not be verified, which is not a verdict
 */
export async function verified(output, { config }) {
  if (typeof output !== "string") throw new TypeError("the output is not a text, so it cannot be verified");
  const { request, chain, timeoutMs, trusted, ...from } = options(config);
  const asked = { ...await read(request), output: { content: output } };
  const verifier = from.url === undefined ? new Local(from) : new Client({ baseUrl: from.url });
  const receipt = await verifier.verify(asked, { chain, timeoutMs });
  await check(receipt, output, trusted === undefined ? [] : trustedSigners(trusted));
  return graded(receipt);
}

/** @param {unknown} config @returns {Config} */
function options(config) {
  if (typeof config !== "object" || config === null || !("request" in config)) throw new TypeError("the assertion has no `config.request`: name the file of a request");
  const unknown = Object.keys(config).find(name => !OPTIONS.includes(name));
  if (unknown !== undefined) throw new TypeError(`unknown \`config.${unknown}\`: an option is one of ${OPTIONS.join(", ")}`);
  return /** @type {Config} */ (config);
}

/** @param {string | object} request @returns {Promise<object>} */
async function read(request) {
  const found = typeof request === "string" ? JSON.parse(await readFile(request, "utf8")) : request;
  if (typeof found !== "object" || found === null || "output" in found) throw new TypeError("`config.request` is not a request without `output`");
  return found;
}

/**
 * A receipt counts only if it is signed, is on this output, and has a verdict on it.
 *
 * @param {Receipt} receipt @param {string} output @param {readonly import("../decision.js").TrustedSigner[]} trusted
 */
async function check(receipt, output, trusted) {
  const { answer, kind, trust, message } = await verify(JSON.stringify(receipt), { trusted });
  if (kind !== "receipt" || answer !== "valid") throw new Error(`the answer is not a valid receipt${message === null ? "" : `: ${message}`}`);
  if (trusted.length > 0 && trust !== "trusted") throw new Error("the receipt was not signed by a signer of `trusted`");
  const digest = createHash("sha256").update(output).digest("hex");
  if (receipt.hashes.output !== `sha256:${digest}`) throw new Error("the receipt is on another output");
  if (receipt.verdict === "error") throw new Error(`the output could not be verified: ${told(receipt)} (receipt ${receipt.receipt_id})`);
}

/** @param {Receipt} receipt @returns {GradingResult} */
function graded(receipt) {
  const { verdict, receipt_id, results: { passed, total, details } } = receipt;
  return {
    pass: verdict === "pass",
    score: total > 0 ? passed / total : 0,
    reason: `${verdict}: ${passed} of ${total} checks passed (receipt ${receipt_id})`,
    componentResults: details.map(gradedCheck),
    metadata: { receipt },
  };
}

/** @param {{ name: string, status: string, difference?: string, message?: string }} check @returns {GradingResult} */
function gradedCheck({ name, status, difference, message }) {
  const pass = status === "pass";
  return { pass, score: pass ? 1 : 0, reason: [`${name}: ${status}`, message, difference].filter(text => text !== undefined).join("\n") };
}

/** The messages of checks that could not be run. @param {Receipt} receipt */
function told({ results }) {
  const said = results.details.filter((/** @type {any} */ { status }) => status === "error").map((/** @type {any} */ { name, message }) => `${name}: ${message ?? "error"}`);
  return said.join("; ") || "no check was run";
}
