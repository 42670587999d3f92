/** The answer of a decider, and the checks that it must pass. */

import { createHash } from "node:crypto";

import { canonical, parse, readSigners, verify } from "@proofmark/verify";

import { snapshot } from "./snapshot.js";

/** @typedef {import("./snapshot.js").JsonValue} JsonValue */
/** @typedef {import("./types.js").Disposition} Disposition */
/** @typedef {import("./types.js").DecisionReceipt} DecisionReceipt */
/** @typedef {import("./types.js").Coded} Coded */
/** @typedef {import("@proofmark/verify").TrustedSigner} TrustedSigner */

/**
 * A decision on one call.
 *
 * @typedef {object} Decision
 * @property {string} id
 * @property {"allow" | "allow_with_warning" | "replan_required" | "goal_fail_terminal"} outcome
 * @property {Disposition} disposition how the agent continues
 * @property {boolean} allowed whether the call may be executed now, once
 * @property {readonly Coded[]} reasons
 * @property {readonly Coded[]} nextSteps
 * @property {string | undefined} url the page of the decision; undefined where no server decided
 * @property {string} tool
 * @property {string} klass
 * @property {JsonValue} args exactly what was decided on, frozen
 * @property {DecisionReceipt} receipt the signed document
 * @property {string} text the signed document as it was received: keep this one
 */

/**
 * What is asked of a decider.
 *
 * @typedef {object} Question
 * @property {string} tool
 * @property {string} klass
 * @property {JsonValue} args
 * @property {string} text the request
 * @property {string} actionHash SHA-256 of the action in canonical form, which the answer has to name
 * @property {string} factsHash SHA-256 of the whole request in canonical form, which the answer has to name, too
 * @property {string | undefined} policy the name of the policy that is to decide
 */

/**
 * @typedef {object} Action
 * @property {string} tool
 * @property {string} klass
 * @property {string | undefined} target
 * @property {import("./snapshot.js").Snapshot} args
 */

/** The longest name of a tool, class or target, in bytes, as the server takes it. */
const MAX_NAME_BYTES = 4_096;

/** When decisions expire, by `performance.now()`. @type {WeakMap<Decision, number>} */
const ENDS = new WeakMap();

/**
 * The question whether an action may be executed.
 *
 * @param {Action} action
 * @param {{ agent: { readonly [name: string]: string }, context: import("./snapshot.js").Snapshot, policy: string | undefined }} around
 * @returns {Question}
 * @throws {TypeError} for what is not JSON
 */
export function question({ tool, klass, target, args }, { agent, context, policy }) {
  for (const [name, text] of Object.entries({ tool, klass, target })) checkName(name, text);
  const members = [
    `"tool":${JSON.stringify(tool)}`,
    `"class":${JSON.stringify(klass)}`,
    // The server adds it if it is missing, and hashes it with the rest.
    `"boundary":${klass === "memory_write" ? '"memory_write"' : '"action_execute"'}`,
    ...(target === undefined ? [] : [`"target":${JSON.stringify(target)}`]),
    `"args":${args.text}`,
  ];
  const asked = `{${members.join(",")}}`;
  for (const name of ["action", "agent"].filter(name => Object.hasOwn(Object(context.value), name))) {
    throw new TypeError(`\`context\` has \`${name}\`, which only the guard sets`);
  }
  const facts = withoutNull(context);
  const others = facts.text === "{}" ? "" : `,${facts.text.slice(1, -1)}`;
  const text = `{"action":${asked},"agent":${snapshot(agent, "agent").text}${others}}`;
  return { tool, klass, args: args.value, policy, text, actionHash: digest(asked), factsHash: digest(text) };
}

/** The server takes an `upstream` of null as left out, and hashes the rest. @param {import("./snapshot.js").Snapshot} context */
function withoutNull(context) {
  const { upstream, ...others } = Object(context.value);
  return upstream === null ? snapshot(others, "context") : context;
}

/** SHA-256 of the canonical form of a document. @param {string} text */
function digest(text) {
  return `sha256:${createHash("sha256").update(canonical(parse(text))).digest("hex")}`;
}

/** @param {string} name @param {unknown} text */
function checkName(name, text) {
  if (name === "target" && text === undefined) return;
  if (typeof text !== "string" || text === "") throw new TypeError(`\`${name}\` is not a text: name the ${name}`);
  if (Buffer.byteLength(text) > MAX_NAME_BYTES) throw new TypeError(`\`${name}\` is longer than ${MAX_NAME_BYTES} bytes`);
  snapshot(text, name);
}

/**
 * The signers that texts name.
 *
 * @param {string | readonly string[]} texts public key files or signer ids
 * @returns {TrustedSigner[]}
 * @throws {TypeError} where they name none: no signer would be trusted, or any
 */
export function trustedSigners(texts) {
  const signers = [texts].flat().map(text => readSigners(text));
  if (signers.length === 0 || signers.some(found => found.length === 0)) {
    throw new TypeError("a text of `trusted` names no signer: pass the content of public key files, or leave it out");
  }
  return signers.flat();
}

/**
 * Reads an answer, which counts only if it is a signed decision receipt on exactly what was asked.
 *
 * @param {Question} asked
 * @param {string} text
 * @param {{ sentAt: number, trusted: readonly TrustedSigner[], url: (id: string) => string | undefined }} options
 *   `sentAt` is when it was asked, by `performance.now()`
 * @returns {Promise<Decision>}
 * @throws {Error} with what is wrong
 */
export async function readDecision(asked, text, { sentAt, trusted, url }) {
  const { answer, trust, kind, message } = await verify(text, { trusted });
  if (kind !== "decision_receipt") throw new Error(`the answer is not a decision receipt${message === null ? "" : `: ${message}`}`);
  if (answer !== "valid") throw new Error(`the decision receipt is ${answer}: ${message}`);
  if (trusted.length > 0 && trust !== "trusted") throw new Error("the decision receipt was not signed by a signer of `trusted`");
  /** @type {DecisionReceipt} */
  const receipt = JSON.parse(text);
  checkSubject(asked, receipt);
  /** @type {Decision} */
  const decision = Object.freeze({
    id: receipt.decision_id.toLowerCase(),
    outcome: receipt.outcome,
    disposition: receipt.disposition.mode,
    // That all members agree with each other was verified with the signature.
    allowed: receipt.safe_to_execute,
    reasons: receipt.reasons,
    nextSteps: receipt.safe_next_steps,
    url: url(receipt.decision_id),
    tool: asked.tool,
    klass: asked.klass,
    args: asked.args,
    receipt,
    text,
  });
  ENDS.set(decision, sentAt + lifetime(receipt.binding));
  if (hasExpired(decision)) throw new Error("the decision has expired");
  return decision;
}

/** Whether a decision may no longer be executed. @param {Decision} decision */
export function hasExpired(decision) {
  return !(performance.now() <= (ENDS.get(decision) ?? -Infinity));
}

/** The milliseconds that a decision is valid. The decider's clock may differ, so its times are not compared with this one. @param {DecisionReceipt["binding"]} binding */
function lifetime({ decided_at, expires_at }) {
  return Date.parse(expires_at) - Date.parse(decided_at);
}

/** @param {Question} asked @param {DecisionReceipt} receipt */
function checkSubject(asked, { action_class, binding }) {
  if (binding.action_hash !== asked.actionHash || action_class !== asked.klass) throw new Error("the decision is on another action than was asked about");
  // All facts are bound, and one of them is new in each request: an earlier decision on the same action does not match.
  if (binding.facts_hash !== asked.factsHash) throw new Error("the decision is on another request than was sent");
  if (asked.policy !== undefined && binding.policy !== asked.policy) throw new Error("another policy has decided than was named");
}
