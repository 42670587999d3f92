/** What documents say, in words for people. A document may be of any form: what is not as expected is left out. */

import { toText } from "../src/canonical.js";
import { JsonNumber } from "../src/number.js";

/** @typedef {import("../src/json.js").Json} Json */
/** @typedef {import("../src/verify.js").Verification} Verification */

/** @typedef {"pass" | "fail" | "wait" | "none" | "plain"} Tone */
/** @typedef {{ name: string, value: string, form?: "code" | "time" }} Fact */
/** @typedef {{ tone: Tone, word: string, name: string, rows: Fact[] }} Item */
/** @typedef {{ tone: Tone, word: string, title: string, facts: Fact[], heading: string, items: Item[] }} Summary */

/** @type {Readonly<Record<string, [Tone, string]>>} */
const VERDICTS = { pass: ["pass", "pass"], fail: ["fail", "fail"], partial: ["wait", "partial"], error: ["none", "no verdict"] };
/** @type {Readonly<Record<string, [Tone, string]>>} */
const STATUSES = { pass: ["pass", "pass"], fail: ["fail", "fail"], error: ["none", "no answer"] };
/** @type {Readonly<Record<string, [Tone, string]>>} */
const MODES = {
  continue_downstream: ["pass", "The action may execute"],
  local_replan: ["fail", "The action may not execute: the same goal, without it"],
  upstream_replan: ["fail", "The action may not execute: what is missing must come from before"],
  human_review: ["wait", "The action waits for a reviewer"],
  terminal_block: ["fail", "The action may not execute, and this path ends"],
};
/** @type {Readonly<Record<string, string>>} */
const TIERS = { 0: "its tests were run", 1: "constraints were checked", 2: "other verifiers were asked", 3: "a person judged" };
/** @type {Readonly<Record<string, string>>} */
const KINDS = {
  receipt: "Receipt", decision_receipt: "Decision", session_entry: "Entry of a session", chain_head: "Head of a chain",
};
/** @type {Readonly<Record<string, string>>} */
const INVALID = {
  content_hash_mismatch: "Invalid: it was changed after signing",
  signature_mismatch: "Invalid: the signature is not that of its signer",
  issuer_key_mismatch: "Invalid: another key signed it again",
};
/** @type {Readonly<Record<string, string>>} */
const UNDECIDABLE = {
  cannot_check_here: "This browser cannot check it here",
  unsigned: "Cannot be checked: it is not signed, so it proves nothing",
};

/**
 * The answer in one sentence.
 *
 * @param {Verification} verification
 * @returns {{ tone: Tone, word: string, sentence: string }}
 */
export function answerOf({ answer, cause, document }) {
  if (answer === "valid") return { tone: "pass", word: "Valid", sentence: "Valid: it is what was signed" };
  const of = (/** @type {Readonly<Record<string, string>>} */ words) => (Object.hasOwn(words, cause ?? "") ? words[cause ?? ""] : undefined);
  if (answer === "invalid") return { tone: "fail", word: "Invalid", sentence: of(INVALID) ?? "Invalid" };
  const sentence = of(UNDECIDABLE) ?? (document === undefined ? "Cannot be read as a receipt" : "Cannot be checked");
  return { tone: "none", word: "Cannot be checked", sentence };
}

/** @param {string} kind */
export function kindOf(kind) {
  return KINDS[kind] ?? "Document";
}

/**
 * What a document says.
 *
 * @param {Verification} verification
 * @returns {Summary}
 */
export function summaryOf({ kind, document }) {
  if (kind === "decision_receipt") return decision(document);
  if (kind === "session_entry") return entry(document);
  return kind === "chain_head" ? head(document) : receipt(document);
}

/** @param {Json | undefined} document @returns {Summary} */
function receipt(document) {
  const verdict = text(document, "verdict"), [tone, word] = known(VERDICTS, verdict) ?? ["plain", verdict || "Receipt"];
  const [passed, total] = [number(document, "results", "passed"), number(document, "results", "total")];
  const counts = passed !== "" && total !== "" ? `${passed} of ${total} checks passed` : "A receipt";
  const description = text(document, "task", "description"), tier = number(document, "tier");
  const details = list(document, "results", "details");
  const others = details.filter(detail => text(detail, "status") !== "pass");
  return {
    tone, word,
    title: description === "" ? counts : `${counts}: ${description}`,
    facts: facts([
      ["Task", text(document, "task", "task_id")],
      ["Verified", text(document, "verified_at"), "time"],
      ["Tier", tier === "" ? "" : `${tier}, ${TIERS[tier] ?? "unknown"}`],
      ["By", text(document, "metadata", "verifier")],
      ["Ran on", text(document, "metadata", "runtime")],
      ["Chain", position(document)],
      ["Specification", text(document, "hashes", "specification"), "code"],
      ["Output", text(document, "hashes", "output"), "code"],
      ["Tests", text(document, "hashes", "tests"), "code"],
      ["Id", text(document, "receipt_id"), "code"],
    ]),
    heading: "Checks that did not pass",
    items: others.map(check),
  };
}

/** @param {Json} detail @returns {Item} */
function check(detail) {
  const status = text(detail, "status"), [tone, word] = known(STATUSES, status) ?? ["plain", status];
  const rows = ["decided", "input", "expected", "actual", "difference", "message", "constraint", "location", "stdout", "stderr"];
  return { tone, word, name: text(detail, "name"), rows: facts(rows.map(name => [name, text(detail, name), "code"])) };
}

/** @param {Json | undefined} document @returns {Summary} */
function decision(document) {
  const mode = text(document, "disposition", "mode"), outcome = text(document, "outcome");
  const [tone, title] = known(MODES, mode) ?? ["plain", "A decision"];
  return {
    tone: outcome === "allow_with_warning" && tone === "pass" ? "wait" : tone,
    word: outcome === "" ? "decision" : outcome.replaceAll("_", " "),
    title,
    facts: facts([
      ["Action", text(document, "action_class")],
      ["Agent", text(document, "binding", "agent")],
      ["Environment", text(document, "binding", "environment")],
      ["Account", text(document, "binding", "account")],
      ["Separation", text(document, "binding", "separation") || "none"],
      ["Session", text(document, "binding", "session", "name")],
      ["Decided", text(document, "binding", "decided_at"), "time"],
      ["Holds until", text(document, "binding", "expires_at"), "time"],
      ["Chain", position(document)],
      ["The action", text(document, "binding", "action_hash"), "code"],
      ["The policy", text(document, "binding", "policy_hash"), "code"],
      ["The facts", text(document, "binding", "facts_hash"), "code"],
      ["Id", text(document, "decision_id"), "code"],
    ]),
    heading: "Why",
    items: list(document, "reasons").map(reason => ({
      tone: "plain", word: text(reason, "code"), name: text(reason, "message"), rows: facts([["rule", text(reason, "rule")], ["detail", text(reason, "detail")]]),
    })),
  };
}

/** @param {Json | undefined} document @returns {Summary} */
function entry(document) {
  const allowed = member(document, "allowed"), kind = text(document, "kind");
  /** @type {[Tone, string]} */
  const [tone, word] = allowed === true ? ["pass", "allowed"] : allowed === false ? ["fail", "blocked"] : ["plain", kind || "entry"];
  const tool = text(document, "tool") || text(document, "server");
  const said = new Set(["record_type", "entry_id", "session", "kind", "at", "metadata", "issuer_key", "signature", "tool", "server"]);
  const others = document instanceof Map ? [...document].filter(([name]) => !said.has(name)) : [];
  return {
    tone, word,
    title: [kind, tool].filter(part => part !== "").join(": ") || "An entry of a session",
    facts: facts([
      ["Session", text(document, "session")],
      ["At", text(document, "at"), "time"],
      ["Chain", position(document)],
      ["Id", text(document, "entry_id"), "code"],
    ]),
    heading: "What was recorded",
    items: others.length === 0 ? [] : [{
      tone: "plain", word: "recorded", name: "As the guard wrote it",
      rows: facts(others.map(([name, value]) => [name, typeof value === "string" ? value : toText(value), "code"])),
    }],
  };
}

/** @param {Json | undefined} document @returns {Summary} */
function head(document) {
  const length = number(document, "length"), chain = text(document, "chain");
  return {
    tone: "plain", word: "head",
    title: `${length === "" ? "Some" : length} ${length === "1" ? "document" : "documents"} in the chain ${chain}`,
    facts: facts([
      ["Signed", text(document, "signed_at"), "time"],
      ["Last document", text(document, "tip"), "code"],
    ]),
    heading: "", items: [],
  };
}

/** @param {Json | undefined} document */
function position(document) {
  const found = number(document, "metadata", "chain_position"), before = text(document, "metadata", "previous_receipt");
  if (found === "") return "";
  return before === "" ? `position ${found}` : `position ${found}, after ${before}`;
}

/** @param {[string, string, ("code" | "time")?][]} rows @returns {Fact[]} those that have a value */
function facts(rows) {
  return rows.filter(([, value]) => value !== "").map(([name, value, form]) => (form ? { name, value, form } : { name, value }));
}

/**
 * @template Value
 * @param {Readonly<Record<string, Value>>} table @param {string} word
 */
function known(table, word) {
  return Object.hasOwn(table, word) ? table[word] : undefined;
}

/** @param {Json | undefined} document @param {string[]} path @returns {Json | undefined} */
function member(document, ...path) {
  return path.reduce((value, name) => (value instanceof Map ? value.get(name) : undefined), document);
}

/** @param {Json | undefined} document @param {string[]} path */
function text(document, ...path) {
  const value = member(document, ...path);
  return typeof value === "string" ? value : "";
}

/** @param {Json | undefined} document @param {string[]} path */
function number(document, ...path) {
  const value = member(document, ...path);
  return value instanceof JsonNumber ? value.text : "";
}

/** @param {Json | undefined} document @param {string[]} path */
function list(document, ...path) {
  const value = member(document, ...path);
  return Array.isArray(value) ? value : [];
}
