import assert from "node:assert/strict";
import { test } from "node:test";

import { PROFILES, splitDocuments, verifyChain } from "../src/index.js";
import { sha256 } from "../src/ed25519.js";
import { canonical, toText } from "../src/canonical.js";
import { parse } from "../src/json.js";
import { utf8 } from "../src/text.js";
import { BINARY, lines, verified, written } from "./binary.js";
import { allVectors, conformance } from "./data.js";
import { dice, mutant, sign, testKeys, unsignedDocument } from "./mutants.js";
import { againstBinary, asPrinted, same } from "./suites.js";

/** Another number in each run; the same one again finds the same mutants. */
const SEED = Number(process.env.PROOFMARK_SEED ?? Date.now() % 1_000_000_000);
const MUTANTS = 2000, OTHER_PROFILES = 300, CHAINS = 150;
const options = { skip: BINARY ? false : "PROOFMARK_BINARY names no binary" };

/** The documents under each of the profiles, as cases for `againstBinary`. */
function cases(documents, profiles, trusted) {
  const { folder, remove } = written(documents);
  try {
    const parts = documents.flatMap((bytes, number) =>
      splitDocuments(bytes).map(({ line, bytes: one }) =>
        ({ name: line === null ? `./${number}` : `./${number}:${line}`, base64: Buffer.from(one).toString("base64") })));
    return profiles.flatMap(profile => {
      const said = verified(folder, documents.length, { profile, trusted });
      assert.equal(parts.length, said.size, "a file is split otherwise");
      return parts.map(part => ({ ...part, profile, trusted: [trusted], said: said.get(part.name) }));
    });
  } finally {
    remove();
  }
}

test(`mutants are judged as the binary judges them (PROOFMARK_SEED=${SEED})`, options, async () => {
  const keys = await testKeys(), others = PROFILES.filter(profile => profile !== "vrf");
  const mutants = await Promise.all(Array.from({ length: MUTANTS }, (_, number) => mutant(SEED, number, keys)));
  const judged = cases(mutants, ["vrf"], keys[0].id);
  assert.deepEqual(await againstBinary(judged), []);
  const codes = new Set(judged.map(({ said }) => said.cause ?? said.trust));
  assert.ok(codes.size >= 20, `too few causes: ${[...codes]}`);
  assert.deepEqual(await againstBinary(cases(mutants.slice(0, OTHER_PROFILES), others, keys[0].id)), []);
});

test("every document of the vectors and of other projects is judged as the binary judges it, in the same words", options, async () => {
  const [{ id }] = await testKeys();
  const texts = allVectors().flatMap(([, { cases }]) =>
    cases.flatMap(one => [one.text, one.receipt, one.document, ...(one.receipts ?? []), ...(one.documents ?? [])]));
  const binary = allVectors().flatMap(([, { cases }]) => cases.flatMap(one => one.hex ?? one.receipt_hex ?? []));
  const outside = (conformance("json-parsing") ?? []).map(([, bytes]) => bytes);
  const documents = [
    ...texts.filter(text => text !== undefined).map(utf8), ...binary.map(digits => Buffer.from(digits, "hex")), ...outside,
  ];
  assert.deepEqual(await againstBinary(cases(documents, PROFILES, id)), []);
});

test(`chains are judged as the binary judges them (PROOFMARK_SEED=${SEED})`, options, async () => {
  const keys = await testKeys(), codes = new Set();
  for (let number = 0; number < CHAINS; number++) {
    const { documents, head } = await changedChain(dice(SEED + number * 104729), keys);
    const { folder, remove } = written([utf8(documents.join("\n")), utf8(head)]);
    try {
      const more = number % 3 === 0 ? [] : ["--head", "./1"];
      const said = lines(folder, ["./0", "--as-chain", "--trust", keys[0].id, ...more]);
      const found = await verifyChain(splitDocuments(documents.join("\n")).map(({ bytes }) => bytes), {
        trusted: [keys[0].id], ...(more.length ? { head } : {}),
      });
      const { answer, cause, message, help } = found.links;
      const line = { chain: true, length: found.length, answer, ...(cause && { cause, message }), ...(help && { help }) };
      const parts = [...found.documents, ...(found.head ? [found.head] : [])].map(asPrinted);
      const due = [...parts, line], got = said.map(({ source: _, claims: _claims, ...rest }) => rest);
      assert.ok(due.length === got.length && due.every((one, at) => same(one, got[at])),
        `chain ${number} of seed ${SEED}:\n${JSON.stringify(due)}\n${JSON.stringify(got)}`);
      codes.add(cause ?? "ok");
      assert.equal(found.answer === "valid", [...parts, line].every(one => one.answer === "valid"));
    } finally {
      remove();
    }
  }
  assert.ok(codes.size >= 7, `too few causes: ${[...codes]}`);
});

/** A chain with at most two changes, and a head. */
async function changedChain(roll, keys) {
  const kind = roll(4), length = 1 + roll(5), documents = [];
  let link = {};
  for (let position = 0; position < length; position++) {
    const id = `00000000-0000-4000-8000-${String(position).padStart(12, "0")}`;
    const metadata = { chain_position: position, ...link, ...odd(roll, position) };
    const document = unsignedDocument(kind === 3 ? roll(3) : kind, id, metadata, keys[0].id);
    documents.push(toText(await sign(document, keys[0])));
    link = { previous_receipt: id, previous_receipt_hash: await sha256(canonical(document)) };
  }
  const tip = await sha256(canonical(parse(documents.at(-1))));
  const signer = keys[roll(8) ? 0 : 1];
  const head = parse(JSON.stringify({
    format: "proofmark-chain-head/1", chain: "c", length: roll(8) ? length : length + roll(3) - 1, tip, signed_at: "2026-02-19T00:46:00Z",
    issuer_key: signer.id,
  }));
  await sign(head, signer, roll(20) ? {} : { signature: "00".repeat(64) });
  for (let left = roll(3); left > 0; left--) rearranged(documents, roll);
  return { documents, head: toText(head) };
}

/** Rarely, a link that is not as it should be. */
function odd(roll, position) {
  if (roll(12)) return {};
  return [
    { chain_position: position + 1 }, { chain_position: null }, { chain_position: "0" }, { previous_receipt: "x" },
    { previous_receipt_hash: null }, { previous_receipt_hash: `sha256:${"0".repeat(64)}` },
  ][roll(6)];
}

function rearranged(documents, roll) {
  const at = roll(documents.length), other = roll(documents.length);
  const change = roll(5);
  if (change === 0) documents.splice(at, 1);
  else if (change === 1) documents.splice(at, 0, documents[other] ?? "{}");
  else if (change === 2) [documents[at], documents[other]] = [documents[other] ?? "{}", documents[at] ?? "{}"];
  else if (change === 3) documents.splice(at, 0, '{"not":"a receipt"}');
  else documents[at] = (documents[at] ?? "{}").replace("order", "other");
}
