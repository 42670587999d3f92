// An agent of the OpenAI Agents SDK whose refunds are decided on by policy.yaml. Its model is scripted: it asks for two refunds at once.
// Run it where `proofmark` and `@openai/agents` are installed: node openai-agents.mjs

import { Agent, Runner, tool } from "@openai/agents";
import { ScriptedModel, assistantMessage, functionCall } from "@openai/agents-core/testing";
import { Guard, Local } from "proofmark";
import { guardedTools } from "proofmark/openai-agents";

const guard = new Guard(new Local({ policy: new URL("policy.yaml", import.meta.url).pathname }), { classes: { refund: "payment" } });
const refund = tool({
  name: "refund",
  description: "Refunds an amount.",
  parameters: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"], additionalProperties: false },
  execute: async ({ amount }) => `refunded ${amount}`,
});

const call = (callId, amount) => functionCall("refund", { amount }, { callId });
const model = new ScriptedModel([[call("1", 20), call("2", 200)], [assistantMessage("done")]]);
const agent = new Agent({ name: "shop", model, tools: guardedTools(guard, [refund]) });

const { newItems } = await new Runner({ tracingDisabled: true }).run(agent, "Refund 20, then 200.");
for (const { type, output } of newItems) if (type === "tool_call_output_item") console.log(output);
