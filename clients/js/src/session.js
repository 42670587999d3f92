/** Entries of guarded sessions. */

import { claimsDecision } from "./decision.js";
import { receiptId } from "./members.js";

/** @typedef {import("./json.js").JsonObject} JsonObject */

/**
 * Whether a document says that it is an entry of a guarded session.
 *
 * @param {JsonObject} document
 */
export function claimsSession(document) {
  return document.get("record_type") === "proofmark_session_entry" && !document.has("vrf_version") && !claimsDecision(document);
}

/**
 * The id of an entry in lower case; null for a document that is not an entry.
 *
 * @param {JsonObject} document
 */
export function sessionEntryId(document) {
  const id = document.get("entry_id");
  return claimsSession(document) && typeof id === "string" ? receiptId(id) : null;
}
