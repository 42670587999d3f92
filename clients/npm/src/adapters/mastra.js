/** Mastra (`@mastra/core`): hooks that ask before each tool call of an agent. */

import { callsOf } from "../calls.js";
import { NeedsReview, NotAllowed } from "../not_allowed.js";

/** @typedef {import("../guard.js").Guard} Guard */
/** @typedef {import("../decision.js").Decision} Decision */

/**
 * Hooks that ask `guard` before each tool call: `new Agent({ hooks: guardHooks(guard) })`.
 *
 * A call that is not allowed has the reasons as its output, which the model reads. With `interrupts`, a call that needs a review suspends the run,
 * which needs a storage; when it is resumed, the call is decided on again. Hooks that are passed to `generate` or `stream` take the place of
 * these: pass none there, or these again.
 *
 * @param {Guard} guard
 * @param {{ interrupts?: boolean | undefined }} [options]
 */
export function guardHooks(guard, { interrupts = false } = {}) {
  const calls = callsOf(guard);
  /** The decisions on calls that have begun, by the contexts that the calls have. @type {WeakMap<object, Decision>} */
  const begun = new WeakMap();
  return {
    /**
     * @param {{ toolName: string, input: unknown, context: any }} call
     * @returns {Promise<{ proceed: false, output: any } | undefined>}
     */
    beforeToolCall: async ({ toolName, input, context }) => {
      try {
        begun.set(context, await calls.check(toolName, input, { callId: context.toolCallId, signal: context.abortSignal }));
      } catch (error) {
        if (!(error instanceof NotAllowed)) throw error;
        // This marks the call as suspended, and returns.
        if (interrupts && error instanceof NeedsReview) await context.suspend({ decision_id: error.decision.id, url: error.url, said: error.message });
        return { proceed: false, output: error.message };
      }
      return undefined;
    },
    /** @param {{ input: unknown, context: any }} call */
    afterToolCall: async ({ input, context }) => {
      const decision = begun.get(context);
      begun.delete(context);
      // Mastra passes its own object to the tool. The server compares what it has become with what was decided on.
      if (decision !== undefined) await guard.report(decision, { args: input });
    },
  };
}
