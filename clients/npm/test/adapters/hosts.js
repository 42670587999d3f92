/**
 * One agent for each adapter: its model is scripted to call the tool `refund` once, with the arguments that a test gives. Each runs to its end,
 * and returns what its model was told of the call.
 */

import assert from "node:assert/strict";
import { join } from "node:path";

import { folder } from "../support.js";
import { anthropic, resultsOf } from "./anthropic.js";
import { MODULES, load, missing } from "./modules.js";

/** The program that the Claude Agent SDK runs. */
export const CLAUDE = `@anthropic-ai/claude-code-linux-${process.arch}`;

const PARAMETERS = {
  type: "object",
  properties: { amount: { type: "number" }, ticket: { type: "string" } },
  required: ["amount"], additionalProperties: false,
};

/** What the tool does. */
function refunds(ran) {
  return async input => {
    const { amount, ticket } = input ?? {};
    ran.push(ticket === undefined ? { amount } : { amount, ticket });
    return `refunded ${amount}`;
  };
}

const USAGE = { inputTokens: { total: 1, noCache: 1 }, outputTokens: { total: 1, text: 1 } };

/** A model of the AI SDK, and what it was told of its call. */
export async function scripted(args) {
  const { MockLanguageModelV4, simulateReadableStream } = await load("ai/test");
  const told = [];
  const call = { type: "tool-call", toolCallId: "call-1", toolName: "refund", input: JSON.stringify(args) };
  const answer = ({ prompt }) => {
    const results = prompt.filter(({ role }) => role === "tool").flatMap(({ content }) => content).filter(({ type }) => type === "tool-result");
    told.push(...results.map(({ output }) => output.value ?? output.reason));
    return results.length > 0 ? "stop" : "tool-calls";
  };
  const finish = unified => ({ finishReason: { unified, raw: unified }, usage: USAGE });
  const text = [{ type: "text-start", id: "1" }, { type: "text-delta", id: "1", delta: "done" }, { type: "text-end", id: "1" }];
  const model = new MockLanguageModelV4({
    doGenerate: async options => {
      const unified = answer(options);
      return { content: unified === "stop" ? [{ type: "text", text: "done" }] : [call], warnings: [], ...finish(unified) };
    },
    doStream: async options => {
      const unified = answer(options);
      const chunks = [{ type: "stream-start", warnings: [] }, ...unified === "stop" ? text : [call], { type: "finish", ...finish(unified) }];
      return { stream: simulateReadableStream({ chunks, chunkDelayInMs: null, initialDelayInMs: null }) };
    },
  });
  return { model, told };
}

/** The tool, as the AI SDK has tools. */
export async function refundOf(ran) {
  const { tool, jsonSchema } = await load("ai");
  return tool({ description: "Refunds.", inputSchema: jsonSchema(PARAMETERS), execute: refunds(ran) });
}

function ai({ streams = false, approves = false } = {}) {
  return async (guard, args, ran) => {
    const { generateText, streamText, isStepCount } = await load("ai");
    const { approvals, guardedTools } = await import("proofmark/ai");
    const { model, told } = await scripted(args);
    const refund = await refundOf(ran);
    const more = approves ? { toolApproval: approvals(guard) } : {};
    const options = { model, tools: guardedTools(guard, { refund }), prompt: "refund", stopWhen: isStepCount(3), ...more };
    const done = streams ? streamText({ ...options, onError: () => {} }) : await generateText(options);
    const asked = (await done.content).find(({ type }) => type === "tool-approval-request");
    return told[0] ?? asked?.reason;
  };
}

/** What a person is told of a call for which the host waits: it shows the call, and not why. */
function interrupted(guard, args) {
  return guard.check("refund", args).catch(error => error.message);
}

/** An agent of the OpenAI Agents SDK, and what runs it. */
export async function scriptedAgent(guard, args, ran, { interrupts = false, needsApproval = false } = {}) {
  const { Agent, Runner, tool } = await load("@openai/agents");
  const { ScriptedModel, assistantMessage, functionCall } = await load("@openai/agents-core/testing");
  const { guardedTools } = await import("proofmark/openai-agents");
  const refund = tool({ name: "refund", description: "Refunds.", parameters: PARAMETERS, strict: false, needsApproval, execute: refunds(ran) });
  const model = new ScriptedModel([[functionCall("refund", args, { callId: "call-1" })], [assistantMessage("done")]]);
  const agent = new Agent({ name: "shop", model, tools: guardedTools(guard, [refund], { interrupts }) });
  return { agent, runner: new Runner({ tracingDisabled: true }) };
}

function openaiAgents(options) {
  return async (guard, args, ran) => {
    const { agent, runner } = await scriptedAgent(guard, args, ran, options);
    const done = await runner.run(agent, "refund");
    const told = done.newItems.find(({ type }) => type === "tool_call_output_item");
    if (told) return told.output;
    assert.equal(done.interruptions.length, 1);
    return interrupted(guard, args);
  };
}

/** An agent of Mastra, and what its model was told of the call. */
export async function mastraAgent(guard, args, ran, options) {
  const { Agent } = await load("@mastra/core/agent");
  const { Mastra } = await load("@mastra/core/mastra");
  const { InMemoryStore } = await load("@mastra/core/storage");
  const { createTool } = await load("@mastra/core/tools");
  const { guardHooks } = await import("proofmark/mastra");
  const { model, told } = await scripted(args);
  const refund = createTool({ id: "refund", description: "Refunds.", inputSchema: PARAMETERS, execute: refunds(ran) });
  const shop = new Agent({ id: "shop", name: "shop", instructions: "Refund.", model, tools: { refund }, hooks: guardHooks(guard, options) });
  const mastra = new Mastra({ agents: { shop }, storage: new InMemoryStore(), logger: false });
  return { agent: mastra.getAgent("shop"), told };
}

function mastra(options) {
  return async (guard, args, ran) => {
    const { agent, told } = await mastraAgent(guard, args, ran, options);
    const { suspendPayload } = await agent.generate("refund", { maxSteps: 3 });
    return told[0] ?? suspendPayload.suspendPayload.said;
  };
}

async function claude(guard, args, ran) {
  const { createSdkMcpServer, query, tool } = await load("@anthropic-ai/claude-agent-sdk");
  const { z } = await load("zod");
  const { guardHooks } = await import("proofmark/claude-agent-sdk");
  const { url, told } = await anthropic("mcp__shop__refund", args);
  const refund = refunds(ran);
  const shape = { amount: z.number(), ticket: z.string().optional() };
  const tools = [tool("refund", "Refunds.", shape, async input => ({ content: [{ type: "text", text: await refund(input) }] }))];
  const home = folder();
  const env = {
    PATH: process.env.PATH, HOME: home, CLAUDE_CONFIG_DIR: home, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "none",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1",
    // Else it asks questions when it is run as root.
    IS_SANDBOX: "1",
  };
  const options = {
    cwd: home, env, hooks: guardHooks(guard), mcpServers: { shop: createSdkMcpServer({ name: "shop", tools }) }, model: "claude-sonnet-4-5",
    pathToClaudeCodeExecutable: join(MODULES, CLAUDE, "claude"), permissionMode: "bypassPermissions", allowDangerouslySkipPermissions: true,
    settingSources: [], tools: [], maxTurns: 3,
  };
  for await (const { type, message } of query({ prompt: "refund", options })) if (type === "user") told.push(...resultsOf([message]));
  return told[0];
}

export const AI = missing("ai"), MASTRA = missing("@mastra/core", "ai"), OPENAI = missing("@openai/agents");

/** Each host, and why its tests are left out; undefined if they are not. */
export const HOSTS = {
  "ai, generateText": [ai(), AI],
  "ai, streamText": [ai({ streams: true }), AI],
  "ai, generateText with approvals": [ai({ approves: true }), AI],
  "ai, streamText with approvals": [ai({ streams: true, approves: true }), AI],
  "@openai/agents": [openaiAgents(), OPENAI],
  "@openai/agents with interrupts": [openaiAgents({ interrupts: true }), OPENAI],
  "@mastra/core": [mastra(), MASTRA],
  "@mastra/core with interrupts": [mastra({ interrupts: true }), MASTRA],
  "@anthropic-ai/claude-agent-sdk": [claude, missing("@anthropic-ai/claude-agent-sdk", CLAUDE, "zod")],
};
