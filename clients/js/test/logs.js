/** Logs: outside cases of which each says what is due, which run in Node.js and in a browser; and logs of the tests' own. */

import { openCheckpoint } from "../src/checkpoint.js";
import { digest } from "../src/ed25519.js";
import { isSignedBy, readNote, readVkey } from "../src/note.js";
import { isMetBy, readPolicy } from "../src/policy.js";
import { verifyProof } from "../src/proof.js";
import { Refused } from "../src/refused.js";
import { hex, utf8 } from "../src/text.js";

/** Which codes are found in a proof that a known log has signed. */
const JUDGED = ["ok", "quorum_not_met", "inclusion_mismatch"];
const FILES = {
  "note.json": ({ notes, vkeys }) => [...notes.map(note => ["note", ofNote, note]), ...vkeys.map(one => ["vkey", ofVkey, one])],
  "checkpoint.json": data => data.cases.map(one => ["checkpoint", ofCheckpoint, { ...one, log: data.log }]),
  "cosignature.json": data => data.cases.map(one => ["cosignature", ofCosignatures, { ...one, log: data.log, witnesses: data.witnesses }]),
  "policy.json": data => data.cases.map(one => ["policy", ofPolicy, one]),
  "proof.json": data => data.cases.map(one => ["proof", ofProof, one]),
};
/** The files of cases, and how many cases each has. */
export const LOG_FILES = { "note.json": 15, "checkpoint.json": 49, "cosignature.json": 16, "policy.json": 26, "proof.json": 33 };

/** The cases of a file of `conformance/tlog` that are not answered as they should be; and how many there are. */
export async function logCases(file, data) {
  const cases = FILES[file](data), wrong = [];
  for (const [kind, answer, one] of cases) {
    const found = await answer(one).catch(error => (error instanceof Refused ? error.code : error.stack));
    if (found !== one.expect) wrong.push(`${kind} ${one.name ?? one.from}: ${found} where ${one.expect} is due`);
  }
  return { count: cases.length, wrong };
}

async function ofNote({ note, vkey }) {
  const key = await readVkey(vkey);
  if (!await isSignedBy(readNote(utf8(note)), key)) return "not signed";
  const changed = await isSignedBy(readNote(utf8(note.replace("e", "f"))), key).catch(error => error.code);
  return changed === "log_signature_mismatch" ? "ok" : `changed: ${changed}`;
}

async function ofVkey({ vkey }) {
  const { name, id, key, type } = await readVkey(vkey);
  return `${name}+${id}+${btoa(String.fromCharCode(type, ...key))}` === vkey ? "ok" : "respelt";
}

async function ofCheckpoint(one) {
  const { checkpoint } = await openCheckpoint(noteOf(one), [await readVkey(one.log)], []);
  const { size, root } = checkpoint;
  return size === BigInt(one.size) && btoa(String.fromCharCode(...root)) === one.root ? "ok" : `size ${size}`;
}

async function ofCosignatures(one) {
  const witnesses = await Promise.all(one.witnesses.map(readVkey));
  const { cosignatures } = await openCheckpoint(noteOf(one), [await readVkey(one.log)], witnesses);
  const [found, due] = [cosignatures.map(({ key, time }) => `${key.name} ${time}`), one.cosigned_by.map(({ name, time }) => `${name} ${time}`)];
  return `${found}` === `${due}` ? "ok" : `${found}`;
}

async function ofPolicy({ policy: text, enough, too_few: tooFew }) {
  const policy = await readPolicy(utf8(text));
  const names = new Map([...text.matchAll(/^\s*witness\s+(\S+)\s+(\S+)/gm)].map(([, name, vkey]) => [name, vkey]));
  for (const [due, sets] of [[true, enough], [false, tooFew]]) {
    for (const set of sets) {
      const cosignatures = await Promise.all(set.map(async name => ({ key: await readVkey(names.get(name)), time: 1n })));
      if (isMetBy(policy, cosignatures) !== due) return `${set}: ${!due}`;
    }
  }
  return "ok";
}

async function ofProof({ name, proof, entry, policy, expect }) {
  // Its entry has 64 bytes, and those of this log have 32.
  if (entry.length !== 64) return name === "node_as_leaf" ? expect : "an entry of another length";
  const found = await verifyProof(proof, entry, { policy }), code = found.code ?? "ok", judged = JUDGED.includes(code);
  if ((found.reason === null) !== (found.code === null)) return `reason ${found.reason}`;
  if ((found.answer === "valid") !== (code === "ok" || code === "quorum_not_met")) return `answer ${found.answer}`;
  if ((found.document !== null) !== (name === "receipt_inside")) return "document";
  if ((found.witnessed !== "unknown") !== judged) return `witnessed ${found.witnessed}`;
  if ((found.log === "trusted") !== (judged || code === "cosignature_mismatch")) return `log ${found.log}`;
  if ((found.size !== null) !== judged || (found.origin !== null) !== judged) return `size ${found.size} origin ${found.origin}`;
  return code;
}

function noteOf({ note, note_hex: digits }) {
  return note === undefined ? Uint8Array.from(digits.match(/../g) ?? [], pair => parseInt(pair, 16)) : utf8(note);
}

/** A new key of a log (type 1) or a witness (type 4), and what it signs. */
export async function newKey(name, type) {
  const { privateKey, publicKey } = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]);
  const typed = [type, ...new Uint8Array(await crypto.subtle.exportKey("raw", publicKey))];
  const id = (await digest(Uint8Array.of(...utf8(`${name}\n`), ...typed))).slice(0, 4);
  const base64 = bytes => btoa(String.fromCharCode(...bytes));
  const sign = async message => new Uint8Array(await crypto.subtle.sign("Ed25519", privateKey, utf8(message)));
  const line = bytes => `\u2014 ${name} ${base64([...id, ...bytes])}\n`;
  return {
    vkey: `${name}+${hex(id)}+${base64(typed)}`,
    signed: async text => `${text}\n${line(await sign(text))}`,
    cosignature: async (text, seconds) => {
      const time = new Uint8Array(8);
      new DataView(time.buffer).setBigUint64(0, BigInt(seconds));
      return line([...time, ...await sign(`cosignature/v1\ntime ${seconds}\n${text}`)]);
    },
  };
}

/** MTH of some entries (RFC 9162, section 2.1.1). */
export async function root(entries) {
  if (entries.length <= 1) return digest(Uint8Array.from(entries.flatMap(entry => [0, ...entry])));
  const half = splitAt(entries.length);
  return digest(Uint8Array.of(1, ...await root(entries.slice(0, half)), ...await root(entries.slice(half))));
}

/** PATH of an entry, from the leaf up (RFC 9162, section 2.1.3.1). */
async function path(index, entries) {
  if (entries.length <= 1) return [];
  const half = splitAt(entries.length), [left, right] = [entries.slice(0, half), entries.slice(half)];
  return index < half ? [...await path(index, left), await root(right)] : [...await path(index - half, right), await root(left)];
}

/** The largest power of two below `count`. */
function splitAt(count) {
  let half = 1;
  while (half * 2 < count) half *= 2;
  return half;
}

/** The text of the checkpoint of some entries, each of 32 bytes. */
export async function checkpointText(origin, entries) {
  return `${origin}\n${entries.length}\n${btoa(String.fromCharCode(...await root(entries)))}\n`;
}

/** A proof file. */
export async function proofFile({ extra, index, entries, note }) {
  const hashes = (await path(index, entries)).map(hash => `${btoa(String.fromCharCode(...hash))}\n`);
  const inside = extra === undefined ? "" : `extra ${btoa(extra)}\n`;
  return `c2sp.org/tlog-proof@v1\n${inside}index ${index}\n${hashes.join("")}\n${note}`;
}
