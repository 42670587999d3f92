/** Cases of which each side says what is due: they run in Node.js and in a browser. Each suite returns what was wrong. */

import { canonical } from "../src/canonical.js";
import { Chain } from "../src/chain.js";
import { verifyStrictly } from "../src/ed25519.js";
import { readHead } from "../src/head.js";
import { parse } from "../src/json.js";
import { Refused } from "../src/refused.js";
import { readSigners, signerId, signerKey } from "../src/signer.js";
import { hex, utf8 } from "../src/text.js";
import { verify, verifyHead } from "../src/verify.js";

/** What makes a signature of C2SP/CCTV one that a strict verifier refuses. */
const NOT_STRICT = ["low_order_A", "low_order_R", "low_order_residue", "non_canonical_A", "non_canonical_R", "reencoded_k"];

const VECTORS = {
  "json.json": json,
  "receipt.json": receipt,
  "chain.json": chain,
  "linked.json": chain,
  "head.json": head,
  "decision.json": document,
  "passkey.json": document,
  "signer.json": signer,
  "keyfile.json": keyFile,
};

/** The cases of a file of `vectors/` that are not answered as they should be. */
export async function vectors(file, { cases }) {
  const answer = VECTORS[file];
  if (!answer || cases.length === 0) return [`${file} is not known, or has no cases`];
  const wrong = [];
  for (const one of cases) {
    const found = await answer(one).catch(error => error.stack);
    if (found !== one.expect) wrong.push(`${file} ${one.name}: ${found} where ${one.expect} is due`);
  }
  return wrong;
}

async function json(one) {
  const [read, code] = attempt(() => parse(bytesOf(one, "text", "hex")));
  if (code) return code;
  for (const [profile, due] of Object.entries(one.canonical)) {
    const [text, refused] = attempt(() => canonical(read, profile));
    if ((text ?? refused) !== (due.error ?? due)) return `${text ?? refused} under ${profile}`;
  }
  return "ok";
}

async function receipt(one) {
  return told(one, await verify(bytesOf(one, "receipt", "receipt_hex"), options(one)));
}

async function document(one) {
  const verification = await verify(one.document, options(one));
  return verification.kind === one.kind ? told(one, verification) : `kind ${verification.kind}`;
}

async function head(one) {
  return told(one, await verifyHead(bytesOf(one, "head", "head_hex"), options(one)));
}

async function chain(one) {
  const links = new Chain();
  for (const text of one.receipts ?? one.documents) await links.add(parse(text));
  const trusted = (one.trusted ?? []).map(key => signerId(signerKey(key)));
  const { answer, cause, losses } = links.finish(one.head === undefined ? null : readHead(parse(one.head)), trusted);
  const stated = losses.map(({ position, lost }) => `${position}:${lost.position}`).join();
  if (stated !== (one.losses ?? "")) return `losses ${stated}`;
  return answer === "valid" ? "ok" : cause;
}

async function signer(one) {
  const [key, code] = attempt(() => hex(signerKey(one.text)));
  return code ?? (key === one.key ? "ok" : key);
}

async function keyFile(one) {
  const signers = readSigners(one.text);
  const read = signers.map(found => {
    const { id, until } = typeof found === "string" ? { id: found } : found;
    return { key: hex(signerKey(id)), until };
  });
  if (JSON.stringify(read) !== JSON.stringify(one.signers ?? [])) return JSON.stringify(read);
  if (one.document === undefined) return signers.length > 0 ? "ok" : "no_key";
  const { answer, trust } = await verify(one.document, { trusted: signers });
  return answer === "valid" && trust === one.trust ? "ok" : `${answer}, ${trust}`;
}

/** The cause, or `valid`; or what else is not as the case says. */
function told({ answer, trust, hint = null }, found) {
  if (answer !== found.answer) return `${found.answer}, ${found.cause}`;
  if (trust !== undefined && trust !== found.trust) return `trust ${found.trust}`;
  if (hint !== found.wouldVerifyUnder) return `hint ${found.wouldVerifyUnder}`;
  if ((found.signer !== null) !== (answer === "valid")) return `signer ${found.signer}`;
  if ((found.message !== null) !== (answer !== "valid")) return `message ${found.message}`;
  return found.cause ?? "valid";
}

/** The outside signatures that are judged otherwise than strictly; and how many there are. */
export async function signatures({ wycheproof, cctv, speccheck }) {
  const cases = [
    ...wycheproof.testGroups.flatMap(({ publicKey, tests }) =>
      tests.map(({ msg, sig, result }) => [publicKey.pk, unhexed(msg), sig, result === "valid"])),
    ...cctv.map(({ key, msg, sig, flags }) => [key, utf8(msg), sig, !flags?.some(flag => NOT_STRICT.includes(flag))]),
    // Only number 3, of mixed order and without a cofactor, verifies strictly (Chalkias et al., 2020, table 5).
    ...speccheck.map(({ pub_key, message, signature }, number) => [pub_key, unhexed(message), signature, number === 3]),
  ];
  const wrong = [];
  for (const [key, message, signature, due] of cases) {
    const found = await verifyStrictly(unhexed(key), message, unhexed(signature));
    if (found !== due) wrong.push(`${key} ${signature}: ${found}`);
  }
  return { count: cases.length, wrong };
}

/** The documents of which this package says something else than `proofmark receipt verify --json`. */
export async function againstBinary(cases) {
  const wrong = [];
  await several(cases, async ({ name, base64, profile, trusted, said: printed }) => {
    // The document itself says what it claims.
    const { claims: _, ...said } = printed;
    const found = asPrinted(await verify(unbase64(base64), { profile, trusted }));
    if (!same(found, said)) wrong.push(`${name} under ${profile}:\n  ${JSON.stringify(found)}\n  ${JSON.stringify(said)}`);
  });
  return wrong;
}

/** Does the same for each item, some at a time: else much of the time is that of WebCrypto's threads falling asleep and waking. */
export async function several(items, act) {
  const rest = items[Symbol.iterator]();
  const next = async () => {
    for (const item of rest) await act(item);
  };
  await Promise.all(Array.from({ length: 16 }, next));
}

function unbase64(text) {
  const chars = atob(text), bytes = new Uint8Array(chars.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = chars.charCodeAt(at);
  return bytes;
}

/** A verification with the members that the binary prints. */
export function asPrinted({ kind, answer, trust, cause, message, help, signer, wouldVerifyUnder }) {
  const printed = { document: kind, answer, trust, cause, message, help, signer_id: signer, would_verify_under: wouldVerifyUnder };
  return Object.fromEntries(Object.entries(printed).filter(([, value]) => value !== null));
}

/** Whether two flat objects have the same members. */
export function same(left, right) {
  const names = Object.keys(left);
  return names.length === Object.keys(right).length && names.every(name => left[name] === right[name]);
}

function options({ trusted = [], profile = "vrf" }) {
  return { trusted, profile };
}

function bytesOf(one, text, digits) {
  const bytes = one[digits] === undefined ? utf8(one[text] + (one.then ?? "").repeat(one.times ?? 0)) : unhexed(one[digits]);
  const spaces = new Uint8Array(one.spaces_before ?? 0).fill(0x20);
  return Uint8Array.from([...spaces, ...bytes]);
}

function unhexed(digits) {
  return Uint8Array.from(digits.match(/../g) ?? [], pair => parseInt(pair, 16));
}

function attempt(read) {
  try {
    return [read(), undefined];
  } catch (error) {
    if (error instanceof Refused) return [undefined, error.code];
    throw error;
  }
}
