/** The passkey that has signed an approval (WebAuthn Level 3, section 7.2). */

import { canonical } from "./canonical.js";
import { sha256, verifyP256, verifyStrictly } from "./ed25519.js";
import { parse } from "./json.js";
import { Refused } from "./refused.js";
import { unhex, utf8 } from "./text.js";

/** @typedef {import("./json.js").Json} Json */
/** @typedef {import("./json.js").JsonObject} JsonObject */

const MAX_CREDENTIAL = 2046;
const MAX_CLIENT_DATA = 4096;
const MAX_HOST = 253;
const DATA_BYTES = 37;
const LABEL = "[0-9a-z](?:[0-9a-z-]*[0-9a-z])?";
const ORIGIN = new RegExp(`^(https?)://(${LABEL}(?:\\.${LABEL})*)(?::([1-9][0-9]{0,4}))?$`);
/** Why an assertion does not count. */
const WHY = {
  malformed: "it is not complete, or longer than it may be",
  clientData: "its client data is not what a browser writes for an approval",
  challenge: "it is over something else than this approval",
  origin: "it was made on a page of another origin",
  relyingParty: "it is for another relying party",
  user: "the authenticator has not verified the user",
  signature: "its signature is not that of the passkey",
};

/**
 * Checks that the passkey that an approval names has signed exactly this approval. A receipt that names none is not looked at.
 *
 * @param {JsonObject} receipt whose format was checked
 * @throws {Refused} `passkey_mismatch`
 */
export async function checkPasskey(receipt) {
  const approval = object(object(receipt.get("metadata"))?.get("approval"));
  const kept = approval?.get("passkey");
  if (approval === undefined || kept === undefined) return;
  const read = readAssertion(object(kept));
  if (!read) throw refused("malformed");
  const { key, host, origin, data, clientData, signature } = read;
  checkClientData(clientData, await challengeOf(receipt, approval), origin);
  const [relyingParty, flags] = [data.slice(0, 32), data[32] ?? 0];
  if (!same(relyingParty, await digest(utf8(host)))) throw refused("relyingParty");
  if ((flags & 0x05) !== 0x05) throw refused("user");
  if ((flags & 0xc0) !== 0) throw refused("malformed");
  const signed = joined(data, await digest(utf8(clientData)));
  const holds = key.length === 64 ? await verifyP256(key, signed, signature) : await verifyStrictly(key, signed, signature);
  if (!holds) throw refused("signature");
}

/** @param {JsonObject | undefined} kept */
function readAssertion(kept) {
  /** @param {string} name */
  const text = name => { const value = kept?.get(name); return typeof value === "string" ? value : null; };
  const [passkey, credential, clientData] = [text("key"), text("credential"), text("client_data")];
  const [data, signature] = [unhex(text("authenticator_data") ?? "", DATA_BYTES), unhex(text("signature") ?? "", 64)];
  if (passkey === null || credential === null || clientData === null || !data || !signature) return null;
  if (utf8(credential).length > MAX_CREDENTIAL || utf8(clientData).length > MAX_CLIENT_DATA) return null;
  const at = passkey.indexOf("@"), [key, origin] = [readKey(passkey.slice(0, Math.max(at, 0))), passkey.slice(at + 1)];
  const host = hostOf(origin);
  return at < 0 || !key || host === null ? null : { key, host, origin, data, clientData, signature };
}

/** @param {string} text `es256:` and x and y, or `eddsa:` and the key, in hex */
function readKey(text) {
  if (text.startsWith("es256:")) return unhex(text.slice(6), 64);
  return text.startsWith("eddsa:") ? unhex(text.slice(6), 32) : null;
}

/**
 * The host of an origin as browsers write it, to which they bind passkeys; null if it is not one.
 *
 * @param {string} origin
 */
function hostOf(origin) {
  const [, scheme, host = "", port] = ORIGIN.exec(origin) ?? [];
  const isSecure = scheme === "https" || scheme === "http" && host === "localhost";
  const isPort = port === undefined || Number(port) <= 65535 && port !== (scheme === "https" ? "443" : "80");
  return isSecure && isPort && host.length <= MAX_HOST && !/(?:^|\.)[0-9]+$/.test(host) ? host : null;
}

/** @param {JsonObject} receipt @param {JsonObject} approval @returns {Promise<string>} in base64url */
async function challengeOf(receipt, approval) {
  const signed = new Map(approval);
  signed.delete("passkey");
  const names = ["receipt_id", "verified_at", "hashes"];
  const statement = new Map([...names.map(name => /** @type {[string, Json]} */ ([name, receipt.get(name) ?? null])), ["approval", signed]]);
  const bytes = await digest(canonical(/** @type {JsonObject} */ (statement)));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** @param {string} text @param {string} challenge @param {string} origin */
function checkClientData(text, challenge, origin) {
  let clientData;
  try {
    clientData = object(parse(text));
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
  }
  const framed = clientData?.get("crossOrigin");
  const isFramed = clientData?.has("topOrigin") || framed !== undefined && framed !== false;
  if (clientData?.get("type") !== "webauthn.get" || isFramed) throw refused("clientData");
  if (clientData.get("challenge") !== challenge) throw refused("challenge");
  if (clientData.get("origin") !== origin) throw refused("origin");
}

/** @param {Json | undefined} value */
function object(value) {
  return value instanceof Map ? value : undefined;
}

/** @param {string | Uint8Array<ArrayBuffer>} bytes */
async function digest(bytes) {
  return /** @type {Uint8Array<ArrayBuffer>} */ (unhex((await sha256(bytes)).slice(7), 32));
}

/** @param {Uint8Array} one @param {Uint8Array} other */
function same(one, other) {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}

/** @param {Uint8Array} one @param {Uint8Array} other */
function joined(one, other) {
  const all = new Uint8Array(one.length + other.length);
  all.set(one);
  all.set(other, one.length);
  return all;
}

/** @param {keyof typeof WHY} why */
function refused(why) {
  return new Refused("passkey_mismatch", `the passkey that the approval names has not signed it: ${WHY[why]}`, { answer: "invalid" });
}
