import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

import { inspect } from "../page/inspect.js";
import { pieces } from "../page/visible.js";
import { answerOf, summaryOf } from "../page/words.js";
import { Signers } from "../src/signer.js";
import { verify } from "../src/verify.js";
import { allVectors, PACKAGE } from "./data.js";
import { mutant, testKeys } from "./mutants.js";

test("verify.js and check.html are what their sources make", async () => {
  execFileSync(process.execPath, ["page/build.js", "--check"], { cwd: PACKAGE });
  const [one, sources] = await Promise.all([import("../verify.js"), import("../src/index.js")]);
  assert.deepEqual(Object.keys(one), Object.keys(sources));
  const [, { cases }] = allVectors().find(([name]) => name === "decision.json");
  for (const { document, expect, answer } of cases) {
    const found = await one.verify(document);
    assert.deepEqual([found.answer, found.cause ?? "valid"], [answer, expect]);
  }
});

test("what cannot be seen is named", () => {
  const shown = text => pieces(text).map(piece => (piece.unseen ? `[${piece.text}]` : piece.text)).join("");
  assert.equal(shown("plain\ttext\nof two lines, naïve 並べ替え \u{1F600}"), "plain\ttext\nof two lines, naïve 並べ替え \u{1F600}");
  assert.equal(shown("a\u202eb"), "a[U+202E]b");
  assert.equal(shown("\u200b\u2066x\u00a0\u3164\u2800\ufeff"), "[U+200B U+2066]x[U+00A0 U+3164 U+2800 U+FEFF]");
  assert.equal(shown("\r\0\u001b[31m\u007f\u2028\u{e0041}\u{f0000}"), "[U+000D U+0000 U+001B][31m[U+007F U+2028 U+E0041 U+F0000]");
  assert.equal(shown("\u200d".repeat(1006)), `[${Array(6).fill("U+200D").join(" ")} and 1,000 more]`);
  assert.deepEqual(pieces("", 5), []);
  assert.equal(pieces("x".repeat(1e6), 10)[0].text.length, 10);
});

test("a document of any form has words", async () => {
  const keys = await testKeys();
  const documents = await Promise.all(Array.from({ length: 400 }, (_, number) => mutant(11, number, keys)));
  const texts = allVectors().flatMap(([, { cases }]) => cases.flatMap(one => one.receipt ?? one.document ?? one.head ?? []));
  for (const source of [...documents, ...texts, '{"results":[],"task":1,"verdict":"__proto__"}', '{"disposition":{"mode":"constructor"}}']) {
    const verification = await verify(source);
    const { sentence } = answerOf(verification);
    assert.equal(sentence.startsWith("Valid"), verification.answer === "valid");
    for (const kind of ["receipt", "decision_receipt", "session_entry", "chain_head"]) {
      const summary = summaryOf({ ...verification, kind });
      const said = [summary.word, summary.title, ...summary.facts.flatMap(({ name, value }) => [name, value])];
      assert.ok(said.every(text => typeof text === "string"), JSON.stringify(said));
    }
  }
});

test("a file is taken for what it is", async () => {
  const [, { cases }] = allVectors().find(([name]) => name === "linked.json");
  const chain = cases.find(({ name }) => name === "decisions_and_their_head");
  const [{ id }] = await testKeys();
  const of = (...parts) => inspect(new Blob(parts));
  assert.equal((await of(chain.documents.join("\n"))).chain.links.finish(null, []).answer, "valid");
  assert.equal((await of(chain.documents.join("\r\n"), "\n\n")).total, 4);
  const gap = await of(chain.documents.filter((_, at) => at !== 2).join("\n"));
  assert.deepEqual([gap.chain.brokenAt, gap.chain.links.finish(null, []).cause, gap.counts.valid], [3, "gap", 3]);
  assert.deepEqual((await of(chain.head)).verification.answer, "valid");
  assert.equal((await of(chain.documents[0])).shown[0].verification.answer, "valid");
  assert.deepEqual(await of(`-----BEGIN PUBLIC KEY-----\n${id}\n-----END PUBLIC KEY-----\n`), { kind: "keys", signers: [id] });
  assert.deepEqual(await of(`${id}\n`), { kind: "keys", signers: [id] });
  const x = Buffer.from(id, "base64").subarray(12).toString("base64url");
  const jwk = `{"kty":"OKP","crv":"Ed25519","x":"${x}","exp":1}`;
  assert.deepEqual(await of(jwk), { kind: "keys", signers: [{ id, until: 1000 }] });
  // What the command does not take for a key is none here.
  for (const before of ["\ufeff", Uint8Array.of(0xff)]) assert.equal((await of(before, `${id}\n`)).kind, "documents");
  const { documents } = chain, dates = (await of(documents.join("\n"))).chain.signers;
  assert.deepEqual([...dates.keys()], [id]);
  assert.equal(new Signers([{ id, until: dates.get(id) }]).trust(id, dates.get(id)), "untrusted");
  assert.equal(new Signers([{ id, until: dates.get(id) + 1 }]).trust(id, dates.get(id)), "trusted");
  assert.deepEqual(await of("-----BEGIN PRIVATE KEY-----\nMC4=\n-----END PRIVATE KEY-----\n"), { kind: "private_key" });
  assert.deepEqual(await of(""), { kind: "empty" });
  assert.deepEqual(await inspect({ size: 1 << 30 }), { kind: "too_large" });
  assert.equal((await of("def f(): pass")).shown[0].verification.document, undefined);
  // A head that says it is also a receipt is a receipt: no document is two things.
  assert.equal((await of('{"format":"proofmark-chain-head/1","vrf_version":"1.0"}')).kind, "documents");
});
