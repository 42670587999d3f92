/** OpenAI Agents SDK (`@openai/agents`): function tools that ask before they run. */

import { callsOf } from "../calls.js";
import { copyWith } from "../copy.js";
import { NeedsReview, NoDecision, NotAllowed, endsRun } from "../not_allowed.js";

/** @typedef {import("../guard.js").Guard} Guard */
/** @typedef {import("../decision.js").Decision} Decision */
/** @typedef {{ toolCall: { name: string, callId: string, arguments: string } }} GuardrailData */

/**
 * Copies of function tools that ask `guard` before they run: `new Agent({ tools: guardedTools(guard, [refund]) })`.
 *
 * A call that is not allowed is answered to the model with the reasons. With `interrupts`, a call that needs a review interrupts the run,
 * as one of a tool with `needsApproval` does; when the run is resumed after `state.approve`, the call is decided on again, so the approval has
 * to be given to Proofmark, too. `Upstream` and `Terminal` are thrown, and end the run.
 *
 * @template {{ type: string, name: string }} T
 * @param {Guard} guard
 * @param {readonly T[]} tools
 * @param {{ interrupts?: boolean | undefined }} [options]
 * @returns {T[]}
 */
export function guardedTools(guard, tools, { interrupts = false } = {}) {
  return tools.map(tool => guardedTool(guard, tool, interrupts));
}

/** @param {Guard} guard @param {any} tool @param {boolean} interrupts */
function guardedTool(guard, tool, interrupts) {
  if (tool?.type !== "function") throw new TypeError(`\`${tool?.name}\` is not a function tool, so it cannot be guarded: pass it beside the guarded tools`);
  const { before, invoke, after } = steps(guard, tool);
  return copyWith(tool, {
    invoke,
    // Behind those of the tool: none of them can reject a call that counts as executed.
    inputGuardrails: [...tool.inputGuardrails ?? [], { type: "tool_input", name: "proofmark", run: before }],
    outputGuardrails: [{ type: "tool_output", name: "proofmark", run: after }, ...tool.outputGuardrails ?? []],
    ...interrupts ? { needsApproval: needsApproval(guard, tool) } : {},
  });
}

/** The steps of a call of a tool, in order. @param {Guard} guard @param {any} tool */
function steps(guard, tool) {
  const calls = callsOf(guard);
  /** The decisions on calls that have not begun, and the text that each is on. @type {WeakMap<object, { decision: Decision, text: string }>} */
  const allowed = new WeakMap();
  /** The decisions on calls that have begun. @type {WeakMap<object, Decision>} */
  const begun = new WeakMap();

  /** @param {GuardrailData} data */
  const before = async ({ toolCall }) => {
    // With approvals, the SDK asks twice: the earlier decision does not count.
    allowed.delete(toolCall);
    try {
      const text = toolCall.arguments;
      allowed.set(toolCall, { decision: await calls.check(tool.name, parsed(tool.name, text), { callId: toolCall.callId }), text });
    } catch (error) {
      if (!(error instanceof NotAllowed) || endsRun(error)) throw error;
      return { behavior: { type: "rejectContent", message: error.message } };
    }
    return { behavior: { type: "allow" } };
  };

  /**
   * The SDK reads the arguments again after the guardrails, when another task or a listener to `agent_tool_start` may have changed them.
   *
   * @param {unknown} context @param {string} text @param {{ toolCall?: object } | undefined} [details]
   */
  const invoke = async (context, text, details) => {
    const call = details?.toolCall ?? {}, found = allowed.get(call);
    allowed.delete(call);
    if (found === undefined) throw new NoDecision(tool.name, new Error("the tool was called past the guardrail that asks"));
    if (found.text !== text) throw new NoDecision(tool.name, new Error("its arguments were changed after the decision"));
    begun.set(call, found.decision);
    try {
      return await tool.invoke(context, JSON.stringify(found.decision.args), details);
    } catch (error) {
      // No guardrail sees a call that threw, and what it did until then has happened.
      await after({ toolCall: call });
      throw error;
    }
  };

  /** @param {{ toolCall: object }} data */
  const after = async ({ toolCall }) => {
    const decision = begun.get(toolCall);
    begun.delete(toolCall);
    if (decision !== undefined) await guard.report(decision);
    return { behavior: { type: "allow" } };
  };

  return { before, invoke, after };
}

/** @param {Guard} guard @param {any} tool */
function needsApproval(guard, tool) {
  /** @param {unknown} context @param {unknown} args @param {string} [callId] */
  return async (context, args, callId) => {
    if (await tool.needsApproval?.(context, args, callId)) return true;
    // After another refusal the guardrail decides again, and tells the model why.
    return await callsOf(guard).ask(tool.name, args, { callId }) instanceof NeedsReview;
  };
}

/** The arguments of a call, as the SDK reads them. @param {string} tool @param {string} text */
function parsed(tool, text) {
  try {
    return text.trim() === "" ? {} : JSON.parse(text);
  } catch (error) {
    throw new NoDecision(tool, error);
  }
}
