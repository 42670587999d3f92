/** A guarded function does not run without a decision that allows exactly its call. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";

import { Client, Guard, Local, NoDecision, NotAllowed, guarded } from "proofmark";
import { approvals, guardedTools } from "proofmark/ai";
import { guardHooks } from "proofmark/claude-agent-sdk";
import { guardedTools as guardedFunctions } from "proofmark/openai-agents";

import { BINARY, bodyOf, fake, folder, gone, json, recorded, serve } from "./support.js";

const INPUT = { amount: 20, ticket: "T-1" };

let server;
before(async () => {
  server = await serve();
});

/** Calls a guarded function, which must not run; what it threw. */
async function refused(guard, input = INPUT, options = {}) {
  const { inputs, run } = recorded();
  const refund = guarded(run, { guard, tool: "refund", klass: "payment", ...options });
  const error = await refund(input).then(() => assert.fail("it ran"), error => error);
  assert.ok(error instanceof NoDecision && error instanceof NotAllowed, `${error}`);
  assert.equal(error.decision, undefined);
  assert.deepEqual(inputs, []);
  return error;
}

/** A guard that asks a server which answers so. */
async function guardOf(handler, client = {}) {
  return new Guard(new Client({ baseUrl: await fake(handler), ...client }));
}

/** What the real server answers to a request with these members. */
function answer(more = {}, agent = {}) {
  const action = { tool: "refund", class: "payment", boundary: "action_execute", args: INPUT, ...more };
  return server.agent.decideText(JSON.stringify({ action, agent }));
}

/** A guard whose requests reach the real server, and whose answers come as `reply` passes them on. */
function between(reply, client) {
  return guardOf(async (request, response) => {
    const body = await bodyOf(request);
    if (request.url === "/v1/decisions") reply(response, await server.agent.decideText(body));
    else json(response, "{}");
  }, client);
}

test("the server is gone", async () => {
  const { message, cause } = await refused(new Guard(new Client({ baseUrl: await gone() })));
  assert.match(message, /does not answer/);
  assert.equal(cause.code, "unreachable");
});

test("the connection ends before the answer", async () => {
  assert.equal((await refused(await guardOf((_, response) => response.destroy()))).cause.code, "unreachable");
});

test("the answer is late", async () => {
  const silent = await guardOf(() => {}, { timeoutMs: 50 });
  assert.equal((await refused(silent)).cause.code, "late");
  const slow = await between((response, allowed) => void response.writeHead(200, { "content-type": "application/json" }).write(allowed), { timeoutMs: 500 });
  assert.equal((await refused(slow)).cause.code, "late");
  const busy = await guardOf((_, response) => response.writeHead(503, { "retry-after": "60" }).end());
  assert.equal((await refused(busy)).cause.status, 503);
});

test("the same answers are taken where they are right", async () => {
  const { inputs, run } = recorded();
  const guard = await between(json);
  await guarded(run, { guard, tool: "refund", klass: "payment" })(INPUT);
  assert.deepEqual(inputs, [INPUT]);
});

test("the answer is malformed", async () => {
  const changed = change => allowed => {
    const receipt = JSON.parse(allowed);
    change(receipt);
    return JSON.stringify(receipt);
  };
  const answers = {
    nothing: () => "", null: () => "null", "a number": () => "1", "a list": allowed => `[${allowed}]`,
    "another object": () => '{"outcome": "allow", "safe_to_execute": true}',
    truncated: allowed => allowed.slice(0, -1), twice: allowed => `${allowed}\n${allowed}`, "a word before it": allowed => `ok ${allowed}`,
    "a member twice": allowed => allowed.replace('"outcome":', '"outcome":"allow","outcome":'),
    deep: () => `${"[".repeat(1e5)}${"]".repeat(1e5)}`,
    unsigned: changed(receipt => delete receipt.signature),
    "of another outcome": changed(receipt => { receipt.outcome = "allow_with_warning"; }),
    "of an unknown outcome": changed(receipt => { receipt.outcome = "ok"; }),
    "of other reasons": changed(receipt => { receipt.reasons = []; receipt.binding.expires_at = "2999-01-01T00:00:00.000Z"; }),
  };
  for (const [name, change] of Object.entries(answers)) {
    const error = await refused(await between((response, allowed) => json(response, change(allowed))));
    assert.match(error.message, /^`refund` was not executed, because there is no decision on it: /, name);
  }
});

test("an answer that is not a server's does not count", async () => {
  const html = { "content-type": "text/html" };
  const handlers = {
    "a page": (response, allowed) => response.writeHead(200, html).end(`<!doctype html><title>Sign in</title>${allowed}`),
    "a page that allows": (response, allowed) => response.writeHead(200, html).end(allowed),
    "an error that allows": (response, allowed) => json(response, allowed, 500),
    "bytes": response => json(response, Buffer.from([0xff, 0xfe, 0x00])),
    "less than announced": (response, allowed) => response.writeHead(200, { "content-type": "application/json", "content-length": "9999" }).end(allowed),
  };
  for (const [name, handler] of Object.entries(handlers)) {
    const { cause } = await refused(await between(handler, { timeoutMs: 500 }));
    assert.ok(["malformed_answer", "unreachable", "late"].includes(cause.code), `${name}: ${cause.code}`);
  }
});

test("an answer without an end is not read to its end", async () => {
  let written = 0;
  const guard = await guardOf((_, response) => {
    const chunk = " ".repeat(1 << 20);
    const more = () => {
      while (!response.destroyed && response.write(chunk)) written++;
    };
    response.writeHead(200, { "content-type": "application/json" }).on("drain", more);
    more();
  });
  assert.equal((await refused(guard)).cause.code, "malformed_answer");
  assert.ok(written < 200, `${written} MiB were sent`);
});

test("a redirection is not followed", async () => {
  const asked = [];
  const other = await fake((request, response) => {
    asked.push(request.headers.authorization);
    answer().then(text => json(response, text));
  });
  for (const status of [301, 302, 303, 307, 308]) {
    const guard = await guardOf((_, response) => response.writeHead(status, { location: `${other}/v1/decisions` }).end(), { apiKey: "secret" });
    assert.match((await refused(guard)).message, /leads elsewhere/);
  }
  assert.deepEqual(asked, []);
});

test("a decision on something else does not count", async () => {
  const others = {
    "other arguments": [{ args: { ...INPUT, amount: 21 } }],
    "one argument more": [{ args: { ...INPUT, note: "" } }],
    "another target": [{ target: "c-1" }],
    "another tool": [{ tool: "note" }],
    "another agent": [{}, { id: "bot" }],
    "another environment": [{}, { environment: "prod" }],
  };
  for (const [name, [action, agent]] of Object.entries(others)) {
    const text = await answer(action, agent);
    assert.equal(JSON.parse(text).safe_to_execute, true, name);
    assert.match((await refused(await guardOf((_, response) => json(response, text)))).message, /the decision is on another/, name);
  }
  const note = await answer({ tool: "note", class: "generic" });
  await refused(await guardOf((_, response) => json(response, note)), INPUT, { tool: "note" });
});

test("a decision on other facts does not count", async () => {
  const changes = {
    "without what it was warned of": ({ taint, ...request }) => request,
    "another run": request => ({ ...request, agent: { ...request.agent, run: "other" } }),
    "another step": request => ({ ...request, agent: { ...request.agent, step: "call-1" } }),
    "no agent": ({ agent, ...request }) => request,
  };
  const context = { taint: [{ signal: "untrusted_web", source: "web" }] };
  for (const [name, change] of Object.entries(changes)) {
    const decider = { decideText: request => server.agent.decideText(JSON.stringify(change(JSON.parse(request)))), pageOf: () => undefined };
    const asked = new Guard(decider).check("refund", INPUT, { klass: "payment", context, callId: "call-1" });
    await assert.rejects(asked, error => error instanceof NoDecision && /another request than was sent/.test(error.message), name);
  }
});

test("a decision on an earlier request does not count", async () => {
  for (const agent of [undefined, { id: "bot", step: "refunds" }]) {
    const texts = [], steps = [];
    const decider = {
      decideText: async request => {
        steps.push(JSON.parse(request).agent.step);
        texts.push(await server.agent.decideText(request));
        return texts[0];
      },
      pageOf: () => undefined,
    };
    const options = { agent, run: "run-1", trusted: server.signer() }, call = { klass: "payment", callId: "call-1" };
    const guard = new Guard(decider, options);
    await guard.check("refund", INPUT, call);
    for (const later of [guard, new Guard(decider, options)]) {
      await assert.rejects(later.check("refund", INPUT, call), error => error instanceof NoDecision && /another request than was sent/.test(error.message));
    }
    assert.equal(new Set(steps).size, 3);
    for (const step of steps) assert.match(step, agent ? /^refunds:[0-9a-f-]{36}$/ : /^call-1:[0-9a-f-]{36}$/);
  }
  for (const callId of [7, {}]) await assert.rejects(new Guard(server.agent).check("note", {}, { callId }), NoDecision);
});

test("the hash of the facts is the server's for numbers and texts of all kinds", async () => {
  const guard = new Guard(server.agent, { agent: { id: "bot" } });
  const values = [20, 1.5, 1e-7, -3, 1e21, 5e-324, 0, "ü\u2028\u{1f600}\u0000\"\\", { b: [null, true], a: {}, "\u{1f600}": 1, "\uffff": 2 }];
  for (const value of values) assert.ok((await guard.decide("note", { value })).id, `${value}`);
  const context = { taint: [], calls: [{ tool: "read", result: [1e3, null] }], task: { system: "s", first: "Refund." }, context_fill_pct: 12.5 };
  for (const upstream of [null, undefined, { parent_node: "planner" }]) assert.ok(await guard.decide("note", {}, { target: "c-1", context: { ...context, upstream } }));
});

test("how long a decision is valid is measured from when it was asked for, without a clock", async t => {
  const now = performance.now.bind(performance), today = Date.now.bind(Date);
  let passed = 0, wrong = 0;
  t.mock.method(performance, "now", () => now() + passed);
  t.mock.method(Date, "now", () => today() + wrong);
  let late = 0;
  const decider = {
    decideText: async request => {
      const text = await server.agent.decideText(request);
      const { decided_at, expires_at } = JSON.parse(text).binding;
      passed += late * (Date.parse(expires_at) - Date.parse(decided_at));
      return text;
    },
    pageOf: () => undefined,
  };
  const guard = new Guard(decider);
  for (wrong of [0, -864e5, 864e5]) assert.ok(await guard.check("note", {}));
  late = 1.01;
  for (wrong of [0, -864e5]) await assert.rejects(guard.check("note", {}), error => error instanceof NoDecision && /has expired/.test(error.message));
});

test("a decision that was made before the call runs is asked for again once it has expired", async t => {
  const home = folder(), policy = join(home, "policy.yaml");
  writeFileSync(policy, "version: 1\nvalid_for: 2s\nboundaries:\n  - id: note\n    match: {tool: note}\n");
  const local = new Local({ policy, home, binary: BINARY, timeoutMs: 60_000 });
  const now = performance.now.bind(performance);
  let passed = 0, asked = 0;
  const decideText = async (request, options) => {
    asked++;
    // The machine may be slow, and the decision is short.
    const before = now(), text = await local.decideText(request, options);
    passed -= now() - before;
    return text;
  };
  t.mock.method(performance, "now", () => now() + passed);
  const guard = new Guard({ decideText, pageOf: () => undefined, report: async () => ({}) });
  const { note } = guardedTools(guard, { note: { execute: async () => "noted" } });
  for (const seconds of [1, 2.5]) {
    const input = { seconds }, toolCallId = `call-${seconds}`;
    asked = 0;
    assert.equal(await approvals(guard)({ toolCall: { toolName: "note", toolCallId, input } }), "not-applicable");
    passed += seconds * 1_000;
    assert.equal(await note.execute(input, { toolCallId }), "noted");
    assert.equal(asked, seconds > 2 ? 2 : 1);
  }
});

test("what a guard returns is no decision unless it allows the call", async () => {
  for (const returned of [undefined, null, {}, { allowed: 1 }]) {
    const guard = { check: async () => returned, report: () => assert.fail("it ran") }, { inputs, run } = recorded();
    const { PreToolUse: [{ hooks: [before] }], PostToolUse: [{ hooks: [after] }] } = guardHooks(guard);
    const call = { tool_name: "refund", tool_input: INPUT, tool_use_id: "call-1" };
    const { hookSpecificOutput } = await before(call, "call-1", {});
    assert.equal(hookSpecificOutput.permissionDecision, "deny");
    assert.match(hookSpecificOutput.permissionDecisionReason, /there is no decision on it: the guard returned no decision that allows the call/);
    await after(call);
    const { refund } = guardedTools(guard, { refund: { execute: run } });
    await assert.rejects(refund.execute(INPUT, { toolCallId: "call-1" }), NoDecision);
    assert.deepEqual(inputs, []);
  }
});

test("of the calls that were allowed and never ran, the oldest are forgotten", async () => {
  const reported = [];
  const guard = { check: async (_tool, id) => ({ allowed: true, id }), report: async ({ id }) => reported.push(id) };
  const { PreToolUse: [{ hooks: [before] }], PostToolUse: [{ hooks: [after] }] } = guardHooks(guard);
  const call = id => ({ tool_name: "note", tool_input: id, tool_use_id: id });
  for (let id = 0; id <= 10_000; id++) assert.deepEqual(await before(call(`${id}`), `${id}`, {}), {});
  for (const id of ["0", "1", "10000", "10000"]) await after(call(id));
  assert.deepEqual(reported, ["1", "10000"]);
});

test("a copy of a tool has all that the tool has, and asks", async () => {
  const hidden = Symbol("hidden");
  const made = members => Object.freeze(Object.assign(Object.create({ inherited: 1 }, { [hidden]: { value: 2 } }), { name: "refund", ...members }));
  const guard = new Guard(server.agent), tool = made({ execute: () => assert.fail("it ran") }), fn = made({ type: "function", invoke: () => assert.fail("it ran") });
  const copies = [guardedTools(guard, { refund: tool }).refund, guardedFunctions(guard, [fn])[0]];
  for (const copy of copies) {
    assert.deepEqual([copy.inherited, copy[hidden], copy.name, Object.keys(copy).includes("name")], [1, 2, "refund", true]);
  }
  const [refund, refundFn] = copies;
  await assert.rejects(refund.execute({ amount: -1 }, {}), NotAllowed);
  await assert.rejects(refundFn.invoke({}, "{}"), NoDecision);
});

test("only the signers that are trusted decide", async () => {
  const [mine, other] = [server.signer(), (await serve()).signer()];
  assert.match((await refused(new Guard(server.agent, { trusted: other }))).message, /not signed by a signer of `trusted`/);
  const { inputs, run } = recorded();
  await guarded(run, { guard: new Guard(server.agent, { trusted: [other, mine] }), tool: "refund", klass: "payment" })(INPUT);
  assert.equal(inputs.length, 1);
  for (const trusted of [[], "", "-----BEGIN PRIVATE KEY-----", [mine, "nobody"]]) assert.throws(() => new Guard(server.agent, { trusted }));
});

test("code of ours, or of the caller, raises", async () => {
  const fails = () => {
    throw new Error("a mistake");
  };
  const later = async () => fails();
  const decider = more => ({ decideText: request => server.agent.decideText(request), reviewed: later, pageOf: () => undefined, report: later, ...more });
  for (const guard of [
    new Guard(server.agent, { classes: fails }),
    new Guard(server.agent, { classes: () => undefined }),
    new Guard(server.agent, { classes: later }),
    new Guard(decider({ decideText: fails })),
    new Guard(decider({ decideText: later })),
    new Guard(decider({ decideText: () => undefined })),
    new Guard(decider({ decideText: async () => ({ safe_to_execute: true }) })),
    new Guard(decider({ pageOf: fails })),
  ]) await refused(guard, INPUT, { klass: undefined });
  await refused(new Guard(server.agent), INPUT, { args: fails });
  await refused(new Guard(server.agent), INPUT, { args: later });
  await refused(new Guard(server.agent), INPUT, { target: fails });
  await refused(new Guard(server.agent), INPUT, { target: later });
  await refused(new Guard(server.agent), INPUT, { target: () => 7 });
});

test("a report that fails hides neither the result nor that it ran once", async () => {
  const failures = [];
  const reports = error => ({
    decideText: request => server.agent.decideText(request), reviewed: async () => 0, pageOf: () => undefined,
    report: async () => Promise.reject(error),
  });
  const guard = new Guard(reports(new Error("gone")), { onReportFailed: (error, { id }) => failures.push([error.message, typeof id]) });
  assert.equal(await guarded(async ({ amount }) => amount, { guard, tool: "refund", klass: "payment" })(INPUT), 20);
  assert.deepEqual(failures, [["gone", "string"]]);
  const careless = new Guard(reports(null), { onReportFailed: () => { throw new Error("also this"); } });
  assert.equal(await guarded(async ({ amount }) => amount, { guard: careless, tool: "refund", klass: "payment" })(INPUT), 20);
});

test("a call that is given up does not run", async () => {
  const { inputs, run } = recorded();
  const controller = new AbortController();
  const guard = await guardOf(request => void bodyOf(request).then(() => controller.abort()));
  const refund = guarded(run, { guard, tool: "refund", klass: "payment" });
  await assert.rejects(refund(INPUT, { abortSignal: controller.signal }), NoDecision);
  await assert.rejects(guarded(run, { guard: new Guard(server.agent), tool: "refund", klass: "payment" })(INPUT, { signal: controller.signal }), NoDecision);
  // The answer comes first, and the call is given up before it runs.
  const late = new AbortController();
  const decideText = request => server.agent.decideText(request).finally(() => late.abort());
  const decider = { decideText, reviewed: async () => 0, pageOf: () => undefined, report: async () => ({}) };
  await assert.rejects(guarded(run, { guard: new Guard(decider), tool: "refund", klass: "payment" })(INPUT, { signal: late.signal }), NoDecision);
  assert.deepEqual(inputs, []);
});
