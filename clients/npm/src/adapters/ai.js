/** The AI SDK (`ai`): tools that ask before they run. */

import { callsOf } from "../calls.js";
import { copyWith } from "../copy.js";
import { NeedsReview, endsRun } from "../not_allowed.js";

/** @typedef {import("../guard.js").Guard} Guard */
/** @typedef {{ toolCallId?: string, abortSignal?: AbortSignal | undefined }} ToolOptions */

const AsyncGeneratorFunction = (async function* () {}).constructor;

/**
 * Copies of tools that ask `guard` before they run: `generateText({ tools: guardedTools(guard, { refund }) })`.
 *
 * A call that is not allowed is a `tool-error`, whose text the model reads.
 *
 * @template {Record<string, any>} T
 * @param {Guard} guard
 * @param {T} tools those with `execute`. Others run elsewhere: pass them beside these
 * @returns {T}
 */
export function guardedTools(guard, tools) {
  const guarded = Object.entries(tools).map(([name, tool]) => [name, guardedTool(guard, name, tool)]);
  return Object.fromEntries(guarded);
}

/**
 * Asks a person about calls of guarded tools that need a review: `generateText({ tools, toolApproval: approvals(guard) })`.
 *
 * The result has a `tool-approval-request`. Once its answer is in the messages, the call is decided on again, so the approval has to be
 * given to Proofmark, too. `Upstream` and `Terminal` are thrown, and end the generation.
 *
 * @param {Guard} guard that of the tools
 */
export function approvals(guard) {
  const calls = callsOf(guard);
  /**
   * @param {{ toolCall: { toolName: string, toolCallId: string, input: unknown } }} call
   * @returns {Promise<"not-applicable" | { type: "denied" | "user-approval", reason: string }>}
   */
  return async ({ toolCall: { toolName, toolCallId, input } }) => {
    const refusal = await calls.ask(toolName, input, { callId: toolCallId });
    if (refusal === undefined) return "not-applicable";
    if (endsRun(refusal)) throw refusal;
    return { type: refusal instanceof NeedsReview ? "user-approval" : "denied", reason: refusal.message };
  };
}

/**
 * Stops after a step with `Upstream` or `Terminal`: `generateText({ stopWhen: [isStepCount(9), ended] })`.
 *
 * @param {{ steps: readonly { content: readonly { type: string }[] }[] }} generation
 */
export function ended({ steps }) {
  return steps.at(-1)?.content.some(part => part.type === "tool-error" && "error" in part && endsRun(part.error)) ?? false;
}

/** @param {Guard} guard @param {string} name @param {any} tool */
function guardedTool(guard, name, tool) {
  if (typeof tool?.execute !== "function") throw new TypeError(`\`${name}\` has no \`execute\`, so it cannot be guarded: pass it beside the guarded tools`);
  return copyWith(tool, { execute: guardedExecute(guard, name, tool) });
}

/**
 * `execute` is what runs with the arguments: after the approval, the SDK's callbacks and whatever else may change or skip it.
 *
 * @param {Guard} guard @param {string} name @param {any} tool
 */
function guardedExecute(guard, name, tool) {
  const calls = callsOf(guard);
  const { execute } = tool;

  /** @param {unknown} input @param {ToolOptions} options */
  async function* parts(input, options) {
    const decision = await calls.check(name, input, { callId: options?.toolCallId, signal: options?.abortSignal });
    try {
      const result = execute.call(tool, decision.args, options);
      if (typeof result?.[Symbol.asyncIterator] === "function") yield* result;
      else yield await result;
    } finally {
      // Also where it threw: what it did until then has happened.
      await guard.report(decision);
    }
  }

  /** @param {unknown} input @param {ToolOptions} options */
  async function last(input, options) {
    let output;
    for await (const part of parts(input, options)) output = part;
    return output;
  }

  return execute instanceof AsyncGeneratorFunction ? parts : last;
}
