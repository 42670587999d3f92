/** OpenAI Agents SDK (`@openai/agents`): function tools that ask before they run. */

import { callsOf } from "../calls.js";
import { NeedsReview, NoDecision, NotAllowed, Terminal, Upstream } from "../not_allowed.js";

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
  if (tool?.type !== "function") throw new TypeError(`\`${tool?.name}\` is no function tool, so it cannot be guarded: pass it beside the guarded tools`);
  const { before, after } = guardrails(guard, tool.name);
  const members = {
    // Behind those of the tool: none of them can reject a call that counts as executed.
    inputGuardrails: [...tool.inputGuardrails ?? [], { type: "tool_input", name: "proofmark", run: before }],
    outputGuardrails: [{ type: "tool_output", name: "proofmark", run: after }, ...tool.outputGuardrails ?? []],
    ...interrupts ? { needsApproval: needsApproval(guard, tool) } : {},
  };
  // With all members: some of the SDK's are hidden.
  const copy = Object.create(Object.getPrototypeOf(tool), Object.getOwnPropertyDescriptors(tool));
  for (const [name, value] of Object.entries(members)) Object.defineProperty(copy, name, { value, enumerable: true, configurable: true, writable: true });
  return copy;
}

/** @param {Guard} guard @param {string} tool */
function guardrails(guard, tool) {
  const calls = callsOf(guard);
  /** The decisions on calls that have begun. @type {WeakMap<object, Decision>} */
  const begun = new WeakMap();

  /** @param {GuardrailData} data */
  const before = async ({ toolCall }) => {
    try {
      begun.set(toolCall, await calls.check(tool, parsed(toolCall), { callId: toolCall.callId }));
    } catch (error) {
      if (!(error instanceof NotAllowed) || error instanceof Upstream || error instanceof Terminal) throw error;
      return { behavior: { type: "rejectContent", message: error.message } };
    }
    return { behavior: { type: "allow" } };
  };

  /** @param {GuardrailData} data */
  const after = async ({ toolCall }) => {
    const decision = begun.get(toolCall);
    begun.delete(toolCall);
    if (decision !== undefined) await guard.report(decision);
    return { behavior: { type: "allow" } };
  };

  return { before, after };
}

/** @param {Guard} guard @param {any} tool */
function needsApproval(guard, tool) {
  const calls = callsOf(guard);
  /** @param {unknown} context @param {unknown} args @param {string} [callId] */
  return async (context, args, callId) => {
    if (await tool.needsApproval?.(context, args, callId)) return true;
    try {
      await calls.ask(tool.name, args, { callId });
    } catch (error) {
      if (error instanceof NeedsReview) return true;
      // The guardrail decides again, and tells the model why.
      if (!(error instanceof NotAllowed)) throw error;
    }
    return false;
  };
}

/** The arguments of a call, as the SDK reads them. @param {GuardrailData["toolCall"]} call */
function parsed({ name, arguments: text }) {
  try {
    return text.trim() === "" ? {} : JSON.parse(text);
  } catch (error) {
    throw new NoDecision(name, error);
  }
}
