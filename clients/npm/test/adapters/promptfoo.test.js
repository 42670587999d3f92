/** The assertion for promptfoo, as promptfoo runs it. */

import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";

import { BINARY, SORT, UNANSWERED, fake, folder, gone, json, proofmark, serve } from "../support.js";
import { load, missing } from "./modules.js";

const ASSERTION = `file://${fileURLToPath(import.meta.resolve("proofmark/promptfoo"))}:verified`;
const GOOD = SORT.output.content, WRONG = "def sort_list(xs):\n    return xs\n", WORST = "def sort_list(xs):\n    return 1\n";
/** The reason that promptfoo gives for what is neither right nor wrong. */
const ERROR = 2;
const { output: _, ...REQUEST } = SORT;

describe("promptfoo", { skip: missing("promptfoo") }, () => {
  const home = folder();
  let promptfoo, server;
  before(async () => {
    Object.assign(process.env, { PROMPTFOO_CONFIG_DIR: folder(), PROMPTFOO_DISABLE_TELEMETRY: "1", PROMPTFOO_DISABLE_UPDATE: "1", LOG_LEVEL: "none" });
    ({ default: promptfoo } = await load("promptfoo"));
    server = await serve();
    process.env.PROOFMARK_API_KEY = server.agentKey;
  });

  /** What promptfoo makes of an output. */
  async function evaluated(output, config, { threshold, ...assertion } = {}) {
    const suite = {
      writeLatestResults: false, prompts: [async () => "sort"], providers: [async () => ({ output })],
      tests: [{ threshold, assert: [{ type: "javascript", value: ASSERTION, config: { request: REQUEST, ...config }, ...assertion }] }],
    };
    const { results } = await (await promptfoo.evaluate(suite, { cache: false, showProgressBar: false })).toEvaluateSummary();
    assert.equal(results.length, 1);
    const [{ success, score, failureReason, error, gradingResult }] = results;
    return { success, score, error, isError: failureReason === ERROR, result: gradingResult?.componentResults?.[0] };
  }

  const local = more => ({ home, binary: BINARY, ...more });

  /** An output that could not be verified has neither passed nor failed. */
  async function isNotVerified(output, config, more) {
    const { success, isError, error } = await evaluated(output, config, more);
    assert.deepEqual([success, isError], [false, true], error);
    return error;
  }

  test("each check is a result, and the receipt is kept", async () => {
    const { success, score, result } = await evaluated(GOOD, local());
    assert.deepEqual([success, score], [true, 1]);
    assert.deepEqual(result.componentResults.map(({ pass, reason }) => [pass, reason]), [[true, "basic: pass"], [true, "empty: pass"]]);
    const { receipt } = result.metadata;
    assert.deepEqual(JSON.parse(proofmark(home, ["receipt", "show", "--json", receipt.receipt_id])), receipt);
  });

  test("an output that fails some checks has a part of the score", async () => {
    const { success, score, isError, result } = await evaluated(WRONG, local());
    assert.deepEqual([success, score, isError], [false, 0.5, false]);
    assert.deepEqual(result.componentResults.map(({ pass }) => pass), [false, true]);
    assert.match(result.componentResults[0].reason, /^basic: fail\nat \[0\]/);
  });

  test("an output that fails all checks has no score", async () => {
    for (const config of [local(), { url: server.baseUrl }]) {
      const { success, score, isError } = await evaluated(WORST, config);
      assert.deepEqual([success, score, isError], [false, 0, false]);
    }
  });

  test("a server verifies, too", async () => {
    assert.equal((await evaluated(GOOD, { url: server.baseUrl, trusted: server.signer() })).success, true);
    assert.equal((await evaluated(WRONG, { url: server.baseUrl })).score, 0.5);
    const other = proofmark(home, ["key", "show", "--as", "pem"]);
    assert.match(await isNotVerified(GOOD, { url: server.baseUrl, trusted: other }), /not signed by a signer of `trusted`/);
  });

  test("the request may be in a file", async () => {
    const request = join(folder(), "sort.json");
    writeFileSync(request, JSON.stringify(REQUEST));
    assert.equal((await evaluated(GOOD, local({ request }))).success, true);
  });

  test("what cannot be verified is an error", async () => {
    const verification = { ...REQUEST.verification, runtime: "python2.4" };
    assert.match(await isNotVerified(GOOD, local({ request: { verification } })), /could not be verified: basic: failed to find the runtime `python2\.4`/);
    for (const request of [undefined, {}, [], "absent.json", SORT]) await isNotVerified(GOOD, local({ request }));
    assert.match(await isNotVerified(GOOD, local({ polcy: "a" })), /unknown `config\.polcy`/);
    assert.match(await isNotVerified({ text: GOOD }, local()), /is not a text/);
  });

  for (const [what, clients] of Object.entries(UNANSWERED)) {
    test(what, async () => {
      for (const { baseUrl, timeoutMs } of await clients()) {
        assert.match(await isNotVerified(GOOD, { url: baseUrl, timeoutMs }), /the (server|answer)/i);
      }
    });
  }

  test("nothing in a test lets an output pass that could not be verified", async () => {
    const url = await gone();
    for (const more of [{ weight: 0 }, { type: "not-javascript" }, { threshold: 0 }]) {
      assert.equal((await evaluated(WRONG, local(), more)).success, true);
      await isNotVerified(GOOD, { url }, more);
    }
  });

  test("the command gives no receipt", async () => {
    const binary = join(folder(), "proofmark");
    assert.match(await isNotVerified(GOOD, local({ binary })), /failed to run/);
    for (const [script, timeoutMs, said] of [
      ["exec sleep 60", 100, /has not answered within 100 ms/],
      ["echo pass", undefined, /has ended with 0/],
      ["echo '{\"receipt_id\": \"1\", \"verdict\": \"pass\"}'", undefined, /is not a valid receipt/],
    ]) {
      writeFileSync(binary, `#!/bin/sh\n${script}\n`);
      chmodSync(binary, 0o755);
      assert.match(await isNotVerified(GOOD, local({ binary, timeoutMs })), said);
    }
  });

  test("an answer that is not a receipt on the output is an error", async () => {
    const receipt = await server.agent.verify(SORT);
    const answering = answer => fake((_, response) => json(response, JSON.stringify(answer)));
    for (const answer of [{ ...receipt, verdict: "partial" }, { ...receipt, signature: undefined }]) {
      await isNotVerified(GOOD, { url: await answering(answer) });
    }
    const url = await answering(receipt);
    assert.match(await isNotVerified(WRONG, { url }), /on another output/);
    assert.equal((await evaluated(GOOD, { url })).success, true);
  });
});
