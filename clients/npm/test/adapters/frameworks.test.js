/** What the adapters of single frameworks do beside what all do. */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";

import { Guard, NoDecision, Terminal } from "proofmark";

import { serve, until } from "../support.js";
import { AI, MASTRA, OPENAI, mastraAgent, refundOf, scripted, scriptedAgent } from "./hosts.js";
import { load } from "./modules.js";

let server;
before(async () => {
  server = await serve();
});

const guardOf = () => new Guard(server.agent, { agent: "bot", classes: { refund: "payment" } });

/** Approves the refund of this amount that waits, as `finance`. */
async function approve(amount) {
  const { decision_id } = await until(async () => (await server.ann.reviews()).decisions.find(({ action }) => action.args.amount === amount));
  await server.ann.review(decision_id, { verdict: "approve", note: "checked" });
}

describe("ai", { skip: AI }, () => {
  test("a call runs once it was approved on both sides", async () => {
    const { generateText, isStepCount } = await load("ai");
    const { approvals, guardedTools } = await import("proofmark/ai");
    const guard = guardOf(), ran = [], args = { amount: 300, ticket: "T-1" };
    const { model, told } = await scripted(args);
    const tools = guardedTools(guard, { refund: await refundOf(ran) });
    const messages = [{ role: "user", content: "refund" }];
    const options = { model, tools, toolApproval: approvals(guard), stopWhen: isStepCount(3) };
    const answered = async () => {
      const { response, content } = await generateText({ ...options, messages });
      const { approvalId } = content.find(({ type }) => type === "tool-approval-request");
      return [...messages, ...response.messages, { role: "tool", content: [{ type: "tool-approval-response", approvalId, approved: true }] }];
    };
    // The host's answer does not approve it in Proofmark.
    await generateText({ ...options, messages: await answered() });
    assert.deepEqual(ran, []);
    assert.match(told.pop(), /It waits for a review by a person/);
    const again = await answered();
    await approve(300);
    await generateText({ ...options, messages: again });
    assert.deepEqual(ran, [args]);
    assert.equal(told.pop(), "refunded 300");
  });

  test("the generation stops after a call that ends the path", async () => {
    const { generateText, isStepCount } = await load("ai");
    const { ended, guardedTools } = await import("proofmark/ai");
    const { model, told } = await scripted({ amount: -1 });
    const tools = guardedTools(guardOf(), { refund: await refundOf([]) });
    const { steps } = await generateText({ model, tools, prompt: "refund", stopWhen: [isStepCount(3), ended] });
    assert.deepEqual([steps.length, told], [1, []]);
    assert.ok(steps[0].content.some(({ error }) => error instanceof Terminal));
  });

  test("a tool that streams does so behind the decision, and gets what was decided on", async () => {
    const { guardedTools } = await import("proofmark/ai");
    const guard = guardOf(), got = [], reports = [];
    guard.report = async decision => void reports.push(decision.id);
    const input = { amount: 20, ticket: "T-1" };
    const streams = { async *execute(given) {
      got.push(given);
      yield "half";
      yield "all";
    } };
    const iterates = { execute: given => streams.execute(given) };
    const tools = guardedTools(guard, { refund: streams });
    const parts = [], running = tools.refund.execute(input, { toolCallId: "1" });
    const first = running.next();
    input.amount = 21;
    parts.push((await first).value);
    for await (const part of running) parts.push(part);
    assert.deepEqual([parts, got], [["half", "all"], [{ amount: 20, ticket: "T-1" }]]);
    assert.ok(Object.isFrozen(got[0]));
    assert.equal(await guardedTools(guard, { refund: iterates }).refund.execute(input, { toolCallId: "1" }), "all");
    assert.equal(new Set(reports).size, 2);
    // The caller of a tool may end it early.
    for await (const _ of tools.refund.execute(input, { toolCallId: "2" })) break;
    assert.equal(reports.length, 3);
    const fails = guardedTools(guard, { refund: { execute: async () => { throw new RangeError("no such account"); } } });
    await assert.rejects(fails.refund.execute(input, { toolCallId: "3" }), RangeError);
    assert.equal(reports.length, 4, "what was begun is reported");
  });

  test("a tool that runs elsewhere cannot be guarded", async () => {
    const { guardedTools } = await import("proofmark/ai");
    for (const tool of [{}, { execute: "" }, null, undefined]) assert.throws(() => guardedTools(guardOf(), { search: tool }), /`search` has no `execute`/);
  });
});

describe("@openai/agents", { skip: OPENAI }, () => {
  test("a call runs once it was approved on both sides", async () => {
    const guard = guardOf(), ran = [], args = { amount: 400, ticket: "T-1" };
    const { runner, agent } = await scriptedAgent(guard, args, ran, { interrupts: true });
    const { state, interruptions } = await runner.run(agent, "refund");
    assert.equal(interruptions.length, 1);
    await approve(400);
    state.approve(interruptions[0]);
    const { newItems } = await runner.run(agent, state);
    assert.deepEqual(ran, [args]);
    assert.equal(newItems.find(({ type }) => type === "tool_call_output_item").output, "refunded 400");
  });

  test("a call that ends the path ends the run", async () => {
    const { runner, agent } = await scriptedAgent(guardOf(), { amount: -1 }, []);
    await assert.rejects(runner.run(agent, "refund"));
  });

  test("a tool's own approval still holds", async () => {
    const ran = [];
    const { runner, agent } = await scriptedAgent(guardOf(), { amount: 20, ticket: "T-1" }, ran, { interrupts: true, needsApproval: true });
    assert.equal((await runner.run(agent, "refund")).interruptions.length, 1);
    assert.deepEqual(ran, []);
  });

  test("arguments that are changed after the decision do not run", async () => {
    const args = { amount: 20, ticket: "T-1" }, others = '{"amount":999999,"ticket":"T-1"}';
    for (const when of ["agent_tool_start", "while it is decided"]) {
      const guard = guardOf(), ran = [], reports = [];
      guard.report = async decision => void reports.push(decision.id);
      const { runner, agent } = await scriptedAgent(guard, args, ran);
      let toolCall;
      const check = guard.check.bind(guard), { inputGuardrails } = agent.tools[0];
      inputGuardrails.unshift({ type: "tool_input", name: "sees", run: async data => {
        toolCall = data.toolCall;
        return { behavior: { type: "allow" } };
      } });
      if (when === "while it is decided") guard.check = (...call) => {
        const decision = check(...call);
        toolCall.arguments = others;
        return decision;
      };
      if (when === "agent_tool_start") runner.on(when, (_context, _agent, _tool, details) => { details.toolCall.arguments = others; });
      await assert.rejects(runner.run(agent, "refund"), error => /its arguments were changed after the decision/.test(`${error.message} ${error.error?.message}`), when);
      assert.deepEqual([ran, reports], [[], []], when);
    }
  });

  test("a tool that throws is reported once", async () => {
    const { tool } = await load("@openai/agents");
    const { guardedTools } = await import("proofmark/openai-agents");
    for (const errorFunction of [null, undefined]) {
      const guard = guardOf(), reports = [];
      guard.report = async decision => void reports.push(decision.id);
      const { runner, agent } = await scriptedAgent(guard, { amount: 20, ticket: "T-1" }, []);
      const execute = async () => { throw new RangeError("no such account"); };
      const { parameters } = agent.tools[0];
      agent.tools = guardedTools(guard, [tool({ name: "refund", description: "", parameters, strict: false, errorFunction, execute })]);
      const done = runner.run(agent, "refund");
      if (errorFunction === null) await assert.rejects(done, /no such account/);
      else await done;
      assert.equal(reports.length, 1, String(errorFunction));
    }
  });

  test("a tool that is called past the guardrail does not run", async () => {
    const ran = [], { agent: { tools: [refund] } } = await scriptedAgent(guardOf(), {}, ran);
    const text = '{"amount":20,"ticket":"T-1"}';
    for (const details of [undefined, {}, { toolCall: { name: "refund", callId: "1", arguments: text } }]) {
      await assert.rejects(refund.invoke({}, text, details), NoDecision);
    }
    assert.deepEqual(ran, []);
  });

  test("a tool gets the arguments that were decided on, once", async () => {
    const { guardedTools } = await import("proofmark/openai-agents");
    const got = [], details = toolCall => ({ toolCall });
    const tool = { type: "function", name: "refund", invoke: async (_context, text) => void got.push(text) };
    const [refund] = guardedTools(guardOf(), [tool]);
    const { run } = refund.inputGuardrails[0];
    // A reader of another kind could take the first of both.
    const toolCall = { name: "refund", callId: "1", arguments: '{"amount":999, "amount":20, "ticket":"T-1"}' };
    assert.deepEqual(await run({ toolCall }), { behavior: { type: "allow" } });
    await refund.invoke({}, toolCall.arguments, details(toolCall));
    await assert.rejects(refund.invoke({}, toolCall.arguments, details(toolCall)), NoDecision);
    assert.deepEqual(got, ['{"amount":20,"ticket":"T-1"}']);
    // The last answer of the guardrail counts.
    await run({ toolCall });
    toolCall.arguments = '{"amount":20,"ticket":""}';
    assert.equal((await run({ toolCall })).behavior.type, "rejectContent");
    await assert.rejects(refund.invoke({}, '{"amount":999, "amount":20, "ticket":"T-1"}', details(toolCall)), NoDecision);
    assert.equal(got.length, 1);
  });

  test("a tool that is not a function cannot be guarded", async () => {
    const { guardedTools } = await import("proofmark/openai-agents");
    assert.throws(() => guardedTools(guardOf(), [{ type: "hosted_tool", name: "web_search" }]), /`web_search` is not a function tool/);
  });
});

describe("@mastra/core", { skip: MASTRA }, () => {
  test("a call runs once it was approved, and the run resumed", async () => {
    const ran = [], args = { amount: 500, ticket: "T-1" };
    const { agent, told } = await mastraAgent(guardOf(), args, ran, { interrupts: true });
    const { runId, suspendPayload: { toolCallId, suspendPayload } } = await agent.generate("refund", { maxSteps: 3 });
    assert.match(suspendPayload.url, /\/ui\/decisions\//);
    // A resumed run decides on it again.
    const again = await agent.resumeGenerate({}, { runId, toolCallId });
    assert.deepEqual([again.suspendPayload.toolCallId, ran, told], [toolCallId, [], []]);
    await approve(500);
    await agent.resumeGenerate({}, { runId, toolCallId });
    assert.deepEqual([ran, told], [[args], ["refunded 500"]]);
  });
});
