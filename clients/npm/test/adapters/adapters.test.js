/** What every adapter does, in an agent of its framework. */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";

import { Client, Guard, Local } from "proofmark";

import { BINARY, fake, homeWithReviewers, serve } from "../support.js";
import { HOSTS } from "./hosts.js";

const ARGS = { amount: 20, ticket: "T-1" };

let server, gone;
const { home, policy } = homeWithReviewers();
before(async () => {
  [server, gone] = await Promise.all([serve(), serve()]);
  await gone.stop();
});

const guardOf = (decider = server.agent) => new Guard(decider, { agent: "bot", classes: { refund: "payment", mcp__shop__refund: "payment" } });
const json = (response, text) => response.writeHead(200, { "content-type": "application/json" }).end(text);

/** An error with all that it was made of: frameworks wrap it. */
function causes(error) {
  return error instanceof Error ? `${error.message} ${causes(error.cause)} ${causes(error.error)} ${(error.errors ?? []).map(causes)}` : "";
}

/** Has an agent make a call that is not allowed; returns what the model was told. */
async function doesNotRun(host, guard, args = ARGS) {
  const ran = [];
  const said = await host(guard, args, ran).catch(causes);
  assert.deepEqual(ran, []);
  return String(said);
}

/** A guard that asks a server which answers so. */
async function answeredBy(handler, options = {}) {
  return guardOf(new Client({ baseUrl: await fake(handler), ...options }));
}

for (const [name, [host, skip]] of Object.entries(HOSTS)) {
  describe(name, { skip }, () => {
    test("the server is gone", async () => {
      assert.match(await doesNotRun(host, guardOf(gone.agent)), /was not executed, because there is no decision/);
    });

    test("the answer is late", async () => {
      assert.match(await doesNotRun(host, await answeredBy(() => {}, { timeoutMs: 50 })), /was not executed, because there is no decision/);
    });

    test("the answer is malformed", async () => {
      for (const text of ["", "{}", '{"outcome": "allow", "safe_to_execute": true}', "<p>allow"]) {
        assert.match(await doesNotRun(host, await answeredBy((_, response) => json(response, text))), /was not executed, because there is no decision/, text);
      }
    });

    test("the answer is on another call", async () => {
      const { text } = await guardOf().check("refund", { ...ARGS, amount: 1 });
      assert.match(await doesNotRun(host, await answeredBy((_, response) => json(response, text))), /was not executed, because there is no decision/);
    });

    test("the guard itself fails", async () => {
      const fails = () => {
        throw new RangeError("the guard is broken");
      };
      for (const broken of [fails, async () => fails(), () => undefined, async () => undefined, async () => ({})]) {
        const guard = guardOf();
        guard.check = guard.decide = broken;
        await doesNotRun(host, guard);
      }
    });

    test("an allowed call runs once, and is reported", async () => {
      const guard = guardOf(), ran = [], reports = [];
      const report = guard.report.bind(guard);
      guard.report = async (...execution) => void reports.push(await report(...execution));
      assert.match(await host(guard, ARGS, ran), /refunded 20/);
      assert.deepEqual(ran, [ARGS]);
      assert.deepEqual(reports, [{ accepted: true, findings: [] }]);
    });

    test("a blocked call is told to the model", async () => {
      assert.match(await doesNotRun(host, guardOf(), { amount: 20, ticket: "" }), /The refund names no ticket\. Put the ticket into the arguments/);
    });

    test("a call that a person has to review does not run", async () => {
      const said = await doesNotRun(host, guardOf(), { amount: 200, ticket: "T-2" });
      assert.match(said, /Finance has not approved this refund\. It waits for a review by a person\./);
      assert.match(said, /\/ui\/decisions\//);
    });

    test("a call that ends the path does not run", async () => {
      assert.match(await doesNotRun(host, guardOf(), { ...ARGS, amount: -1 }), /A refund does not take money\. Stop here/);
    });

    test("a call is decided on without a server", async () => {
      const ran = [];
      const guard = guardOf(new Local({ policy, home, binary: BINARY }));
      assert.match(await host(guard, ARGS, ran), /refunded 20/);
      assert.deepEqual(ran, [ARGS]);
      await doesNotRun(host, guard, { amount: 20, ticket: "" });
    });
  });
}
