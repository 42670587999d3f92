// A Mastra agent whose refunds are decided on by policy.yaml. Its model is scripted: it asks for two refunds at once.
// Run it where `proofmark`, `@mastra/core` and `ai` are installed: node mastra.mjs

import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { MockLanguageModelV4 } from "ai/test";
import { Guard, Local } from "proofmark";
import { guardHooks } from "proofmark/mastra";

const guard = new Guard(new Local({ policy: new URL("policy.yaml", import.meta.url).pathname }), { classes: { refund: "payment" } });
const refund = createTool({
  id: "refund",
  description: "Refunds an amount.",
  inputSchema: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] },
  execute: async ({ amount }) => `refunded ${amount}`,
});

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const call = (toolCallId, amount) => ({ type: "tool-call", toolCallId, toolName: "refund", input: JSON.stringify({ amount }) });
const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const told = prompt.filter(({ role }) => role === "tool").flatMap(({ content }) => content);
    for (const { output } of told) console.log(output.value);
    const content = told.length > 0 ? [{ type: "text", text: "done" }] : [call("1", 20), call("2", 200)];
    return { content, finishReason: { unified: told.length > 0 ? "stop" : "tool-calls" }, usage, warnings: [] };
  },
});

const agent = new Agent({ id: "shop", name: "shop", instructions: "Refund.", model, tools: { refund }, hooks: guardHooks(guard) });
await agent.generate("Refund 20, then 200.", { maxSteps: 3 });
