/** What every adapter does, in an agent of its framework. */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";

import { Client, Guard, Local } from "proofmark";

import { BINARY, UNANSWERED, fake, homeWithReviewers, json, serve } from "../support.js";
import { HOSTS } from "./hosts.js";

const ARGS = { amount: 20, ticket: "T-1" };
const NO_DECISION = /was not executed, because there is no decision/;

let server;
const { home, policy } = homeWithReviewers();
before(async () => {
  server = await serve();
});

const guardOf = (decider = server.agent) => new Guard(decider, { agent: "bot", classes: { refund: "payment", mcp__shop__refund: "payment" } });

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

for (const [name, [host, skip]] of Object.entries(HOSTS)) {
  describe(name, { skip }, () => {
    for (const [what, clients] of Object.entries(UNANSWERED)) {
      test(what, async () => {
        for (const client of await clients()) assert.match(await doesNotRun(host, guardOf(new Client(client))), NO_DECISION);
      });
    }

    test("the answer is on another call", async () => {
      const { text } = await guardOf().check("refund", { ...ARGS, amount: 1 });
      const baseUrl = await fake((_, response) => json(response, text));
      assert.match(await doesNotRun(host, guardOf(new Client({ baseUrl }))), NO_DECISION);
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
