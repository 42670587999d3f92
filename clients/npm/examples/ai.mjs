// An agent of the AI SDK whose refunds are decided on by policy.yaml. Its model is scripted: it asks for two refunds at once.
// Run it where `proofmark` and `ai` are installed: node ai.mjs

import { generateText, isStepCount, jsonSchema, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { Guard, Local } from "proofmark";
import { approvals, ended, guardedTools } from "proofmark/ai";

const guard = new Guard(new Local({ policy: new URL("policy.yaml", import.meta.url).pathname }), { classes: { refund: "payment" } });
const refund = tool({
  description: "Refunds an amount.",
  inputSchema: jsonSchema({ type: "object", properties: { amount: { type: "number" } }, required: ["amount"] }),
  execute: async ({ amount }) => `refunded ${amount}`,
});

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const call = (toolCallId, amount) => ({ type: "tool-call", toolCallId, toolName: "refund", input: JSON.stringify({ amount }) });
const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const told = prompt.filter(({ role }) => role === "tool").flatMap(({ content }) => content);
    for (const { output } of told.filter(({ type }) => type === "tool-result")) console.log(output.value ?? output.reason);
    const content = told.length > 0 ? [{ type: "text", text: "done" }] : [call("1", 20), call("2", 200)];
    return { content, finishReason: { unified: told.length > 0 ? "stop" : "tool-calls" }, usage, warnings: [] };
  },
});

const tools = guardedTools(guard, { refund });
await generateText({ model, tools, toolApproval: approvals(guard), stopWhen: [isStepCount(5), ended], prompt: "Refund 20, then 200." });
