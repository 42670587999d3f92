/** A guarded function does not run where there is no decision that allows exactly its call. */

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { Client, Guard, NoDecision, NotAllowed, guarded } from "proofmark";

import { bodyOf, fake, recorded, serve } from "./support.js";

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

const json = (response, text, status = 200) => response.writeHead(status, { "content-type": "application/json" }).end(text);

test("the server is gone", async () => {
  const gone = await serve();
  await gone.stop();
  assert.match((await refused(new Guard(gone.agent))).message, /does not answer/);
  assert.equal((await refused(new Guard(gone.agent))).cause.code, "unreachable");
});

test("the connection ends before the answer", async () => {
  assert.equal((await refused(await guardOf((_, response) => response.destroy()))).cause.code, "unreachable");
});

test("the answer is late", async () => {
  const silent = await guardOf(() => {}, { timeoutMs: 50 });
  assert.equal((await refused(silent)).cause.code, "late");
  const allowed = await answer();
  const slow = await guardOf((_, response) => void response.writeHead(200, { "content-type": "application/json" }).write(allowed), { timeoutMs: 50 });
  assert.equal((await refused(slow)).cause.code, "late");
  const busy = await guardOf((_, response) => response.writeHead(503, { "retry-after": "60" }).end());
  assert.equal((await refused(busy)).cause.status, 503);
});

test("the same answers are taken where they are right", async () => {
  const allowed = await answer();
  const { inputs, run } = recorded();
  const guard = await guardOf((request, response) => json(response, request.url === "/v1/decisions" ? allowed : "{}"));
  // The guard adds the run to the facts of the agent, which the action is not made of.
  await guarded(run, { guard, tool: "refund", klass: "payment" })(INPUT);
  assert.deepEqual(inputs, [INPUT]);
});

test("the answer is malformed", async () => {
  const allowed = await answer();
  const changed = change => {
    const receipt = JSON.parse(allowed);
    change(receipt);
    return JSON.stringify(receipt);
  };
  const answers = {
    nothing: "", null: "null", "a number": "1", "a list": `[${allowed}]`, "another object": '{"outcome": "allow", "safe_to_execute": true}',
    truncated: allowed.slice(0, -1), twice: `${allowed}\n${allowed}`, "a word before it": `ok ${allowed}`,
    "a member twice": allowed.replace('"outcome":', '"outcome":"allow","outcome":'),
    deep: `${"[".repeat(1e5)}${"]".repeat(1e5)}`,
    unsigned: changed(receipt => delete receipt.signature),
    "of another outcome": changed(receipt => { receipt.outcome = "allow_with_warning"; }),
    "of an unknown outcome": changed(receipt => { receipt.outcome = "ok"; }),
    "of other reasons": changed(receipt => { receipt.reasons = []; receipt.binding.expires_at = "2999-01-01T00:00:00.000Z"; }),
  };
  for (const [name, text] of Object.entries(answers)) {
    const error = await refused(await guardOf((_, response) => json(response, text)));
    assert.match(error.message, /^`refund` was not executed, because there is no decision on it: /, name);
  }
});

test("what is no answer of a server is none", async () => {
  const allowed = await answer();
  const page = `<!doctype html><title>Sign in</title>${allowed}`;
  const handlers = {
    "a page": response => response.writeHead(200, { "content-type": "text/html" }).end(page),
    "a page that allows": response => response.writeHead(200, { "content-type": "text/html" }).end(allowed),
    "an error that allows": response => json(response, allowed, 500),
    "bytes": response => json(response, Buffer.from([0xff, 0xfe, 0x00])),
    "less than announced": response => response.writeHead(200, { "content-type": "application/json", "content-length": "9999" }).end(allowed),
  };
  for (const [name, handler] of Object.entries(handlers)) {
    const { cause } = await refused(await guardOf((_, response) => handler(response), { timeoutMs: 500 }));
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
    assert.match((await refused(await guardOf((_, response) => json(response, text)))).message, /the decision is (on|for) another/, name);
  }
  const note = await answer({ tool: "note", class: "generic" });
  await refused(await guardOf((_, response) => json(response, note)), INPUT, { tool: "note" });
});

test("a decision counts once", async () => {
  const allowed = await answer();
  const guard = await guardOf((request, response) => json(response, request.url === "/v1/decisions" ? allowed : "{}"));
  const { inputs, run } = recorded();
  const refund = guarded(run, { guard, tool: "refund", klass: "payment" });
  await refund(INPUT);
  assert.match((await refused(guard)).message, /was given for an earlier call/);
  assert.equal(inputs.length, 1);
});

test("only the signers that are trusted decide", async () => {
  const [mine, other] = [server.signer(), (await serve()).signer()];
  assert.match((await refused(new Guard(server.agent, { trusted: other }))).message, /signed by nobody of `trusted`/);
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
  const decider = more => ({ decideText: () => answer(), reviewed: later, pageOf: () => undefined, report: later, ...more });
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
  const text = await answer();
  const decider = { decideText: async () => (late.abort(), text), reviewed: async () => 0, pageOf: () => undefined, report: async () => ({}) };
  await assert.rejects(guarded(run, { guard: new Guard(decider), tool: "refund", klass: "payment" })(INPUT, { signal: late.signal }), NoDecision);
  assert.deepEqual(inputs, []);
});
