/** What a guard does with decisions of the real server. */

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { Blocked, Guard, NeedsReview, NoDecision, NotAllowed, Terminal, Upstream, guarded } from "proofmark";

import { recorded, serve, until } from "./support.js";

let server;
before(async () => {
  server = await serve();
});

const guardOf = options => new Guard(server.agent, { classes: { refund: "payment" }, agent: "bot", ...options });
const waiting = async reviewer => (await reviewer.reviews()).decisions;
/** The decision on a refund of this amount that waits. */
const waits = (reviewer, amount) => until(async () => (await waiting(reviewer)).find(({ action }) => action.args.amount === amount));
const thrown = promise => promise.then(() => assert.fail("it was allowed"), error => error);

test("an allowed call runs, and its execution is reported", async () => {
  const guard = guardOf();
  const refund = guarded(async ({ amount, ticket }) => `${amount} for ${ticket}`, { guard, tool: "refund" });
  assert.equal(await refund({ amount: 20, ticket: "T-1" }), "20 for T-1");
  const decision = await guard.check("refund", { amount: 20, ticket: "T-1" });
  assert.deepEqual(await guard.report(decision), { accepted: true, findings: [] });
  assert.deepEqual((await guard.report(decision)).findings, ["executed_twice"]);
  const other = await guard.check("refund", { amount: 20, ticket: "T-1" });
  assert.deepEqual((await guard.report(other, { args: { amount: 50, ticket: "T-1" } })).findings, ["executed_other_arguments"]);
});

test("two calls make two decisions, and each is reported once", async () => {
  const decisions = [], reports = [];
  const decider = {
    decideText: async (request, options) => {
      const text = await server.agent.decideText(request, options);
      decisions.push(JSON.parse(text).decision_id);
      return text;
    },
    reviewed: () => 0, pageOf: () => undefined,
    report: async (execution, options) => {
      const reported = await server.agent.report(execution, options);
      reports.push([execution.decisionId, ...reported.findings]);
      return reported;
    },
  };
  const { inputs, run } = recorded();
  const note = guarded(run, { guard: new Guard(decider), tool: "note" });
  await note({ text: "a" });
  await note({ text: "a" });
  assert.equal(new Set(decisions).size, 2);
  assert.deepEqual(reports, decisions.map(id => [id]));
  assert.equal(inputs.length, 2);
  const fails = guarded(async () => { throw new RangeError("no such account"); }, { guard: new Guard(decider), tool: "note" });
  await assert.rejects(fails({}), RangeError);
  assert.equal(reports.length, 3, "what was begun is reported");
});

test("a function gets exactly what was decided on", async () => {
  const input = { list: [{ a: 1 }], left: undefined };
  let got;
  const guard = guardOf({ classes: () => {
    input.list[0].a = 2;
    return "generic";
  } });
  const note = guarded(async function note(value, ...rest) {
    got = [this, value, rest];
  }, { guard });
  const host = { note }, options = { toolCallId: "c" };
  const done = host.note(input, options, 7);
  input.list.push("later");
  await done;
  assert.deepEqual(got, [host, { list: [{ a: 1 }] }, [options, 7]]);
  assert.ok(Object.isFrozen(got[1]) && Object.isFrozen(got[1].list) && Object.isFrozen(got[1].list[0]));
  assert.equal(note.name, "note");
  await host.note();
  assert.deepEqual(got[1], {});
  await guarded(async value => void (got = value), { guard: guardOf(), tool: "refund", args: ({ order }) => order })({ order: { amount: 1, ticket: "T-1" }, secret: "x" });
  assert.equal(got.secret, "x");
});

test("what blocks says how to continue", async () => {
  const guard = guardOf();
  const blocked = await thrown(guard.check("refund", { amount: 20, ticket: "" }));
  assert.ok(blocked instanceof Blocked && blocked instanceof NotAllowed);
  assert.match(blocked.message, /^`refund` was not executed\. The refund names no ticket\. Put the ticket into the arguments, then request the refund again\. \(decision /);
  const { decision } = blocked;
  assert.deepEqual([decision.outcome, decision.disposition, decision.allowed], ["replan_required", "local_replan", false]);
  assert.deepEqual([decision.reasons[0].code, decision.nextSteps[0].code], ["no_ticket", "name_ticket"]);
  assert.deepEqual(await guard.decide("refund", { amount: 20, ticket: "" }).then(({ allowed, id }) => [allowed, id === decision.id]), [false, false]);
  assert.match((await thrown(guard.check("refund", { amount: 20, ticket: "" }))).message, /Do not send the same call again\./);
  const upstream = await thrown(guard.check("publish", {}, { context: { facts: [], upstream: { parent_node: "planner" } } }));
  assert.ok(upstream instanceof Upstream, `${upstream}`);
  assert.ok(await guard.check("publish", {}, { context: { facts: [{ payload: { brief: "b" } }] } }));
  assert.ok(await thrown(guard.check("destroy", {})) instanceof Terminal);
  assert.ok(await thrown(guard.check("unknown", {})) instanceof Blocked);
  for (const context of [{ action: {} }, { agent: {} }, { surprise: 1 }, { facts: [new Date()] }]) {
    assert.ok(await thrown(guard.check("note", {}, { context })) instanceof NoDecision);
  }
});

test("names that objects have are classed like others", async () => {
  const guard = guardOf();
  for (const tool of ["constructor", "__proto__", "toString"]) assert.equal((await guard.decide(tool, {})).klass, "generic");
});

test("a call that a person has to review waits for it", async () => {
  const amount = 201, input = { amount, ticket: "T-1" };
  const error = await thrown(guardOf().check("refund", input, { callId: "call-1" }));
  assert.ok(error instanceof NeedsReview);
  assert.equal(error.url, `${server.baseUrl}/ui/decisions/${error.decision.id}`);
  assert.ok(error.message.includes(error.url) && !error.message.includes("Do not send the same call again"), error.message);
  const stored = await waits(server.ann, amount);
  assert.equal(stored.decision_id, error.decision.id);
  assert.match(stored.facts.agent.step, /^call-1:[0-9a-f-]{36}$/);
  const { inputs, run } = recorded();
  const refund = guarded(run, { guard: guardOf({ wait: 60 }), tool: "refund" });
  const done = refund(input);
  const { decision_id } = await until(async () => (await waiting(server.ann)).find(one => one.action.args.amount === amount && one.decision_id !== stored.decision_id));
  assert.deepEqual(inputs, []);
  await server.ann.review(decision_id, { verdict: "approve", note: "checked" });
  await done;
  assert.deepEqual(inputs, [input]);
  assert.ok(await thrown(guardOf().check("refund", input)) instanceof NeedsReview, "the approval was used up");
});

test("a denial ends the wait", async () => {
  const { inputs, run } = recorded();
  const done = thrown(guarded(run, { guard: guardOf({ wait: 60 }), tool: "refund" })({ amount: 202, ticket: "T-1" }));
  await server.ann.review((await waits(server.ann, 202)).decision_id, { verdict: "deny", note: "the customer did not ask for it" });
  const error = await done;
  assert.ok(error instanceof Terminal && error.message.includes("the customer did not ask for it"), `${error}`);
  assert.deepEqual(inputs, []);
});

test("where two have to approve, one does not suffice", async () => {
  const { inputs, run } = recorded();
  const done = guarded(run, { guard: guardOf({ wait: 60 }), tool: "refund" })({ amount: 2_000, ticket: "T-1" });
  const first = await waits(server.ann, 2_000);
  await server.ann.review(first.decision_id, { verdict: "approve", role: "finance", note: "fine" });
  const second = await until(async () => (await waiting(server.eve)).find(one => one.action.args.amount === 2_000 && one.decision_id !== first.decision_id));
  assert.deepEqual(inputs, []);
  await server.eve.review(second.decision_id, { verdict: "approve", role: "owner", note: "mine, too" });
  await done;
  assert.equal(inputs.length, 1);
});

test("a wait ends with its time, or when the call is given up", async () => {
  assert.ok(await thrown(guardOf({ wait: 0.1 }).check("refund", { amount: 203, ticket: "T-1" })) instanceof NeedsReview);
  const controller = new AbortController();
  const given = thrown(guardOf({ wait: 60 }).check("refund", { amount: 204, ticket: "T-1" }, { signal: controller.signal }));
  await waits(server.ann, 204);
  controller.abort();
  assert.ok(await given instanceof NoDecision);
});

test("a hundred calls at once each have a decision of their own", async () => {
  const guard = guardOf();
  const ids = new Set(), results = [];
  const refund = guarded(async ({ amount }) => amount, { guard, tool: "refund" });
  const calls = Array.from({ length: 100 }, async (_, index) => {
    // Every other one is not allowed.
    const amount = index % 50 + 1, input = { amount, ticket: index % 2 ? "T-1" : "" };
    results.push([input.ticket, await refund(input).catch(error => ids.add(error.decision.id) && error.name), amount]);
  });
  await Promise.all(calls);
  for (const [ticket, result, amount] of results) assert.equal(result, ticket ? amount : "Blocked");
  assert.equal(ids.size, 50);
});

test("options without a meaning are refused at once", () => {
  const guard = guardOf(), run = async () => {};
  for (const options of [{ guard }, { guard, tool: "" }, { tool: "a" }, { tool: "a", guard, policy: "p.yaml" }]) {
    assert.throws(() => guarded(async () => {}, options), TypeError);
  }
  assert.throws(() => guarded(undefined, { guard, tool: "a" }), TypeError);
  for (const wait of [-1, NaN, "60s", 1e9]) assert.throws(() => guardOf({ wait }), TypeError);
  assert.equal(guarded(run, { guard }).name, "run");
});
