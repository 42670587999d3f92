/** Finds out what a file is, and verifies it. */

import { Chain, splitDocuments } from "../src/chain.js";
import { readHead } from "../src/head.js";
import { parse } from "../src/json.js";
import { readSigners } from "../src/signer.js";
import { placesOf } from "../src/file.js";
import { fromUtf8, lossy } from "../src/text.js";
import { dateOf, verify, verifyHead } from "../src/verify.js";

/** @typedef {import("../src/verify.js").Verification} Verification */
/** @typedef {{ line: number | null, verification: Verification }} Checked */

/**
 * The links of a file's documents: where they break, and who signed what is valid, up to which date.
 *
 * @typedef {{ links: Chain, brokenAt: number | null, signers: Map<string, number> }} ChainFound
 */

/**
 * @typedef {{ kind: "documents", total: number, counts: Record<"valid" | "invalid" | "undecidable", number>, shown: Checked[], chain: ChainFound | null }} Documents
 * @typedef {{ kind: "head", verification: Verification, head: import("../src/head.js").Head | null }} HeadFile
 * @typedef {{ kind: "keys", signers: import("../src/signer.js").TrustedSigner[] }} Keys
 * @typedef {{ kind: "private_key" } | { kind: "too_large" } | { kind: "empty" }} Refusal
 * @typedef {Documents | HeadFile | Keys | Refusal} Inspected
 */

/** The largest file that is read, in bytes. */
export const MAX_FILE = 256 << 20;
/** A key file is small. */
const MAX_KEYS = 1 << 16;
/** Of a chain only so many documents are shown: those that are not valid first. */
const MAX_SHOWN = 40;
const MAX_SIGNERS = 10;
const STEP = 100;

/**
 * @param {Blob} file
 * @param {(done: number, total: number) => void} [progress]
 * @returns {Promise<Inspected>}
 */
export async function inspect(file, progress) {
  if (file.size > MAX_FILE) return { kind: "too_large" };
  const bytes = new Uint8Array(await file.arrayBuffer());
  const small = bytes.length <= MAX_KEYS ? bytes : bytes.subarray(0, 0);
  if (lossy(small).includes("PRIVATE KEY-----")) return { kind: "private_key" };
  const signers = readSigners(fromUtf8(small) ?? "");
  if (signers.length > 0) return { kind: "keys", signers };
  const documents = splitDocuments(bytes);
  const [only] = documents;
  if (!only || (documents.length === 1 && bytes.length === 0)) return { kind: "empty" };
  if (documents.length === 1 && isHead(only.bytes)) return inspectHead(only.bytes);
  return inspectDocuments(documents, progress);
}

/**
 * The documents of a file that name a digest, and where.
 *
 * @param {Blob} file @param {string} digest
 * @returns {Promise<(Checked & { places: string[] })[]>}
 */
export async function documentsAbout(file, digest) {
  const found = [];
  for (const { line, bytes } of splitDocuments(new Uint8Array(await file.arrayBuffer()))) {
    if (!new TextDecoder().decode(bytes).includes(digest.slice("sha256:".length))) continue;
    const verification = await verify(bytes);
    const places = verification.document === undefined ? [] : placesOf(verification.document, digest);
    if (places.length > 0) found.push({ line, verification, places });
    if (found.length === MAX_SHOWN) break;
  }
  return found;
}

/**
 * @param {{ line: number | null, bytes: Uint8Array<ArrayBuffer> }[]} documents
 * @param {(done: number, total: number) => void} [progress]
 * @returns {Promise<Documents>}
 */
async function inspectDocuments(documents, progress) {
  /** @type {ChainFound | null} */
  const chain = documents.length > 1 ? { links: new Chain(), brokenAt: null, signers: new Map() } : null;
  const counts = { valid: 0, invalid: 0, undecidable: 0 };
  /** @type {Checked[]} */
  const good = [];
  /** @type {Checked[]} */
  const bad = [];
  for (const [index, { line, bytes }] of documents.entries()) {
    const verification = await verify(bytes);
    counts[verification.answer]++;
    if (chain) await addTo(chain, line, verification);
    // Where the chain breaks is among what is not as it should be.
    const list = verification.answer === "valid" && chain?.brokenAt !== line ? good : bad;
    if (list.length < MAX_SHOWN) list.push({ line, verification });
    if (index % STEP === 0) progress?.(index, documents.length);
  }
  const shown = [...bad, ...good].slice(0, MAX_SHOWN).sort((left, right) => (left.line ?? 0) - (right.line ?? 0));
  return { kind: "documents", total: documents.length, counts, shown, chain };
}

/** @param {ChainFound} chain @param {number | null} line @param {Verification} verification */
async function addTo(chain, line, { kind, document, signer }) {
  // A document that is not a receipt leaves a gap in the chain.
  if (document !== undefined) await chain.links.add(document);
  if (chain.links.isBroken) chain.brokenAt ??= line;
  if (signer === null || (chain.signers.size === MAX_SIGNERS && !chain.signers.has(signer))) return;
  chain.signers.set(signer, Math.max(dateOf(kind, document), chain.signers.get(signer) ?? -Infinity));
}

/** @param {Uint8Array<ArrayBuffer>} bytes */
function isHead(bytes) {
  try {
    const document = parse(bytes);
    return document instanceof Map && document.has("format") && !["vrf_version", "receipt_type", "record_type"].some(name => document.has(name));
  } catch {
    return false;
  }
}

/** @param {Uint8Array<ArrayBuffer>} bytes @returns {Promise<HeadFile>} */
async function inspectHead(bytes) {
  const verification = await verifyHead(bytes);
  try {
    return { kind: "head", verification, head: readHead(verification.document ?? null) };
  } catch {
    return { kind: "head", verification, head: null };
  }
}
