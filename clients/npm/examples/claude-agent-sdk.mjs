// An agent of the Claude Agent SDK whose refunds are decided on by policy.yaml. Its model is scripted, and answers at an address of this machine:
// it asks for two refunds at once. Run it where `proofmark`, `@anthropic-ai/claude-agent-sdk` and `zod` are installed: node claude-agent-sdk.mjs

import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createSdkMcpServer, query, tool } from "@anthropic-ai/claude-agent-sdk";
import { Guard, Local } from "proofmark";
import { guardHooks } from "proofmark/claude-agent-sdk";
import { z } from "zod";

const REFUND = "mcp__shop__refund";
const guard = new Guard(new Local({ policy: new URL("policy.yaml", import.meta.url).pathname }), { classes: { [REFUND]: "payment" } });
const refund = tool("refund", "Refunds an amount.", { amount: z.number() }, async ({ amount }) => ({ content: [{ type: "text", text: `refunded ${amount}` }] }));

const usage = { input_tokens: 1, output_tokens: 1 };
const model = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  const { messages = [], tools = [], stream } = JSON.parse(body || "{}");
  if (!stream) return response.end('{"input_tokens": 1}');
  const told = messages.flatMap(({ content }) => content).some(({ type }) => type === "tool_result");
  const blocks = tools.length === 0 || told
    ? [[{ type: "text", text: "" }, { type: "text_delta", text: "done" }]]
    : [20, 200].map(amount => [{ type: "tool_use", id: `toolu_${amount}`, name: REFUND, input: {} }, { type: "input_json_delta", partial_json: JSON.stringify({ amount }) }]);
  const stop_reason = blocks.length > 1 ? "tool_use" : "end_turn";
  const events = [
    { type: "message_start", message: { id: "msg_1", type: "message", role: "assistant", model: "scripted", content: [], stop_reason: null, stop_sequence: null, usage } },
    ...blocks.flatMap(([content_block, delta], index) => [
      { type: "content_block_start", index, content_block }, { type: "content_block_delta", index, delta }, { type: "content_block_stop", index },
    ]),
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage },
    { type: "message_stop" },
  ];
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(events.map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""));
});
await new Promise(resolve => model.listen(0, "127.0.0.1", resolve));

// A new folder, so that settings and accounts of this machine are not used.
const place = mkdtempSync(join(tmpdir(), "claude-"));
const options = {
  cwd: place, hooks: guardHooks(guard), mcpServers: { shop: createSdkMcpServer({ name: "shop", tools: [refund] }) },
  allowedTools: [REFUND], tools: [], settingSources: [], model: "claude-sonnet-4-5", maxTurns: 3,
  env: {
    PATH: process.env.PATH, HOME: place, CLAUDE_CONFIG_DIR: place, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    ANTHROPIC_BASE_URL: `http://127.0.0.1:${model.address().port}`, ANTHROPIC_API_KEY: "none",
  },
  // Where the program is installed apart from the SDK.
  ...process.env.CLAUDE ? { pathToClaudeCodeExecutable: process.env.CLAUDE } : {},
};
for await (const { type, message } of query({ prompt: "Refund 20, then 200.", options })) {
  if (type !== "user") continue;
  for (const { content } of message.content) console.log(typeof content === "string" ? content : content[0].text);
}
model.closeAllConnections();
model.close();
rmSync(place, { recursive: true, force: true });
