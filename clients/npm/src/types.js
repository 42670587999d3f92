/** The documents of the API, as far as programs read them. The server's `/openapi.json` describes them in full. */

/** @typedef {import("./snapshot.js").JsonValue} JsonValue */
/** @typedef {{ readonly [name: string]: any }} JsonObject */

/** @typedef {"continue_downstream" | "local_replan" | "upstream_replan" | "human_review" | "terminal_block"} Disposition */
/** @typedef {{ readonly code: string, readonly message: string }} Coded */

/**
 * A decision receipt.
 *
 * @typedef {object} DecisionReceipt
 * @property {string} decision_id
 * @property {"allow" | "allow_with_warning" | "replan_required" | "goal_fail_terminal"} outcome
 * @property {string | null} action_class
 * @property {boolean} safe_to_execute
 * @property {boolean} human_review_terminal
 * @property {boolean} must_not_retry_same_action
 * @property {readonly (Coded & JsonObject)[]} reasons
 * @property {readonly Coded[]} safe_next_steps
 * @property {readonly string[]} viewer_guidance
 * @property {readonly string[]} what_would_change_this
 * @property {{ readonly mode: Disposition } & JsonObject} disposition
 * @property {JsonObject} routing
 * @property {JsonObject} resume_contract
 * @property {JsonObject | null} runtime_loopback
 * @property {JsonObject} metadata
 * @property {{ readonly action_hash: string, readonly agent: string | null, readonly environment: string | null, readonly policy?: string,
 *   readonly policy_hash: string, readonly facts_hash: string, readonly decided_at: string, readonly expires_at: string } & JsonObject} binding
 * @property {readonly JsonObject[]} evidence
 */

/**
 * A receipt of a verification or an acceptance.
 *
 * @typedef {object} Receipt
 * @property {string} receipt_id
 * @property {string} verified_at
 * @property {number} tier
 * @property {"pass" | "fail" | "partial" | "error"} verdict
 * @property {JsonObject} task
 * @property {JsonObject} results
 * @property {JsonObject} hashes
 * @property {JsonObject} metadata
 */

/**
 * A verification that the server runs, or ran.
 *
 * @typedef {object} Job
 * @property {string} job_id also the id that its receipt has
 * @property {"waiting" | "running" | "done" | "failed" | "cancelled"} state
 * @property {string} created_at
 * @property {{ done: number, total: number }} checks
 * @property {Receipt | null} [receipt] once it is done
 * @property {string} [error]
 * @property {string} [lacking] why nothing runs it
 */

/**
 * An attempt at a workflow step.
 *
 * @typedef {object} Attempt
 * @property {string | object} workflow the workflow with its contracts, or its text
 * @property {string} response the agent's whole response
 * @property {unknown} [trace] the tool calls that were recorded
 * @property {object} [context]
 * @property {number} [attempt]
 * @property {readonly unknown[]} [receipts]
 */

/**
 * What became of an attempt.
 *
 * @typedef {object} Acceptance
 * @property {string} run
 * @property {string} state
 * @property {number} attempt
 * @property {readonly JsonObject[]} rules
 * @property {string} [prompt] what the agent is told before it tries again
 * @property {string | null} [next]
 * @property {Receipt} receipt
 */

/**
 * What a person says about a decision.
 *
 * @typedef {object} Review
 * @property {"approve" | "deny"} verdict
 * @property {string} note
 * @property {string} [role]
 * @property {number} [expires_in] in seconds
 */

/**
 * A stored decision.
 *
 * @typedef {object} StoredDecision
 * @property {string} decision_id
 * @property {string} outcome
 * @property {string} mode
 * @property {string | null} action_class
 * @property {string | null} agent
 * @property {JsonObject | null} [action] where it is known
 * @property {JsonObject | null} [facts] for reviewers
 * @property {readonly JsonObject[]} reviews
 * @property {DecisionReceipt} receipt
 */

/** @typedef {{ decisions: StoredDecision[], next: string | null }} DecisionPage */
/** @typedef {{ chain: string, receipts: JsonObject[], head: JsonObject, next: string | null }} Chain */
/** @typedef {{ accepted: boolean, findings: string[] }} Reported */

export {};
