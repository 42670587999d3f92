/** The assertion for promptfoo, as promptfoo runs it. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";

import { BINARY, SORT, fake, folder, proofmark, serve } from "../support.js";
import { load, missing } from "./modules.js";

const ASSERTION = `file://${fileURLToPath(import.meta.resolve("proofmark/promptfoo"))}:verified`;
const GOOD = SORT.output.content, WRONG = "def sort_list(xs):\n    return xs\n";
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
  async function evaluated(output, config) {
    const suite = {
      writeLatestResults: false, prompts: [async () => "sort"], providers: [async () => ({ output })],
      tests: [{ assert: [{ type: "javascript", value: ASSERTION, config: { request: REQUEST, ...config } }] }],
    };
    const { results } = await (await promptfoo.evaluate(suite, { cache: false, showProgressBar: false })).toEvaluateSummary();
    assert.equal(results.length, 1);
    const [{ success, score, failureReason, error, gradingResult }] = results;
    return { success, score, error, isError: failureReason === ERROR, result: gradingResult?.componentResults?.[0] };
  }

  const local = more => ({ home, binary: BINARY, ...more });

  /** An output that could not be verified has neither passed nor failed. */
  async function isNotVerified(output, config) {
    const { success, isError, error } = await evaluated(output, config);
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
    await isNotVerified(GOOD, { binary: "/does/not/exist" });
    const gone = await serve();
    await gone.stop();
    await isNotVerified(GOOD, { url: gone.baseUrl });
  });

  test("an answer that is not a receipt on the output is an error", async () => {
    const receipt = await server.agent.verify(SORT);
    for (const answer of [{}, { verdict: "pass" }, { ...receipt, verdict: "partial" }, { ...receipt, signature: undefined }]) {
      const url = await fake((_, response) => response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer)));
      await isNotVerified(GOOD, { url });
    }
    const url = await fake((_, response) => response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(receipt)));
    assert.match(await isNotVerified(WRONG, { url }), /on another output/);
    assert.equal((await evaluated(GOOD, { url })).success, true);
  });
});
