import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { Refused, canonical, fingerprint, hashFile, parse, placesOf, readSigners, splitDocuments, toText, verify, verifyChain, verifyHead } from "../src/index.js";
import { BINARY, lines } from "./binary.js";
import { allVectors, PACKAGE } from "./data.js";
import { sign, testKeys, unsignedDocument } from "./mutants.js";

const vectors = Object.fromEntries(allVectors().map(([name, { cases }]) => [name, Object.fromEntries(cases.map(one => [one.name, one]))]));
const ISSUED = vectors["receipt.json"].issued.receipt;

test("trust is a matter of the caller's list, and never of a document that is not valid", async () => {
  const [issuer, other] = await testKeys();
  const trustOf = async (text, trusted) => (await verify(text, { trusted })).trust;
  assert.equal(await trustOf(ISSUED, []), "unknown");
  assert.equal(await trustOf(ISSUED, [other.id]), "untrusted");
  assert.equal(await trustOf(ISSUED, [other.id, issuer.id]), "trusted");
  assert.equal(await trustOf(ISSUED.replace("partial", "pass"), [issuer.id]), "unknown");
  const ends = [undefined, null, NaN, Infinity, "1", new Date(1)].map(until => [{ id: issuer.id, until }]);
  for (const trusted of [[""], ["me"], [issuer.id.slice(0, -1)], ["-----BEGIN PRIVATE KEY-----"], [{ until: 1 }], [{ id: "me", until: 1 }], [null], ...ends]) {
    await assert.rejects(verify(ISSUED, { trusted }), RangeError);
    await assert.rejects(verifyHead(ISSUED, { trusted }), RangeError);
    await assert.rejects(verifyChain([ISSUED], { trusted }), RangeError);
  }
  await assert.rejects(verify(ISSUED, { profile: "VRF" }), RangeError);
  for (const source of [null, undefined, 7, {}, []]) await assert.rejects(verify(source), TypeError);
});

test("text and bytes of every kind are one document", async () => {
  const bytes = new TextEncoder().encode(ISSUED);
  const padded = new Uint8Array([0, ...bytes, 0]);
  const sources = [ISSUED, bytes, bytes.buffer, Buffer.from(bytes), new DataView(padded.buffer, 1, bytes.length), padded.subarray(1, -1)];
  for (const source of sources) assert.equal((await verify(source)).answer, "valid");
  const lone = await verify(ISSUED.replace("order-17", "order-\ud800"));
  assert.deepEqual([lone.answer, lone.cause], ["undecidable", "invalid_utf8"]);
});

test("bytes that change while they are verified change nothing", async () => {
  const bytes = new TextEncoder().encode(ISSUED.replace("partial", "pass   "));
  const verification = verify(bytes);
  bytes.set(new TextEncoder().encode(ISSUED));
  assert.notEqual((await verification).answer, "valid");
});

test("a chain is only as good as its worst part", async () => {
  const { documents, head } = vectors["linked.json"].decisions_and_their_head;
  const [{ id }, other] = await testKeys();
  const whole = await verifyChain(documents, { head, trusted: [id] });
  assert.deepEqual([whole.answer, whole.trust, whole.links.answer, whole.length], ["valid", "trusted", "valid", 4]);
  assert.equal((await verifyChain(documents)).trust, "unknown");
  assert.equal((await verifyChain(documents, { trusted: [other.id] })).trust, "untrusted");
  const short = await verifyChain(documents.slice(0, 3), { head });
  assert.deepEqual([short.answer, short.links.cause], ["invalid", "truncated"]);
  // Links are hashes of what is there: a changed last document breaks none.
  const changed = await verifyChain([...documents.slice(0, 3), documents[3].replace('"allow"', '"ALLOW"')]);
  assert.notEqual(changed.answer, "valid");
  const unread = await verifyChain([...documents, "{"]);
  assert.deepEqual([unread.answer, unread.links.answer], ["undecidable", "valid"]);
  const noHead = await verifyChain(documents, { head: "{}" });
  assert.deepEqual([noHead.answer, noHead.head.cause], ["undecidable", "missing_field"]);
  assert.equal((await verifyChain([])).links.cause, "empty_chain");
  const later = async function* () { yield* documents; };
  assert.equal((await verifyChain(later())).answer, "valid");
});

test("keys are read from every form of file", async context => {
  const [{ id, raw }] = await testKeys();
  const x = btoa(String.fromCharCode(...raw)).replaceAll("+", "-").replaceAll("/", "_").replace("=", "");
  const jwk = { kty: "OKP", crv: "Ed25519", x };
  const ssh = btoa(String.fromCharCode(0, 0, 0, 11, ...new TextEncoder().encode("ssh-ed25519"), 0, 0, 0, 32, ...raw));
  const pem = `-----BEGIN PUBLIC KEY-----\n${id.slice(0, 40)}\r\n${id.slice(40)}\n-----END PUBLIC KEY-----\n`;
  for (const text of [id, pem, `ssh-ed25519 ${ssh} ann@host\n`, JSON.stringify(jwk), JSON.stringify({ keys: [{ kty: "RSA" }, jwk] })]) {
    assert.deepEqual(readSigners(text), [id], text);
  }
  for (const text of ["", "x", "{}", "[]", "7", "ssh-ed25519", "ssh-rsa AAAA", `${id} ${id}`, JSON.stringify({ ...jwk, crv: "X25519" })]) {
    assert.deepEqual(readSigners(text), [], text);
  }
  assert.match(await fingerprint(id), /^sha256:[0-9a-f]{64}$/);
  await assert.rejects(fingerprint("x"), Refused);
  if (!BINARY) return context.skip("PROOFMARK_BINARY names no binary");
  const home = mkdtempSync(join(tmpdir(), "proofmark-js-"));
  try {
    const run = (...more) => execFileSync(BINARY, ["key", ...more], { env: { ...process.env, PROOFMARK_HOME: home }, stdio: ["ignore", "pipe", "ignore"] }).toString();
    run("new");
    const forms = ["pem", "jwk"].map(form => readSigners(run("show", "--as", form)));
    assert.ok(forms.every(([signer]) => signer === forms[0][0] && signer !== undefined));
    assert.ok(run("show").includes(await fingerprint(forms[0][0])));
  } finally {
    rmSync(home, { recursive: true });
  }
});

test("a key with an end is trusted up to it, as the binary does", async context => {
  const [issuer] = await testKeys(), { id, raw } = issuer, dated = 1771461960;
  const x = btoa(String.fromCharCode(...raw)).replaceAll("+", "-").replaceAll("/", "_").replace("=", "");
  const [ending] = readSigners(`{"kty":"OKP","crv":"Ed25519","x":"${x}","exp":1}`);
  assert.deepEqual(ending, { id, until: 1000 });
  assert.equal(await fingerprint(ending), await fingerprint(id));
  assert.equal((await verify(ISSUED, { trusted: [ending] })).trust, "untrusted");
  assert.equal((await verify(ISSUED, { trusted: [ending, id] })).trust, "trusted");
  const { documents, head } = vectors["linked.json"].decisions_and_their_head;
  for (const [until, trust] of [[4e12, "trusted"], [1, "untrusted"]]) {
    const trusted = [{ id, until }];
    assert.equal((await verifyHead(head, { trusted })).trust, trust);
    assert.equal((await verifyChain(documents, { head, trusted })).trust, trust);
  }
  if (!BINARY) return context.skip("PROOFMARK_BINARY names no binary");
  const folder = mkdtempSync(join(tmpdir(), "proofmark-js-"));
  try {
    const documentOf = kind => unsignedDocument(kind, "00000000-0000-4000-8000-000000000000", {}, id);
    const signed = await Promise.all([0, 1, 2].map(async kind => toText(await sign(documentOf(kind), issuer))));
    writeFileSync(join(folder, "documents"), signed.join("\n"));
    for (const exp of ["0", "-1", "-0.0004", `${dated}`, `${dated}.0004`, `${dated}.0007`, `${dated + 1}`, "1e9", "1e400", "null", '"1"']) {
      const jwk = `{"kty":"OKP","crv":"Ed25519","x":"${x}","exp":${exp}}`, trusted = readSigners(jwk);
      writeFileSync(join(folder, "key.jwk"), jwk);
      if (trusted.length === 0) {
        assert.throws(() => lines(folder, ["--trust", "./key.jwk", "documents"]), /no Ed25519 public key/, exp);
        continue;
      }
      const found = await Promise.all(signed.map(async document => (await verify(document, { trusted })).trust));
      assert.deepEqual(found, lines(folder, ["--trust", "./key.jwk", "documents"]).map(({ trust }) => trust), exp);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a file is found in the documents that name it", async () => {
  const document = parse(ISSUED);
  const digest = await hashFile(new Blob(["output"]));
  assert.equal(digest, await hashFile(new TextEncoder().encode("output")));
  assert.deepEqual(placesOf(document, digest), ["hashes.output"]);
  assert.deepEqual(placesOf(document, await hashFile(new Blob(["other"]))), []);
  assert.deepEqual(placesOf(parse(`{"a":[null,{"b":"${digest}"}]}`), digest), ["a[1].b"]);
});

test("documents are read as written, whatever their names", () => {
  const text = '{"__proto__":{"a":1.50},"10":1,"9":[-0,1e400],"constructor":null,"":"\\u0041"}';
  assert.equal(toText(parse(text)), text.replace("\\u0041", "A"));
  assert.equal(canonical(parse(text)), '{"":"A","10":1,"9":[-0,1e400],"__proto__":{"a":1.50},"constructor":null}');
  assert.equal({}.a, undefined);
  assert.throws(() => parse("{"), error => error instanceof Refused && error.code === "unexpected_end" && error.help === "is it cut off?");
});

test("files are split as the command splits them", () => {
  const lines = text => splitDocuments(text).map(({ line, bytes }) => [line, new TextDecoder().decode(bytes)]);
  assert.deepEqual(lines('{"a":\n1}\n'), [[null, '{"a":\n1}\n']]);
  assert.deepEqual(lines("{}\n\n \r\n[]"), [[1, "{}"], [4, "[]"]]);
  assert.deepEqual(lines("{}\n{"), [[1, "{}"], [2, "{"]]);
  assert.deepEqual(lines("{\n{}"), [[null, "{\n{}"]]);
  assert.deepEqual(lines(""), [[null, ""]]);
  const long = " ".repeat(1 << 20);
  assert.deepEqual(lines(`${long} \n{}`).map(([line]) => line), [1, 2]);
});

test("what a signer signs again after a change is valid again, and nothing else", async () => {
  const [issuer, other] = await testKeys();
  for (const kind of [0, 1, 2]) {
    const id = "00000000-0000-4000-8000-000000000000";
    const document = await sign(unsignedDocument(kind, id, {}, issuer.id), issuer);
    assert.equal((await verify(toText(document))).answer, "valid");
    document.set("extra", "x");
    assert.equal((await verify(toText(document))).cause, "content_hash_mismatch");
    assert.equal((await verify(toText(await sign(document, other)))).cause, "issuer_key_mismatch");
    assert.equal((await verify(toText(await sign(document, issuer)))).answer, "valid");
  }
});

test("the example of the README runs", () => {
  const readme = readFileSync(join(PACKAGE, "README.md"), "utf8");
  const [, example] = /```js\n([\s\S]*?)```/.exec(readme);
  const folder = mkdtempSync(join(tmpdir(), "proofmark-js-"));
  try {
    const { documents, head } = vectors["linked.json"].decisions_and_their_head;
    writeFileSync(join(folder, "receipt.json"), ISSUED);
    writeFileSync(join(folder, "answer.py"), "output");
    writeFileSync(join(folder, "chain.jsonl"), documents.join("\n"));
    writeFileSync(join(folder, "head.json"), head);
    writeFileSync(join(folder, "issuer.pem"), JSON.parse(ISSUED).signature.signer_id);
    const script = example.replace('"@proofmark/verify"', JSON.stringify(new URL("../src/index.js", import.meta.url).href));
    writeFileSync(join(folder, "example.mjs"), script);
    const said = execFileSync(process.execPath, ["example.mjs"], { cwd: folder }).toString();
    assert.deepEqual(said.trim().split("\n"), ["valid trusted", "[ 'hashes.output' ]", "valid"]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
