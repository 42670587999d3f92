/** The same without a server, with the real program. */

import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { Blocked, Guard, Local, NeedsReview, NoDecision, NotAllowed, ProofmarkError, Terminal, guarded } from "proofmark";

import { BINARY, SORT, WORKFLOW, folder, homeWithReviewers, proofmark, recorded, until } from "./support.js";

const { home, policy } = homeWithReviewers();
const local = new Local({ policy, home, binary: BINARY });
const guardOf = options => new Guard(local, { classes: { refund: "payment" }, agent: "bot", ...options });

/** Another program in place of `proofmark`. */
function script(text) {
  const file = join(folder(), "proofmark");
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
  return file;
}

test("calls are decided, and only those that are allowed run", async () => {
  const { inputs, run } = recorded();
  const refund = guarded(run, { guard: guardOf(), tool: "refund" });
  await refund({ amount: 20, ticket: "T-1" });
  await assert.rejects(refund({ amount: 20, ticket: "" }), Blocked);
  assert.equal(inputs.length, 1);
});

test("a call waits for a review that is signed with a key", async () => {
  const { inputs, run } = recorded();
  const error = await guardOf().check("refund", { amount: 200, ticket: "T-1" }).catch(error => error);
  assert.ok(error instanceof NeedsReview && error.url === undefined);
  assert.ok(error.message.includes(`proofmark decision show ${error.decision.id}`));
  const done = guarded(run, { guard: guardOf({ wait: 60 }), tool: "refund" })({ amount: 200, ticket: "T-1" });
  const second = await until(async () => (await local.reviews()).decisions.find(one => one.decision_id !== error.decision.id));
  assert.deepEqual(inputs, []);
  await local.review(second.decision_id, { verdict: "approve", note: "checked", key: "ann" });
  await done;
  assert.equal(inputs.length, 1);
  const denied = guardOf({ wait: 60 }).check("refund", { amount: 201, ticket: "T-1" }).catch(error => error);
  const third = await until(async () => (await local.reviews({ amount: 201 })).decisions[0]);
  await local.review(third.decision_id, { verdict: "deny", note: "no", key: "ann" });
  assert.ok(await denied instanceof Terminal);
});

test("limits count in the store of the home that was given", async () => {
  const place = folder(), limited = join(place, "limits.yaml");
  const require = "[{limit: {id: paid, sum: action.args.amount, window: 1h, max: 50}}]";
  writeFileSync(limited, `version: 1\nboundaries:\n  - id: refund\n    match: {tool: refund}\n    require: ${require}\n`);
  const refund = () => guarded(async () => "ran", { tool: "refund", guard: new Guard(new Local({ policy: limited, home: place, binary: BINARY })) })({ amount: 40 });
  assert.equal(await refund(), "ran");
  await assert.rejects(refund(), NotAllowed);
  process.env.PROOFMARK_STORE = join(folder(), "other.db");
  try {
    await assert.rejects(refund(), NotAllowed);
    assert.ok(!existsSync(process.env.PROOFMARK_STORE));
  } finally {
    delete process.env.PROOFMARK_STORE;
  }
});

test("a home of the environment is used in any folder", async () => {
  const from = process.cwd(), place = folder(), { PROOFMARK_HOME: before } = process.env;
  process.chdir(place);
  process.env.PROOFMARK_HOME = "home";
  try {
    const decider = new Local({ policy, binary: BINARY });
    mkdirSync(join(place, "other"));
    process.chdir(join(place, "other"));
    assert.equal((await decider.decide({ action: { tool: "note", class: "generic" } })).outcome, "allow");
    assert.deepEqual([existsSync(join(place, "home")), existsSync(join(place, "other/home"))], [true, false]);
  } finally {
    process.chdir(from);
    if (before === undefined) delete process.env.PROOFMARK_HOME;
    else process.env.PROOFMARK_HOME = before;
  }
});

test("several calls at once", async () => {
  const refund = guarded(async ({ amount }) => amount, { guard: guardOf(), tool: "refund" });
  const amounts = Array.from({ length: 12 }, (_, index) => index + 1);
  assert.deepEqual(await Promise.all(amounts.map(amount => refund({ amount, ticket: "T-1" }))), amounts);
});

test("a program that answers wrongly, late or not at all decides nothing", async () => {
  const receipt = join(folder(), "receipt.json");
  const request = JSON.stringify({ action: { tool: "note", class: "generic" } });
  writeFileSync(receipt, proofmark(home, ["decide", "-", "--policy", policy, "--json"], request));
  const programs = {
    "nothing": "exit 0", "a word": "echo allowed", "an object": "echo '{}'", "two lines": `cat '${receipt}' '${receipt}'`,
    "another exit code": `cat '${receipt}'; exit 1`, "an error": `cat '${receipt}'; exit 2`, "another action": `cat '${receipt}'`,
    "a signal": `cat '${receipt}'; kill -9 $$`, "no end": "exec cat /dev/zero", "silence": "exec sleep 100",
  };
  for (const [name, text] of Object.entries(programs)) {
    const { inputs, run } = recorded();
    const guard = new Guard(new Local({ policy, home, binary: script(text), timeoutMs: name === "silence" ? 100 : 30_000 }));
    await assert.rejects(guarded(run, { guard, tool: "other" })({}), NoDecision, name);
    assert.deepEqual(inputs, [], name);
  }
  for (const options of [{ policy, binary: "/does/not/exist" }, { binary: BINARY }, { policy: join(home, "absent.yaml"), home, binary: BINARY }]) {
    await assert.rejects(new Guard(new Local(options)).check("note", {}), NoDecision);
  }
  assert.throws(() => new Guard(local, { policy: "payments" }), TypeError);
});

test("a call that is given up ends the program", async () => {
  const pid = join(folder(), "pid"), controller = new AbortController();
  const slow = new Local({ policy, home, binary: script(`echo $$ > '${pid}.part'; mv '${pid}.part' '${pid}'; exec sleep 100`) });
  const done = slow.decide({}, { signal: controller.signal });
  await until(() => existsSync(pid));
  controller.abort(new Error("enough"));
  await assert.rejects(done, /enough/);
  const id = Number(readFileSync(pid, "utf8"));
  await until(() => {
    try {
      return !process.kill(id, 0);
    } catch {
      return true;
    }
  });
});

test("verifications, steps, receipts and chains", async () => {
  const receipt = await local.verify(SORT, { chain: "nightly" });
  assert.equal(receipt.verdict, "pass");
  assert.equal((await local.verify({ ...SORT, output: { content: "def sort_list(xs):\n    return xs\n" } })).verdict, "partial");
  assert.deepEqual(await local.receipt(receipt.receipt_id), receipt);
  const { receipts, head } = await local.chain("nightly");
  assert.deepEqual([receipts, head.length], [[receipt], 1]);
  const response = 'Done.\n\n```result\n{"status": "complete", "payload": {}}\n```\n';
  assert.equal((await local.accept("r1", "implement", { workflow: WORKFLOW, response, trace: "none" })).state, "retry");
  await assert.rejects(local.verify({}), error => error instanceof ProofmarkError && error.code === "missing_field" && error.status === 2);
  await assert.rejects(local.receipt("00000000-0000-4000-8000-000000000000"), /failed to find/);
  for (const id of ["--help", "receipt.json", receipt.receipt_id.slice(0, 8), ""]) await assert.rejects(async () => local.receipt(id), /invalid id/);
  for (const one of [local.job("a"), local.events("a").next(), local.redeem("a")]) await assert.rejects(one, { code: "unsupported" });
});

test("without a package for this platform, the program on the path is run", { skip: process.env.PROOFMARK_INSTALLED && "the package is there" }, async () => {
  const before = process.env.PATH, there = folder();
  mkdirSync(join(there, "bin"));
  writeFileSync(join(there, "bin/proofmark"), `#!/bin/sh\nexec '${BINARY}' "$@"\n`, { mode: 0o755 });
  process.env.PATH = "/does/not/exist";
  try {
    await assert.rejects(new Local({ policy, home }).decide({}), /is not installed/);
    process.env.PATH = join(there, "bin");
    assert.equal((await new Local({ policy, home }).decide({ action: { tool: "note", class: "generic" } })).outcome, "allow");
  } finally {
    process.env.PATH = before;
  }
});
