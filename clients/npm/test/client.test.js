/** The methods of a client with the real server, and what it does with servers that are busy or say no. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { before, test } from "node:test";

import { Client, Guard, ProofmarkError } from "proofmark";

import { SORT, WORKFLOW, bodyOf, fake, read, serve } from "./support.js";

const ATTEMPT = { workflow: read(WORKFLOW), response: 'Done.\n\n```result\n{"status": "complete", "payload": {}}\n```\n', trace: [] };

let server;
before(async () => {
  server = await serve();
});

const json = (response, value, status = 200, headers = {}) =>
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));
const problem = (status, code, retryable) => ({ type: "about:blank", title: "", status, detail: "", error: { code, message: "words", retryable } });
const refused = (promise, expected) => assert.rejects(promise, error => {
  assert.ok(error instanceof ProofmarkError, `${error}`);
  const { code, status, retryable } = error;
  assert.deepEqual({ code, status, retryable }, expected);
  return true;
});

test("work is verified, and its receipt is found again", async () => {
  const receipt = await server.agent.verify(SORT, { chain: "nightly" });
  assert.equal(receipt.verdict, "pass");
  assert.deepEqual(await server.agent.receipt(receipt.receipt_id), receipt);
  const { head, receipts } = await server.agent.chain(receipt.receipt_id);
  assert.deepEqual([receipts, head.length], [[receipt], 1]);
  const { redeemed_at, ...redeemed } = await server.agent.redeem(receipt.receipt_id);
  assert.equal(redeemed.receipt_id, receipt.receipt_id);
  await refused(server.agent.redeem(receipt.receipt_id), { code: "already_redeemed", status: 409, retryable: false });
});

test("work is verified in the background", async () => {
  const { job_id } = await server.agent.verify(SORT, { background: true });
  const states = [];
  for await (const job of server.agent.events(job_id)) states.push(job.state);
  assert.equal(states.at(-1), "done");
  const job = await server.agent.job(job_id);
  assert.deepEqual([job.state, job.receipt.receipt_id, job.receipt.verdict], ["done", job_id, "pass"]);
});

test("a verification that takes long is waited for", async () => {
  const job = { job_id: randomUUID(), state: "waiting", created_at: "", checks: { done: 0, total: 1 } };
  const receipt = { receipt_id: job.job_id, verdict: "pass" };
  const answers = { done: { ...job, state: "done", receipt }, failed: { ...job, state: "failed", error: "why" }, cancelled: { ...job, state: "cancelled" } };
  for (const [state, last] of Object.entries(answers)) {
    const baseUrl = await fake((request, response) => {
      if (request.method === "POST") return json(response, job, 202);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`event: waiting\ndata: ${JSON.stringify(job)}\n\nevent: run`);
      response.end(`ning\ndata: ${JSON.stringify({ ...job, state: "running" })}\n\nevent: ${state}\ndata: ${JSON.stringify(last)}\n\n`);
    });
    const done = new Client({ baseUrl }).verify({});
    if (state === "done") assert.deepEqual(await done, receipt);
    else await refused(done, { code: state, status: undefined, retryable: false });
  }
  const silent = await fake((request, response) => {
    if (request.method === "POST") json(response, job, 202);
    else response.writeHead(200, { "content-type": "text/event-stream" }).write(": here\n\n");
  });
  await refused(new Client({ baseUrl: silent }).verify({}, { timeoutMs: 300 }), { code: "late", status: undefined, retryable: true });
});

test("events that end before the job did are no end of it", async () => {
  const job = { job_id: randomUUID(), state: "running", created_at: "", checks: { done: 0, total: 1 } };
  for (const [sent, states] of [["", []], [`data: ${JSON.stringify(job)}\n\n`, ["running"]], [`data: ${JSON.stringify(job)}\n\ndata: {"state":"done"}\n`, ["running"]]]) {
    const baseUrl = await fake((request, response) => {
      if (request.method === "POST") return json(response, job, 202);
      response.writeHead(200, { "content-type": "text/event-stream" }).end(sent);
    });
    const client = new Client({ baseUrl }), seen = [];
    const follow = async () => {
      for await (const { state } of client.events(job.job_id)) seen.push(state);
    };
    const expected = { code: "malformed_answer", status: undefined, retryable: true };
    await refused(follow(), expected);
    assert.deepEqual(seen, states);
    await refused(client.verify({}), expected);
    await assert.rejects(client.verify({}), { message: "the events ended before the job did: ask for the job" });
  }
});

test("a job that is over has no more events", { timeout: 20_000 }, async () => {
  const last = { job_id: randomUUID(), state: "cancelled", created_at: "", checks: { done: 0, total: 1 } };
  let closed;
  const baseUrl = await fake((_, response) => {
    closed = new Promise(resolve => response.once("close", resolve));
    response.writeHead(200, { "content-type": "text/event-stream" }).write(`data: ${JSON.stringify(last)}\n\n`);
  });
  const seen = [];
  for await (const job of new Client({ baseUrl }).events(last.job_id)) seen.push(job);
  assert.deepEqual(seen, [last]);
  await closed;
});

test("an attempt at a step is judged", async () => {
  const run = randomUUID();
  const { state, attempt, receipt, rules } = await server.agent.accept(run, "implement", ATTEMPT);
  assert.deepEqual([state, attempt, receipt.verdict, rules.length > 0], ["retry", 1, "partial", true]);
});

test("decisions and reviews", async () => {
  const action = { tool: "refund", class: "payment", args: { amount: 300, ticket: "T-1" } };
  const { decision_id, safe_to_execute } = await server.agent.decide({ action, agent: { id: "bot" } });
  assert.equal(safe_to_execute, false);
  const { decisions } = await server.ann.reviews({ amount: 300, limit: 10 });
  assert.deepEqual(decisions.map(one => one.decision_id), [decision_id]);
  await refused(server.agent.reviews(), { code: "forbidden", status: 403, retryable: false });
  const { approval } = await server.ann.review(decision_id, { verdict: "approve", note: "checked" });
  assert.equal(approval.task.task_type, "approval");
  const { reviews, receipt } = await server.agent.decision(decision_id);
  assert.deepEqual([reviews.length, reviews[0].verdict, receipt.decision_id], [1, "approved", decision_id]);
  const allowed = await server.agent.decide({ action, agent: { id: "bot" } });
  assert.equal(allowed.outcome, "allow");
  assert.deepEqual(await server.agent.report({ decisionId: allowed.decision_id, executed: true }), { accepted: true, findings: [] });
  await refused(server.agent.decide({ action }, { policy: "another" }), { code: "unknown_policy", status: 422, retryable: false });
});

test("a request with the same key has one answer", async () => {
  const request = { action: { tool: "note", class: "generic" } }, idempotencyKey = randomUUID();
  const [one, other] = [await server.agent.decide(request, { idempotencyKey }), await server.agent.decide(request, { idempotencyKey })];
  assert.equal(one.decision_id, other.decision_id);
  await assert.rejects(server.agent.decide({ action: { tool: "other", class: "generic" } }, { idempotencyKey }), ProofmarkError);
});

test("what is refused says why, and no message has the key", async () => {
  await refused(server.client("wrong").receipt(randomUUID()), { code: "unauthorized", status: 401, retryable: false });
  await refused(server.agent.receipt(randomUUID()), { code: "not_found", status: 404, retryable: false });
  await refused(server.agent.receipt("../decisions"), { code: "not_found", status: 404, retryable: false });
  for (const id of ["", ".", ".."]) await assert.rejects(async () => server.agent.receipt(id), TypeError);
  await refused(server.agent.decide({}), { code: "missing_field", status: 400, retryable: false });
  for (const apiKey of ["", "a b", "secret\n", "sécret"]) assert.throws(() => new Client({ apiKey }), error => !error.message.includes("cret"));
  for (const baseUrl of ["", "localhost:8700", "ftp://a", "http://a:secret@b", "http://a?b", "http://a#b", "file:///"]) {
    assert.throws(() => new Client({ baseUrl }), error => error instanceof TypeError && !error.message.includes("secret"));
  }
  for (const timeoutMs of [0, -1, NaN, Infinity, "5", 2 ** 31]) assert.throws(() => new Client({ timeoutMs }), TypeError);
});

test("a key is sent over HTTPS or on this host alone", async () => {
  const apiKey = "secret";
  const open = ["http://a", "http://10.0.0.1:8700", "http://localhost.a", "http://a.localhost", "http://127.a", "http://127.0.0.1.a", "http://[::2]", "http://0.0.0.0", "HTTP://A"];
  for (const baseUrl of open) {
    assert.throws(() => new Client({ baseUrl, apiKey }), error => error instanceof TypeError && /sent over HTTPS, or on this host/.test(error.message) && !error.message.includes(apiKey));
    assert.equal(new Client({ baseUrl }).baseUrl, baseUrl.toLowerCase());
  }
  for (const baseUrl of ["https://a", "http://127.0.0.1:8700", "http://127.1", "http://127.8.9.1", "http://localhost", "http://LocalHost:1/base", "http://[::1]:8700", "http://[0:0::1]"]) {
    assert.ok(new Client({ baseUrl, apiKey }));
  }
  Object.assign(process.env, { PROOFMARK_URL: "http://a", PROOFMARK_API_KEY: apiKey });
  try {
    assert.throws(() => new Client(), /write `https:\/\/`/);
    assert.throws(() => new Guard(), /write `https:\/\/`/);
  } finally {
    delete process.env.PROOFMARK_URL;
    delete process.env.PROOFMARK_API_KEY;
  }
});

test("a busy server is asked again with the same key, as long as there is time", async () => {
  const seen = [];
  const baseUrl = await fake(async (request, response) => {
    seen.push([request.headers["idempotency-key"], await bodyOf(request)]);
    if (seen.length < 3) return json(response, problem(seen.length === 1 ? 429 : 503, "busy", true), seen.length === 1 ? 429 : 503, { "retry-after": "0" });
    json(response, { decision_id: "d" });
  });
  await new Client({ baseUrl }).decide({ a: 1 });
  assert.deepEqual(new Set(seen.map(String)).size, 1);
  assert.equal(seen.length, 3);
  const busy = headers => fake((_, response) => json(response, problem(503, "busy", true), 503, headers));
  const expected = { code: "busy", status: 503, retryable: true };
  await refused(new Client({ baseUrl: await busy({ "retry-after": "0" }) }).receipt("a"), expected);
  await refused(new Client({ baseUrl: await busy({ "retry-after": "3600" }) }).receipt("a"), expected);
  await refused(new Client({ baseUrl: await busy({ "retry-after": new Date(Date.now() + 3.6e6).toUTCString() }) }).receipt("a"), expected);
});

/** The requests for which the server reads no key. */
const ONCE = {
  accept: client => client.accept("run", "step", ATTEMPT),
  review: client => client.review("a", { verdict: "deny", note: "n" }),
  redeem: client => client.redeem("a"),
};

for (const [name, send] of Object.entries(ONCE)) {
  test(`\`${name}\` is not sent again where it may have been carried out`, async () => {
    let handler, keys = [];
    const baseUrl = await fake((request, response) => {
      keys.push(request.headers["idempotency-key"]);
      handler(response);
    });
    const client = new Client({ baseUrl });
    handler = response => json(response, problem(503, "too_slow", true), 503, { "retry-after": "0" });
    await refused(send(client), { code: "too_slow", status: 503, retryable: true });
    handler = response => response.destroy();
    await refused(send(client), { code: "unreachable", status: undefined, retryable: true });
    assert.deepEqual(keys, [undefined, undefined]);
    // A request that was refused for its rate was not carried out.
    keys = [];
    handler = response => (keys.length === 1 ? json(response, problem(429, "busy", true), 429, { "retry-after": "0" }) : json(response, { state: "done" }));
    assert.deepEqual(await send(client), { state: "done" });
    assert.deepEqual(keys, [undefined, undefined]);
  });
}

test("a request whose connection was closed is sent once more, with the same key", async () => {
  const keys = [];
  const baseUrl = await fake((request, response) => {
    keys.push(request.headers["idempotency-key"]);
    if (keys.length % 2) response.destroy();
    else json(response, { decision_id: "d" });
  });
  const client = new Client({ baseUrl });
  assert.equal((await client.decide({})).decision_id, "d");
  assert.deepEqual([keys.length, new Set(keys).size], [2, 1]);
});

test("a request can be given up", async () => {
  const controller = new AbortController(), reason = new Error("enough");
  const baseUrl = await fake(() => controller.abort(reason));
  await assert.rejects(new Client({ baseUrl }).job("a", { signal: controller.signal }), reason);
  await assert.rejects(new Client({ baseUrl }).job("a", { signal: controller.signal }), reason);
  await assert.rejects(new Client({ baseUrl }).events("a", { signal: controller.signal }).next(), reason);
  const waits = new AbortController();
  const busy = await fake((_, response) => json(response, {}, 429, { "retry-after": "20" }) && setImmediate(() => waits.abort(reason)));
  await assert.rejects(new Client({ baseUrl: busy }).job("a", { signal: waits.signal }), reason);
});

test("the environment names the server and the key", async () => {
  const seen = [];
  const url = await fake((request, response) => seen.push([request.url, request.headers.authorization]) && json(response, {}));
  Object.assign(process.env, { PROOFMARK_URL: `${url}/base/`, PROOFMARK_API_KEY: "k" });
  try {
    await new Client().job("a/b");
    await new Client({ baseUrl: url, apiKey: "other" }).job("a");
  } finally {
    delete process.env.PROOFMARK_URL;
    delete process.env.PROOFMARK_API_KEY;
  }
  assert.deepEqual(seen, [["/base/v1/jobs/a%2Fb", "Bearer k"], ["/v1/jobs/a", "Bearer other"]]);
});
