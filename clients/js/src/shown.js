/** What the reviewer of an approval was shown. */

import { canonical } from "./canonical.js";
import { sha256 } from "./ed25519.js";
import { Refused } from "./refused.js";

/** @typedef {import("./json.js").Json} Json */
/** @typedef {import("./json.js").JsonObject} JsonObject */

/** The members of an approval that its `shown` is the digest of. */
const SHOWN = ["action_hash", "environment", "agent", "separation", "account"];

/**
 * Checks that an approval is of the action that its reviewer was shown. An approval that does not say what was shown is not looked
 * at.
 *
 * @param {JsonObject} receipt whose format was checked
 * @throws {Refused} `shown_mismatch`
 */
export async function checkShown(receipt) {
  const metadata = receipt.get("metadata");
  const approval = metadata instanceof Map ? metadata.get("approval") : undefined;
  if (!(approval instanceof Map) || !approval.has("shown")) return;
  const members = SHOWN.filter(name => approval.has(name)).map(name => /** @type {[string, Json]} */ ([name, approval.get(name) ?? null]));
  if (approval.get("shown") !== await sha256(canonical(/** @type {JsonObject} */ (new Map(members))))) {
    throw new Refused("shown_mismatch", "the approval is of another action than its reviewer was shown", { answer: "invalid" });
  }
}
