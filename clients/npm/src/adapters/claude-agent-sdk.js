/** Claude Agent SDK (`@anthropic-ai/claude-agent-sdk`): hooks that ask before each tool call. */

import { callsOf, remember } from "../calls.js";
import { NotAllowed, endsRun } from "../not_allowed.js";

/** @typedef {import("../guard.js").Guard} Guard */
/** @typedef {import("../decision.js").Decision} Decision */

/** How long the host waits for a decision, in seconds: longer than any guard waits for a review. */
const TIMEOUT_SECONDS = 2 * 86_400;

/**
 * Hooks that ask `guard` before each tool call: `query({ prompt, options: { hooks: guardHooks(guard) } })`.
 *
 * A call that is not allowed is denied with the reasons, which the model reads. `Upstream` and `Terminal` also end the run. A call that is allowed
 * is still subject to the rules and questions of the host.
 *
 * @param {Guard} guard
 */
export function guardHooks(guard) {
  const calls = callsOf(guard);
  /** The decisions on calls that the guard allowed, by the ids of the calls. Some never run, as where the host's own rules forbid them. @type {Map<string, Decision>} */
  const begun = new Map();

  /** @param {any} input @param {string | undefined} _id @param {{ signal: AbortSignal }} options */
  const before = async ({ tool_name, tool_input, tool_use_id }, _id, { signal }) => {
    try {
      remember(begun, tool_use_id, await calls.check(tool_name, tool_input, { callId: tool_use_id, signal }));
    } catch (error) {
      return denied(error);
    }
    return {};
  };

  /** @param {any} input */
  const after = async ({ tool_use_id, tool_input }) => {
    const decision = begun.get(tool_use_id);
    begun.delete(tool_use_id);
    // Another hook may have changed the arguments. The server compares them with those that were decided on.
    if (decision !== undefined) await guard.report(decision, { args: tool_input });
    return {};
  };

  return {
    PreToolUse: [{ hooks: [before], timeout: TIMEOUT_SECONDS, onFailure: /** @type {const} */ ("block") }],
    PostToolUse: [{ hooks: [after] }],
    PostToolUseFailure: [{ hooks: [after] }],
  };
}

/** @param {unknown} error */
function denied(error) {
  // The hook also blocks where it throws.
  if (!(error instanceof NotAllowed)) throw error;
  const { message } = error;
  const output = { hookEventName: /** @type {const} */ ("PreToolUse"), permissionDecision: /** @type {const} */ ("deny"), permissionDecisionReason: message };
  return { hookSpecificOutput: output, ...endsRun(error) ? { continue: false, stopReason: message } : {} };
}
