/** Signers: Ed25519 public keys, and the texts that name them. */

import { sha256 } from "./ed25519.js";
import { parse } from "./json.js";
import { JsonNumber } from "./number.js";
import { Refused } from "./refused.js";
import { shown, trimmed, unbase64, unhex, utf8, withoutSpace } from "./text.js";

/** @typedef {import("./json.js").Json} Json */
/** @typedef {import("./json.js").JsonObject} JsonObject */

/**
 * A signer whose key ends: what is dated at its end or later is not trusted.
 *
 * @typedef {object} EndingSigner
 * @property {string} id
 * @property {number} until the end, in milliseconds since 1970
 */

/** @typedef {string | EndingSigner} TrustedSigner a signer's id, in any spelling; or a signer whose key ends */
/** @typedef {"trusted" | "untrusted" | "unknown"} Trust */

/** The DER of a SubjectPublicKeyInfo before an Ed25519 key's 32 bytes (RFC 8410, section 4). */
const SPKI_PREFIX = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
/** The multicodec of Ed25519 public keys, as `did:key` prefixes it. */
const DID_KEY_PREFIX = [0xed, 0x01];
/** What OpenSSH writes before a key's 32 bytes: two lengths and the name of the algorithm. */
const OPENSSH_PREFIX = [0, 0, 0, 11, ...utf8("ssh-ed25519"), 0, 0, 0, 32];
const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/** An encoding of 34 bytes has at most 47 characters; longer ones would only cost time. */
const MAX_DID = 48;
/** The end of a key is before the year 10000, in milliseconds since 1970. */
const MAX_END = 253_402_300_799_999;
const PEM_BEGIN = "-----BEGIN PUBLIC KEY-----", PEM_END = "-----END PUBLIC KEY-----";

/**
 * The 32 bytes of a public key in any of its spellings: base64 of its SubjectPublicKeyInfo or of its 32 bytes, `ed25519:` and
 * 64 hex digits, or `did:key:z6Mk…`.
 *
 * @param {string} text
 * @returns {Uint8Array<ArrayBuffer>}
 * @throws {Refused} `invalid_signer_id`
 */
export function signerKey(text) {
  const key = text.startsWith("ed25519:") ? unhex(text.slice(8), 32)
    : text.startsWith("did:key:z") ? after(DID_KEY_PREFIX, base58(text.slice(9)))
    : after(SPKI_PREFIX, unbase64(text)) ?? after([], unbase64(text));
  if (key) return key;
  // A private key given by mistake must not reach a message or a log.
  const named = text.includes("PRIVATE KEY") ? "a private key" : shown(text);
  const help = "write its SubjectPublicKeyInfo in base64, as `proofmark key show` prints it";
  throw new Refused("invalid_signer_id", `\`${named}\` is not an Ed25519 public key`, { help });
}

/**
 * The one spelling of a key under profile `vrf`: base64 of its SubjectPublicKeyInfo.
 *
 * @param {Uint8Array} key
 */
export function signerId(key) {
  return btoa(String.fromCharCode(...SPKI_PREFIX, ...key));
}

/**
 * What people compare: the SHA-256 of a key's SubjectPublicKeyInfo, as `proofmark key show` prints it.
 *
 * @param {TrustedSigner} signer
 * @returns {Promise<string>} `sha256:` and 64 hex digits
 * @throws {Refused} when it is not an Ed25519 public key, or where there is no WebCrypto
 */
export async function fingerprint(signer) {
  return sha256(Uint8Array.of(...SPKI_PREFIX, ...signerKey(typeof signer === "string" ? signer : signer.id)));
}

/**
 * The signers that a public key file names: PEM, an OpenSSH public key, a JWK, a JWK set, or a signer id.
 *
 * @param {string} text the content of the file
 * @returns {TrustedSigner[]} a signer id each, or an `EndingSigner` for a JWK with the member `exp`; empty when it names none
 */
export function readSigners(text) {
  const content = trimmed(text);
  if (content.startsWith("-----BEGIN")) return ids(fromPem(content));
  if (content.startsWith("ssh-ed25519 ")) return ids(after(OPENSSH_PREFIX, unbase64(content.split(" ")[1] ?? "")));
  const json = parsed(content);
  if (json === undefined) return ids(fromText(content));
  if (!(json instanceof Map)) return [];
  const set = json.get("keys");
  // A set may hold keys of other kinds; those sign no receipts.
  return (Array.isArray(set) ? set : [json]).flatMap(key => (key instanceof Map ? fromJwk(key) : []));
}

/** The signers whom a caller trusts. */
export class Signers {
  #trusted;

  /**
   * @param {readonly TrustedSigner[]} trusted
   * @throws {RangeError} if one of them is not a signer
   */
  constructor(trusted) {
    this.#trusted = trusted.map(readTrusted);
  }

  /**
   * The ids of those who count for a document of this date, each in its one spelling.
   *
   * @param {number} dated in milliseconds since 1970; `Infinity` without a date, when only those count whose key does not end
   */
  ids(dated) {
    return this.#trusted.filter(({ until }) => until === null || dated < until).map(({ id }) => id);
  }

  /**
   * The trust in the signer of a valid document of this date.
   *
   * @param {string} signer @param {number} dated
   * @returns {Trust}
   */
  trust(signer, dated) {
    if (this.#trusted.length === 0) return "unknown";
    return this.ids(dated).includes(signer) ? "trusted" : "untrusted";
  }

  /** Whether a key is among them, ended or not. @param {string} signer */
  has(signer) {
    return this.#trusted.some(({ id }) => id === signer);
  }
}

/** @param {TrustedSigner} trusted @returns {{ id: string, until: number | null }} */
function readTrusted(trusted) {
  if (typeof trusted === "string") return { id: trustedId(trusted), until: null };
  const { id, until } = trusted ?? {};
  // A key whose end is not a time is not taken for one without an end.
  if (typeof id === "string" && Number.isFinite(until)) return { id: trustedId(id), until };
  throw new RangeError("`trusted`: a signer is its id, or `{ id, until }` with the end in milliseconds since 1970");
}

/** @param {string} text */
function trustedId(text) {
  try {
    return signerId(signerKey(text));
  } catch (error) {
    // A key that is left out would make a refusal of what somebody wanted to trust, or of nothing.
    throw new RangeError(`\`trusted\`: ${error instanceof Error ? error.message : ""}`);
  }
}

/** @param {Uint8Array | null} key */
function ids(key) {
  return key ? [signerId(key)] : [];
}

/** @param {string} content */
function parsed(content) {
  try {
    return parse(content);
  } catch {
    return undefined;
  }
}

/** @param {string} text */
function fromText(text) {
  try {
    return signerKey(text);
  } catch {
    return null;
  }
}

/** @param {string} content */
function fromPem(content) {
  if (!content.startsWith(PEM_BEGIN) || !content.endsWith(PEM_END)) return null;
  return after(SPKI_PREFIX, unbase64(withoutSpace(content.slice(PEM_BEGIN.length, -PEM_END.length))));
}

/**
 * RFC 8037, section 2. Its end is `exp`, as OpenID Federation 1.0 has it for keys of the past.
 *
 * @param {JsonObject} jwk
 * @returns {TrustedSigner[]}
 */
function fromJwk(jwk) {
  const x = jwk.get("x"), exp = jwk.get("exp");
  if (jwk.get("kty") !== "OKP" || jwk.get("crv") !== "Ed25519" || typeof x !== "string" || !/^[\w-]{43}$/.test(x)) return [];
  const [id] = ids(after([], unbase64(`${x.replaceAll("-", "+").replaceAll("_", "/")}=`)));
  if (id === undefined || exp === undefined) return id === undefined ? [] : [id];
  const until = endOf(exp);
  // A key whose end cannot be read is not taken for one without an end.
  return until === null ? [] : [{ id, until }];
}

/** The end of a key in milliseconds, from seconds. @param {Json} exp */
function endOf(exp) {
  const millis = exp instanceof JsonNumber ? Number(exp.text) * 1000 : NaN;
  return millis > -0.5 && Math.round(millis) < MAX_END ? Math.abs(Math.round(millis)) : null;
}

/**
 * The 32 bytes behind a prefix; null when there are others.
 *
 * @param {readonly number[]} prefix @param {Uint8Array<ArrayBuffer> | null} bytes
 */
function after(prefix, bytes) {
  if (!bytes || bytes.length !== prefix.length + 32 || prefix.some((byte, at) => bytes[at] !== byte)) return null;
  return bytes.slice(prefix.length);
}

/** @param {string} text */
function base58(text) {
  if (text.length > MAX_DID) return null;
  let value = 0n;
  for (const char of text) {
    const digit = BASE58.indexOf(char);
    if (digit < 0) return null;
    value = value * 58n + BigInt(digit);
  }
  const digits = value === 0n ? "" : value.toString(16);
  const zeros = "00".repeat(/^1*/.exec(text)?.[0].length ?? 0);
  const all = zeros + digits.padStart(digits.length + (digits.length % 2), "0");
  return unhex(all, all.length / 2);
}
