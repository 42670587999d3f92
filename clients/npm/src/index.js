/**
 * A decision before every tool call of an agent, and a client of Proofmark's server and command line.
 *
 * @module
 */

export { Client } from "./client.js";
export { Guard } from "./guard.js";
export { guarded } from "./guarded.js";
export { Local } from "./local.js";
export { Blocked, NeedsReview, NoDecision, NotAllowed, Terminal, Upstream } from "./not_allowed.js";
export { ProofmarkError } from "./problem.js";

/** @typedef {import("./client.js").ClientOptions} ClientOptions */
/** @typedef {import("./decision.js").Decision} Decision */
/** @typedef {import("./guard.js").AskOptions} AskOptions */
/** @typedef {import("./guard.js").Decider} Decider */
/** @typedef {import("./guard.js").GuardOptions} GuardOptions */
/** @typedef {import("./local.js").LocalOptions} LocalOptions */
/** @typedef {import("./snapshot.js").JsonValue} JsonValue */
/** @typedef {import("./types.js").Acceptance} Acceptance */
/** @typedef {import("./types.js").DecisionReceipt} DecisionReceipt */
/** @typedef {import("./types.js").Disposition} Disposition */
/** @typedef {import("./types.js").Job} Job */
/** @typedef {import("./types.js").Receipt} Receipt */
/** @typedef {import("./types.js").StoredDecision} StoredDecision */
