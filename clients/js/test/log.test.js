import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { verifyProof } from "../src/index.js";
import { openCheckpoint } from "../src/checkpoint.js";
import { digest } from "../src/ed25519.js";
import { MAX_NOTE_BYTES, MAX_NOTE_LINES, readNote, readVkey } from "../src/note.js";
import { readPolicy } from "../src/policy.js";
import { readProofFile } from "../src/proof.js";
import { hex, utf8 } from "../src/text.js";
import { BINARY } from "./binary.js";
import { conformance, PACKAGE } from "./data.js";
import { checkpointText, LOG_FILES, logCases, newKey, proofFile } from "./logs.js";
import { dice } from "./mutants.js";
import { several } from "./suites.js";

const DOCUMENT = '{"a":1}';
/** Another number in each run; the same one again finds the same mutants. */
const SEED = Number(process.env.PROOFMARK_SEED ?? Date.now() % 1_000_000_000);
const MUTANTS = 120;
const ORIGIN = "log.example/a";

for (const [file, count] of Object.entries(LOG_FILES)) {
  test(`logs of other projects: ${file}`, async context => {
    const data = conformance("tlog", file);
    if (!data) return context.skip("no conformance data");
    assert.deepEqual(await logCases(file, data), { count, wrong: [] });
  });
}

/** A proof of entry 100 of 300, with a cosignature and a document inside. */
async function made() {
  const [log, witness] = await Promise.all([newKey(ORIGIN, 1), newKey("witness.example/1", 4)]);
  const entries = await entriesOf(300);
  entries[100] = await digest(utf8(DOCUMENT));
  const text = await checkpointText(ORIGIN, entries);
  const note = await log.signed(text) + await witness.cosignature(text, 1_767_225_600);
  const policy = `log ${log.vkey}\nwitness w ${witness.vkey}\nquorum w\n`;
  return { log, witness, text, note, policy, entries, file: await proofFile({ extra: DOCUMENT, index: 100, entries, note }) };
}

function entriesOf(count) {
  return Promise.all(Array.from({ length: count }, (_, index) => digest(utf8(`entry ${index}`))));
}

/** A verification with the members that the binary prints, apart from cosignatures. */
function asPrinted({ answer, code: cause, reason: message, log, witnessed, origin, index, size }) {
  const numbers = { index: index === null ? null : Number(index), entries: size === null ? null : Number(size) };
  const printed = { answer, cause, message, log, witnessed, origin, ...numbers };
  return Object.fromEntries(Object.entries(printed).filter(([, value]) => value !== null));
}

const code = async (...more) => (await verifyProof(...more)).code;
const refusal = read => {
  try {
    read();
    return null;
  } catch (error) {
    return error.code;
  }
};

test("a proof says what is proven", async () => {
  const { log, witness, policy, file, entries, text } = await made();
  const found = await verifyProof(file, ' { "a" : 1 } ', { policy });
  assert.deepEqual(found, {
    answer: "valid", code: null, reason: null, log: "trusted", witnessed: "met", index: 100n, size: 300n, origin: ORIGIN,
    cosignatures: [{ witness: "witness.example/1", time: 1_767_225_600n }], document: utf8(DOCUMENT),
  });
  const entry = hex(entries[100]);
  for (const same of [entry, `sha256:${entry}`, utf8(DOCUMENT)]) assert.deepEqual(await verifyProof(utf8(file), same, { policy }), found);
  // Without a policy no witness is known.
  const alone = await verifyProof(file, entry, { logKeys: [log.vkey] });
  assert.deepEqual([alone.answer, alone.witnessed, alone.cosignatures], ["valid", "unknown", []]);
  const few = await verifyProof(await proofFile({ index: 100, entries, note: await log.signed(text) }), entry, { policy });
  assert.deepEqual([few.answer, few.code, few.witnessed, few.document], ["valid", "quorum_not_met", "not_met", null]);
  for (const logKeys of [[], [witness.vkey], [(await newKey(ORIGIN, 1)).vkey]]) {
    const unsigned = await verifyProof(file, entry, { logKeys });
    assert.deepEqual([unsigned.answer, unsigned.code, unsigned.log], ["undecidable", "unsigned_by_log", "unknown"]);
  }
  assert.deepEqual([await code(file, '{"a":2}', { policy }), await code(file, "[1]", { policy }), await code(file, "{", { policy })],
    ["inclusion_mismatch", "wrong_type", "unexpected_end"]);
});

test("the example of the README runs", async () => {
  const { file, policy } = await made();
  const [, example] = /## Proofs of a log[^]*?```js\n([^]*?)```/.exec(readFileSync(join(PACKAGE, "README.md"), "utf8"));
  const folder = mkdtempSync(join(tmpdir(), "proofmark-js-"));
  try {
    const script = example.replace('"@proofmark/verify"', JSON.stringify(new URL("../src/index.js", import.meta.url).href));
    const files = { "receipt.tlog-proof": file, "receipt.json": DOCUMENT, "policy.txt": policy, "example.mjs": script };
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
    assert.equal(execFileSync(process.execPath, ["example.mjs"], { cwd: folder }).toString(), "valid met 100n\n");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a tagged COSE_Sign1 is a document, too", async () => {
  const cose = Uint8Array.of(0xd2, 0x84, 0x40, 0xa0, 0x40, 0x40);
  const log = await newKey(ORIGIN, 1), entries = [await digest(cose)];
  const note = await log.signed(await checkpointText(ORIGIN, entries));
  assert.equal(await code(await proofFile({ index: 0, entries, note }), cose, { logKeys: [log.vkey] }), null);
});

test("every entry of every small tree is proven, and at its own index alone", async () => {
  const log = await newKey(ORIGIN, 1), logKeys = [log.vkey];
  for (let size = 1; size <= 20; size++) {
    const entries = await entriesOf(size), note = await log.signed(await checkpointText(ORIGIN, entries));
    for (let index = 0; index < size; index++) {
      const file = await proofFile({ index, entries, note });
      assert.equal(await code(file, hex(entries[index]), { logKeys }), null, `${index} of ${size}`);
      const elsewhere = file.replace(`index ${index}\n`, `index ${index + 1}\n`);
      assert.equal(await code(elsewhere, hex(entries[index]), { logKeys }), "inclusion_mismatch", `${index} of ${size}`);
    }
  }
});

test("a proof with a hash more or less is of another tree", async () => {
  const { file, policy } = await made(), [hash] = file.split("\n").slice(3);
  for (const changed of [file.replace(`${hash}\n`, ""), file.replace(`${hash}\n`, `${hash}\n${hash}\n`)]) {
    const found = await verifyProof(changed, DOCUMENT, { policy });
    assert.deepEqual([found.code, /which is not the number that it needs$/.test(found.reason)], ["inclusion_mismatch", true]);
  }
});

test("a witness counts once, with its latest time, and keys of another type not at all", async () => {
  const { log, witness, text, note } = await made();
  const [first, second] = await Promise.all([log.vkey, witness.vkey].map(readVkey)), both = [first, second];
  const more = note + await witness.cosignature(text, 1_767_225_700) + await witness.cosignature(text, 5);
  const { cosignatures } = await openCheckpoint(utf8(more), both, [...both, second]);
  assert.deepEqual(cosignatures, [{ key: second, time: 1_767_225_700n }]);
});

test("what a witness signs is no checkpoint", async () => {
  const log = await newKey("cosignature/v1", 1), note = await log.signed(await checkpointText("cosignature/v1", await entriesOf(1)));
  await assert.rejects(openCheckpoint(utf8(note), [await readVkey(log.vkey)], []), { code: "malformed_checkpoint" });
});

test("a changed byte anywhere in a good proof is noticed", async context => {
  const { policy, file } = await made();
  const outside = conformance("tlog", "proof.json")?.cases.find(({ name }) => name === "receipt");
  const proofs = [["own", file, DOCUMENT, policy]];
  if (outside) proofs.push(["outside", outside.proof, outside.entry, outside.policy]);
  for (const [name, good, entry, trusted] of proofs) {
    const bytes = utf8(good), end = good.indexOf("index ");
    assert.equal(await code(bytes, entry, { policy: trusted }), null);
    await several(bytes.keys(), async at => {
      for (const bit of [1, 0x20, 0x80]) {
        const changed = bytes.slice();
        changed[at] ^= bit;
        const found = await verifyProof(changed, entry, { policy: trusted });
        // Extra data proves nothing, so it is left out once it is not the document.
        const noticed = found.code !== null || found.document === null && name === "own" && at < end;
        assert.ok(noticed, `${name}: byte ${at} with ${bit}: ${found.answer}`);
      }
    });
  }
  if (!outside) context.skip("no conformance data: the proof of this test's own log was changed alone");
});

test("limits have a code of their own", async () => {
  const { file, note, policy } = await made(), line = `${note.trimEnd().split("\n").at(-1)}\n`;
  const lines = count => refusal(() => readNote(utf8(`text\n\n${line.repeat(count)}`)));
  assert.deepEqual([lines(MAX_NOTE_LINES), lines(MAX_NOTE_LINES + 1)], [null, "too_large"]);
  const ofBytes = count => refusal(() => readNote(utf8(`${"x".repeat(count - utf8(line).length - 2)}\n\n${line}`)));
  assert.deepEqual([ofBytes(MAX_NOTE_BYTES), ofBytes(MAX_NOTE_BYTES + 1)], [null, "too_large"]);
  assert.equal(await code(file + "\n".repeat(1_700_000), DOCUMENT, { policy }), "too_large");
  const extra = text => refusal(() => readProofFile(utf8(`c2sp.org/tlog-proof@v1\nextra ${text}\nindex 0\n\n`)));
  const whole = "AAAA".repeat(Math.floor((1 << 20) / 3));
  assert.deepEqual([extra(""), extra(`${whole}AA==`), extra(`${whole}AAA=`)], ["malformed_proof", null, "malformed_proof"]);
  const hash = `${btoa("x".repeat(32))}\n`;
  const hashes = count => refusal(() => readProofFile(utf8(`c2sp.org/tlog-proof@v1\nindex 0\n${hash.repeat(count)}\n`)));
  assert.deepEqual([hashes(63), hashes(64)], [null, "malformed_proof"]);
  const witness = async (_, number) => `witness w${number} ${(await newKey("w", 4)).vkey}\n`;
  const witnesses = await Promise.all(Array.from({ length: 257 }, witness));
  const policies = count => readPolicy(utf8(`${witnesses.slice(0, count).join("")}quorum none\n`)).then(() => null, error => error.code);
  assert.deepEqual([await policies(256), await policies(257)], [null, "too_large"]);
  await assert.rejects(readPolicy(new Uint8Array((256 << 10) + 1).fill(0x23)), { code: "too_large" });
});

test("the faults of a policy name their line, and names in it are bytes", async () => {
  const said = text => readPolicy(typeof text === "string" ? utf8(text) : text).then(() => null, error => error.message);
  assert.equal(await said("# all\n\nquorum w1\n"), "line 3 of the policy: `w1` is not defined on a line before");
  assert.equal(await said("quorum none"), "line 1 of the policy: it does not end with a line feed");
  assert.equal(await said("quorum\n"), "line 1 of the policy: `quorum` has another number of words");
  assert.equal(await said(""), "the policy has no `quorum` line: write `quorum <name>`, or `quorum none`");
  assert.match(await said("log x\n"), /`x` is not a verifier key/);
  const { vkey } = await newKey("w", 4);
  const of = (name, quorum) =>
    Uint8Array.of(...utf8("witness "), ...name, ...utf8(` ${vkey} https://x`), 0xff, ...utf8("\nquorum "), ...quorum, 0x0a);
  assert.equal(await said(of([0xff], [0xff])), null);
  assert.notEqual(await said(of([0xff], [0xfe])), null);
  assert.notEqual(await said(of([0x80], [0x20, 0xac])), null);
});

test("what is trusted is read strictly, and bytes that change while they are verified change nothing", async () => {
  const { file, policy, log } = await made();
  for (const options of [{ logKeys: ["me"] }, { logKeys: [log.vkey, `${log.vkey} `] }, { policy: "quorum" }, { policy: `${policy}\ud800\n` }]) {
    await assert.rejects(verifyProof(file, DOCUMENT, options), RangeError);
  }
  for (const source of [null, undefined, 7, {}, []]) {
    await assert.rejects(verifyProof(source, DOCUMENT, { policy }), TypeError);
    await assert.rejects(verifyProof(file, source, { policy }), TypeError);
  }
  assert.equal(await code(`${file}\u2014 \ud800 AAAAAAA=\n`, DOCUMENT, { policy }), "malformed_proof");
  const [bytes, document, trusted] = [utf8(file), utf8(DOCUMENT), utf8(policy)];
  const verification = verifyProof(bytes, document, { policy: trusted });
  for (const changed of [bytes, document, trusted]) changed.fill(0);
  assert.equal((await verification).code, null);
});

const options = { skip: BINARY ? false : "PROOFMARK_BINARY names no binary" };

test(`changed proofs are judged as the binary judges them (PROOFMARK_SEED=${SEED})`, options, async () => {
  const { file, policy } = await made(), roll = dice(SEED), bytes = utf8(file);
  const entry = `sha256:${hex(await digest(utf8(DOCUMENT)))}`;
  const folder = mkdtempSync(join(tmpdir(), "proofmark-js-")), codes = new Set();
  const outside = (conformance("tlog", "proof.json")?.cases ?? []).filter(one => one.entry.length === 64);
  const cases = [[bytes, entry, policy], ...outside.map(one => [utf8(one.proof), `sha256:${one.entry}`, one.policy])];
  const tokens = ["\n", "\n\n", " ", "=", "0", "\r", "\u2014 ", "+", "A", "\0", "\u00a0", "\ufeff", "index ", "extra "].map(utf8);
  for (let number = 0; number < MUTANTS; number++) {
    const at = roll(bytes.length), inserted = tokens[roll(tokens.length)], removed = roll(3) * roll(3);
    const lines = file.split("\n"), line = roll(lines.length);
    const mutant = roll(3) > 0 ? Uint8Array.of(...bytes.slice(0, at), ...inserted, ...bytes.slice(at + removed))
      : utf8([...lines.slice(0, line), ...roll(2) ? [] : [lines[line], lines[line]], ...lines.slice(line + 1)].join("\n"));
    cases.push([mutant, entry, policy]);
  }
  try {
    for (const [number, [proof, of, trusted]] of cases.entries()) {
      writeFileSync(join(folder, "proof"), proof);
      writeFileSync(join(folder, "policy"), trusted);
      const done = spawnSync(BINARY, ["log", "verify", "--json", "--document", of, "--log-policy", "policy", "proof"], {
        cwd: folder, env: { ...process.env, PROOFMARK_HOME: join(folder, "home") },
      });
      assert.ok([0, 1, 2].includes(done.status) && done.stdout.length > 0, `${done.stderr}`);
      const said = JSON.parse(done.stdout), found = await verifyProof(proof, of, { policy: trusted });
      const { entry: _, file: __, cosignatures, ...printed } = said;
      assert.deepEqual(asPrinted(found), printed, `${number}`);
      assert.deepEqual(found.cosignatures.map(({ witness, time }) => [witness, Number(time) * 1000]),
        cosignatures.map(({ witness, time }) => [witness, Date.parse(time)]), `${number}`);
      codes.add(found.code);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  assert.ok(codes.size >= 4, `too few causes: ${[...codes]}`);
});
