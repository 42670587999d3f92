/** The format of decision receipts. What they say about continuing is derived from one disposition. */

import { isDigest, receiptId, unixMillis } from "./members.js";
import { JsonNumber } from "./number.js";
import { Refused } from "./refused.js";

/** @typedef {import("./json.js").Json} Json */
/** @typedef {import("./json.js").JsonObject} JsonObject */

const RECEIPT_TYPE = "verifiedx_decision_receipt";

/** Outcome, `disposition.mode` and `routing.direction` of each disposition. */
const DISPOSITIONS = [
  ["allow", "continue_downstream", "downstream"],
  ["allow_with_warning", "continue_downstream", "downstream"],
  ["replan_required", "local_replan", "local"],
  ["replan_required", "upstream_replan", "upstream"],
  ["replan_required", "human_review", "human"],
  ["goal_fail_terminal", "terminal_block", "stop"],
];

/** @type {Readonly<Record<string, (value: Json) => boolean>>} */
const TYPES = {
  text: value => typeof value === "string",
  textOrNull: value => typeof value === "string" || value === null,
  flag: value => typeof value === "boolean",
  // Larger integers are not the same number for every reader of JSON.
  count: value => value instanceof JsonNumber && value.isSafe && value.count !== null,
  id: value => typeof value === "string" && receiptId(value) !== null,
  digest: value => typeof value === "string" && isDigest(value),
  time: value => typeof value === "string" && unixMillis(value) !== null,
  texts: value => every(value, item => typeof item === "string"),
  // Objects that have a `code` and a `message`.
  coded: value =>
    every(value, item =>
      item instanceof Map && typeof item.get("code") === "string" && typeof item.get("message") === "string"),
  objects: value => every(value, item => item instanceof Map),
  object: value => value instanceof Map,
  objectOrNull: value => value instanceof Map || value === null,
};

/** Every member of the format: the object that holds it (`""` is the top), its name and its type. */
const FORMAT = /** @type {const} */ ([
  ["", "decision_id", "id"],
  ["", "outcome", "text"],
  ["", "action_class", "textOrNull"],
  ["", "safe_to_execute", "flag"],
  ["", "human_review_terminal", "flag"],
  ["", "must_not_retry_same_action", "flag"],
  ["", "reasons", "coded"],
  ["", "safe_next_steps", "coded"],
  ["", "viewer_guidance", "texts"],
  ["", "what_would_change_this", "texts"],
  ["", "disposition", "object"],
  ["", "routing", "object"],
  ["", "resume_contract", "object"],
  ["", "runtime_loopback", "objectOrNull"],
  ["", "metadata", "object"],
  ["", "binding", "object"],
  ["", "evidence", "objects"],
  ["disposition", "mode", "text"],
  ["routing", "direction", "text"],
  ["routing", "target_hint", "textOrNull"],
  ["routing", "return_to_node", "textOrNull"],
  ["routing", "workflow_id", "textOrNull"],
  ["routing", "node_id", "textOrNull"],
  ["resume_contract", "retry_this_node", "flag"],
  ["resume_contract", "pass_receipt_upstream", "flag"],
  ["resume_contract", "pass_new_upstream_context_on_retry", "flag"],
  ["resume_contract", "resume_when", "texts"],
  ["resume_contract", "conditions", "objects"],
  ["binding", "action_hash", "digest"],
  ["binding", "policy_hash", "digest"],
  ["binding", "facts_hash", "digest"],
  ["binding", "fingerprint", "digest"],
  ["binding", "engine", "text"],
  ["binding", "steps", "count"],
  ["binding", "denied_before", "count"],
  ["binding", "decided_at", "time"],
  ["binding", "expires_at", "time"],
]);

/** The values of `binding.separation`. */
const SEPARATIONS = ["none", "account", "host"];

/**
 * Whether a document says that it is a decision receipt. With `vrf_version` it is a VRF receipt, whatever else it holds.
 *
 * @param {JsonObject} document
 */
export function claimsDecision(document) {
  return document.get("receipt_type") === RECEIPT_TYPE && !document.has("vrf_version");
}

/**
 * Checks every rule of the format except the signature.
 *
 * @param {JsonObject} document
 * @returns {string} its id, in lower case
 * @throws {Refused}
 */
export function readDecision(document) {
  for (const [place, name, type] of FORMAT) {
    const value = member(document, place, name);
    if (value !== undefined && TYPES[type]?.(value)) continue;
    const path = place === "" ? name : `${place}.${name}`;
    throw missing(path);
  }
  // Receipts of earlier decisions do not say who asked.
  const separation = member(document, "binding", "separation"), account = member(document, "binding", "account");
  const policy = member(document, "binding", "policy");
  if (separation !== undefined && !(typeof separation === "string" && SEPARATIONS.includes(separation))) throw missing("binding.separation");
  if (account !== undefined && typeof account !== "string") throw missing("binding.account");
  if (policy !== undefined && typeof policy !== "string") throw missing("binding.policy");
  if (!isSessionHead(member(document, "binding", "session"))) throw missing("binding.session");
  checkDisposition(document);
  return receiptId(String(document.get("decision_id"))) ?? "";
}

/** Whether a decision says well in which session it was made, or not at all. @param {import("./json.js").Json | undefined} session */
function isSessionHead(session) {
  if (session === undefined) return true;
  if (!(session instanceof Map) || typeof session.get("name") !== "string") return false;
  const entries = session.get("entries"), last = session.get("last_entry");
  if (!(entries instanceof JsonNumber) || !TYPES.count?.(entries)) return false;
  // Only a session without entries has no last one.
  return last === undefined ? Number(entries.count) === 0 : Number(entries.count) > 0 && TYPES.digest?.(last) === true;
}

/** Refuses a document of which a field contradicts the outcome. @param {JsonObject} document */
function checkDisposition(document) {
  const outcome = document.get("outcome"), mode = member(document, "disposition", "mode");
  const disposition = DISPOSITIONS.find(([itsOutcome, itsMode]) => itsOutcome === outcome && itsMode === mode);
  if (!disposition) throw contradiction("disposition.mode");
  const allows = mode === "continue_downstream";
  const flag = (/** @type {string} */ name, /** @type {boolean} */ due) => member(document, "disposition", name) === due;
  const rules = /** @type {const} */ ([
    ["safe_to_execute", document.get("safe_to_execute") === allows],
    ["human_review_terminal", document.get("human_review_terminal") === (mode === "human_review")],
    ["routing.direction", member(document, "routing", "direction") === disposition[2]],
    ["disposition", flag("downstream_allowed", allows)
      && flag("local_replan_recommended", mode === "local_replan")
      && flag("upstream_replan_required", mode === "upstream_replan")],
    ["runtime_loopback", (document.get("runtime_loopback") === null) === allows],
  ]);
  for (const [name, holds] of rules) {
    if (!holds) throw contradiction(name);
  }
}

/** @param {string} path */
function missing(path) {
  return new Refused("missing_field", `\`${path}\` is missing or of the wrong type`);
}

/** @param {string} name */
function contradiction(name) {
  return new Refused("contradiction", `\`${name}\` contradicts the outcome`);
}

/** @param {JsonObject} document @param {string} place @param {string} name */
function member(document, place, name) {
  if (place === "") return document.get(name);
  const object = document.get(place);
  return object instanceof Map ? object.get(name) : undefined;
}

/** @param {Json} value @param {(item: Json) => boolean} holds */
function every(value, holds) {
  return Array.isArray(value) && value.every(holds);
}
