/**
 * SHA-256, strict Ed25519 and ECDSA over P-256 by WebCrypto.
 *
 * WebCrypto alone is not strict: implementations differ on keys and commitments of small order and on encodings that are
 * not canonical. These are refused first, so that every verifier gives the same answer.
 */

import { Refused } from "./refused.js";
import { hex, unhex, utf8 } from "./text.js";

const PRIME = 2n ** 255n - 19n;
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
/** The y-coordinate of a point of order 8: a root of d·y⁴ + 2·y² − 1. */
const ORDER_8 = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n;
/** The y-coordinates of the eight points whose order divides 8. */
const SMALL_ORDER = new Set([0n, 1n, PRIME - 1n, ORDER_8, PRIME - ORDER_8]);
/** RFC 8032, section 7.1, test 2. */
const KNOWN = {
  key: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
  message: 0x72,
  signature:
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
};
const ELSEWHERE = "or run `proofmark receipt verify`";

/**
 * The digest of some bytes or of a text's UTF-8.
 *
 * @param {string | BufferSource} data
 * @returns {Promise<string>} `sha256:` and 64 lower-case hex digits
 * @throws {Refused} `cannot_check_here` where there is no WebCrypto
 */
export async function sha256(data) {
  return `sha256:${hex(await digest(typeof data === "string" ? utf8(data) : data))}`;
}

/**
 * The SHA-256 of some bytes.
 *
 * @param {BufferSource} data
 * @returns {Promise<Uint8Array<ArrayBuffer>>} 32 bytes
 * @throws {Refused} `cannot_check_here` where there is no WebCrypto
 */
export async function digest(data) {
  return new Uint8Array(await subtle().digest("SHA-256", data));
}

/**
 * Ed25519-verify-strict(`key`, `message`, `signature`): no point of small order, no encoding that is not canonical.
 *
 * @param {Uint8Array<ArrayBuffer>} key 32 bytes
 * @param {Uint8Array<ArrayBuffer>} message
 * @param {Uint8Array<ArrayBuffer>} signature 64 bytes
 * @returns {Promise<boolean>}
 * @throws {Refused} `cannot_check_here` where there is no Ed25519
 */
export async function verifyStrictly(key, message, signature) {
  await checked();
  const points = [key, signature.slice(0, 32)];
  if (key.length !== 32 || signature.length !== 64 || !points.every(isOfLargeOrder)) return false;
  if (integer(signature.slice(32)) >= ORDER) return false;
  return verifyByWebCrypto(key, message, signature);
}

/**
 * ECDSA-verify over P-256 with SHA-256.
 *
 * @param {Uint8Array<ArrayBuffer>} key x and y, 64 bytes
 * @param {Uint8Array<ArrayBuffer>} message
 * @param {Uint8Array<ArrayBuffer>} signature r and s, 64 bytes
 * @returns {Promise<boolean>}
 * @throws {Refused} `cannot_check_here` where there is no WebCrypto
 */
export async function verifyP256(key, message, signature) {
  const crypto = subtle(), curve = { name: "ECDSA", namedCurve: "P-256" };
  const point = new Uint8Array(65);
  point[0] = 4;
  point.set(key, 1);
  let imported;
  try {
    imported = await crypto.importKey("raw", point, curve, false, ["verify"]);
  } catch {
    // It is not a point of the curve, or encodes one otherwise than with its coordinates.
    return false;
  }
  return crypto.verify({ name: "ECDSA", hash: "SHA-256" }, imported, signature, message);
}

/**
 * Whether this encodes canonically the y of a point whose order does not divide 8; whether there is such a point is not
 * looked at.
 *
 * @param {Uint8Array} encoded
 */
function isOfLargeOrder(encoded) {
  // The highest bit is the sign of x.
  const y = integer(encoded) & (2n ** 255n - 1n);
  return y < PRIME && !SMALL_ORDER.has(y);
}

/** @param {Uint8Array} littleEndian */
function integer(littleEndian) {
  return BigInt(`0x${hex(littleEndian.slice().reverse())}`);
}

/** @param {Uint8Array<ArrayBuffer>} key @param {Uint8Array<ArrayBuffer>} message @param {Uint8Array<ArrayBuffer>} signature */
async function verifyByWebCrypto(key, message, signature) {
  const crypto = subtle();
  let imported;
  try {
    imported = await crypto.importKey("raw", key, { name: "Ed25519" }, false, ["verify"]);
  } catch (error) {
    // Some engines refuse here what is not a point of the curve, others when they verify.
    if (error instanceof DOMException && error.name === "DataError") return false;
    throw withoutEd25519();
  }
  try {
    return await crypto.verify({ name: "Ed25519" }, imported, signature, message);
  } catch {
    throw withoutEd25519();
  }
}

/** @type {Promise<void> | undefined} */
let check;

/** Tries this engine once on a known signature: what cannot tell it from a changed one decides nothing here. */
function checked() {
  check ??= (async () => {
    const [key, signature] = [unhex(KNOWN.key, 32), unhex(KNOWN.signature, 64)];
    if (!key || !signature) throw withoutEd25519();
    const good = await verifyByWebCrypto(key, Uint8Array.of(KNOWN.message), signature);
    const bad = await verifyByWebCrypto(key, Uint8Array.of(KNOWN.message + 1), signature);
    if (good !== true || bad !== false) throw withoutEd25519();
  })();
  return check;
}

/** @returns {SubtleCrypto} */
function subtle() {
  const found = globalThis.crypto?.subtle;
  if (found) return found;
  const message = "this page cannot check: browsers compute digests and signatures only over https, on this host, or in a file";
  throw new Refused("cannot_check_here", message, { help: `open it over https, ${ELSEWHERE}` });
}

function withoutEd25519() {
  const message = "this browser cannot check Ed25519 signatures";
  return new Refused("cannot_check_here", message, { help: `use Chrome 137, Firefox 129, Safari 17 or later, ${ELSEWHERE}` });
}
