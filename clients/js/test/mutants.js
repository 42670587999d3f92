/** Signed documents, changed at random: what is signed afterwards, and what is not. */

import { canonical, toText } from "../src/canonical.js";
import { parse } from "../src/json.js";
import { JsonNumber } from "../src/number.js";
import { signerId } from "../src/signer.js";
import { hex, utf8 } from "../src/text.js";

const PKCS8 = [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
const DIGEST = "sha256:c53afd08cfab82788db65a6704b692f452ae1cd271187040830e5542c3d6dd78";
const RESPELT = [
  (_, key) => `ed25519:${hex(key)}`,
  (_, key) => btoa(String.fromCharCode(...key)),
  id => `${id}\n`,
  id => id.replace("=", ""),
];

/** Values that a member may get, as they are written. */
const VALUES = [
  "null", "true", "false", "0", "1", "-1", "3", "4", "-0", "0.0", "1.0", "1e0", "1.50", "15e-1", "1e400", "-1e400", "1e-400",
  "9007199254740991", "9007199254740992", "9007199254740993", "18446744073709551615", "18446744073709551616", "0e99999999999999999999",
  "123456789012345678901234567890", '""', '"x"', '"pass"', '"PASS"', '"allow"', '"1.0"', '"ed25519"', '"é"', '"\\u001b[31m"',
  '"2026-02-30T00:00:00Z"', '"2024-02-29T23:59:59.123456789+00:00"', '"0000-01-01T00:00:00Z"', `"${DIGEST}"`, '"sha256:00"',
  '"f47ac10b-58cc-4372-a567-0e02b2c3d479"', '"F47AC10B-58CC-4372-A567-0E02B2C3D479"', '"00000000-0000-0000-0000-000000000000"',
  "[]", "{}", "[{}]", '[{"name":"a","status":"pass"}]', '[{"code":"a","message":"b"}]', '{"":[]}', `"${"ä".repeat(70)}"`,
];
const NAMES = [
  "", "x", "é", "\u{1F600}", "\ufb33", "__proto__", "constructor", "10", "9", "signature", "issuer_key", "metadata", "task", "tests",
  "vrf_version", "receipt_type", "record_type", "entry_id", "decision_id", "chain_position", "previous_receipt", "note", "Verdict",
];
/** Changes of the text: what is replaced, and by what. */
const TEXTS = [
  ['"tier":0', '"tier":-0'], ['"tier":0', '"tier":00'], ['"tier":0', '"tier":0.0'], ['"tier":0', '"tier":NaN'], [":0", ":0x1"],
  [":0", ":.5"], [":0", ":1."], [":0", ":1e"], [":0", ":+1"], ['"tier"', '"verdict":"pass","tier"'], ["sha256", "sha\\u00325\\u0036"],
  ["order", "\\ud800"], ["order", "\\ud83d\\ud83d"], ["order", "\\udc00"], ["order", "\\u12"], ["order", "\\x"], ["order", "or\nder"],
  ["order", "or\\/der"], ["order", "\ud83d\ude00"], ['{"', '\ufeff{"'], ['{"', '[{"'], ['{"', '{}{"'], ['{"', '{}\n{"'], ['{"', "{'"],
  [",", " ,\n\t"], [",", ",,"], [",", ",]"], [",", ",}"], [":", "\u00a0:"], [":", "\u200b:"], [":", "\u0301"], [":", "'"], [":", '"'],
  [":", "\\"], [":", ":\u2028"], ["}", "}}"], ["}", ""], ["true", "tru"], ["true", "True"], ["null", "nul"], ["]", ",]"],
];

/** Numbers that look random and are the same for the same seed. */
export function dice(seed) {
  let state = seed >>> 0;
  return sides => {
    state = (state + 0x9e3779b9) >>> 0;
    let bits = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97);
    return ((bits ^ (bits >>> 15)) >>> 0) % sides;
  };
}

/** The test keys of `vectors/`: seeds of 32 bytes 01, and of 32 bytes 02. */
export async function testKeys() {
  return Promise.all([1, 2].map(async seed => {
    const bytes = Uint8Array.from([...PKCS8, ...new Array(32).fill(seed)]);
    const secret = await crypto.subtle.importKey("pkcs8", bytes, { name: "Ed25519" }, true, ["sign"]);
    const { x } = await crypto.subtle.exportKey("jwk", secret);
    const raw = Uint8Array.from(atob(x.replaceAll("-", "+").replaceAll("_", "/")), char => char.charCodeAt(0));
    return { secret, raw, id: signerId(raw) };
  }));
}

/** The document as its issuer signs it, with what `more` changes in the member `signature`. */
export async function sign(document, key, more = {}) {
  const { profile = "vrf", message, ...members } = more;
  document.delete("signature");
  const digest = hex(new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(canonical(document, profile)))));
  const claimed = members.content_hash?.(digest) ?? digest;
  const signed = await crypto.subtle.sign({ name: "Ed25519" }, key.secret, utf8(message?.(digest) ?? claimed));
  const signature = hex(new Uint8Array(signed));
  const due = { algorithm: "ed25519", signer_id: key.id, content_hash: claimed, signature };
  document.set("signature", new Map(Object.entries({ ...due, ...members, content_hash: claimed })));
  return document;
}

/** A document as Proofmark signs it; there are a few kinds. */
export function unsignedDocument(kind, id, metadata, issuer) {
  const link = JSON.stringify(metadata);
  if (kind === 0) {
    return parse(`{"vrf_version":"1.0","receipt_id":"${id}","verified_at":"2026-02-19T00:46:00.000Z","tier":0,"verdict":"partial",
      "task":{"task_id":"order-17","description":"trié, 並べ替え \\"quoted\\" \\n"},"results":{"total":3,"passed":1,"failed":1,"errors":1,
      "details":[{"name":"one","status":"pass","elapsed_ms":2},{"name":"two","status":"fail","expected":"[1]","actual":"[]"},
      {"name":"three","status":"error","message":"timed out","input":null}]},"hashes":{"specification":"${DIGEST}","output":"${DIGEST}"},
      "metadata":${link.slice(0, -1)}${link === "{}" ? "" : ","}"issuer_key":"${issuer}"}}`);
  }
  if (kind === 1) {
    return parse(`{"receipt_type":"verifiedx_decision_receipt","decision_id":"${id}","outcome":"allow","action_class":null,
      "safe_to_execute":true,"human_review_terminal":false,"must_not_retry_same_action":false,"reasons":[{"code":"order","message":"b"}],
      "safe_next_steps":[],"viewer_guidance":["order"],"what_would_change_this":[],"disposition":{"mode":"continue_downstream",
      "downstream_allowed":true,"local_replan_recommended":false,"upstream_replan_required":false},"routing":{"direction":"downstream",
      "target_hint":null,"return_to_node":null,"workflow_id":null,"node_id":null},"resume_contract":{"retry_this_node":false,
      "pass_receipt_upstream":false,"pass_new_upstream_context_on_retry":false,"resume_when":[],"conditions":[]},"runtime_loopback":null,
      "metadata":${link},"binding":{"action_hash":"${DIGEST}","policy_hash":"${DIGEST}","facts_hash":"${DIGEST}","fingerprint":"${DIGEST}",
      "engine":"e/1","steps":12,"denied_before":0,"decided_at":"2026-02-19T00:46:00.000Z","expires_at":"2026-02-19T00:51:00.000Z"},
      "evidence":[{}],"issuer_key":"${issuer}"}`);
  }
  return parse(`{"record_type":"proofmark_session_entry","entry_id":"${id}","session":"order","kind":"decided","at":"2026-02-19T00:46:00.000Z",
    "tool":"mail","allowed":true,"seen":[1,{"a":null}],"metadata":${link},"issuer_key":"${issuer}"}`);
}

/** The mutant of this number: bytes that may be a valid document. */
export async function mutant(seed, number, keys) {
  const roll = dice(seed + number * 7919);
  const id = `f47ac10b-58cc-4372-a567-${String(number).padStart(12, "0")}`;
  const document = unsignedDocument([0, 0, 1, 1, 2][roll(5)], id, roll(2) ? {} : { chain_position: roll(3) }, keys[0].id);
  await sign(document, keys[0]);
  for (let left = roll(3); left > 0; left--) change(document, roll);
  if (roll(4) > 0) await sign(document, keys[roll(6) ? 0 : 1], signed(roll, keys[0]));
  return utf8(replaced(toText(document), roll));
}

/** How a document is signed: mostly as it should be. */
function signed(roll, key) {
  const rare = (sides, more) => (roll(sides) ? {} : more());
  return {
    ...rare(12, () => ({ content_hash: digest => `sha256:${digest}` })),
    ...rare(20, () => ({ message: digest => `sha256:${digest}` })),
    ...rare(20, () => ({ algorithm: "Ed25519" })),
    ...rare(14, () => ({ signer_id: RESPELT[roll(RESPELT.length)](key.id, key.raw) })),
    ...rare(20, () => ({ [NAMES[roll(NAMES.length)]]: value(roll) })),
    ...rare(30, () => ({ signature: "00".repeat(64) })),
  };
}

/** Changes one place, somewhere in the document. */
function change(value, roll) {
  if (Array.isArray(value)) return changeItems(value, roll);
  const names = [...value.keys()];
  if (names.length === 0) return void value.set(NAMES[roll(NAMES.length)], fresh(roll));
  const name = names[roll(names.length)], inner = value.get(name);
  const choice = roll(8);
  if (choice === 0) value.delete(name);
  else if (choice === 1) value.set(NAMES[roll(NAMES.length)], fresh(roll));
  else if (choice === 2) value.delete(name), value.set(name, inner);
  else if (inner instanceof Map || Array.isArray(inner)) change(inner, roll);
  else value.set(name, typeof inner === "string" && roll(3) === 0 ? inner + " " : fresh(roll));
}

function changeItems(items, roll) {
  const at = roll(items.length + 1), inner = items[at];
  if (inner === undefined || roll(4) === 0) items.splice(at, roll(2), fresh(roll));
  else if (inner instanceof Map || Array.isArray(inner)) change(inner, roll);
  else items[at] = fresh(roll);
}

function fresh(roll) {
  // Around the deepest nesting that a reader accepts.
  if (roll(40) === 0) return nested(58 + roll(8));
  // An object large enough to have its names compared at its end.
  if (roll(40) === 0) return new Map(Array.from({ length: 20 }, (_, index) => [`k${index}`, null]));
  return value(roll);
}

function value(roll) {
  return parse(VALUES[roll(VALUES.length)]);
}

function nested(depth) {
  return depth === 0 ? new JsonNumber("1") : [nested(depth - 1)];
}

function replaced(text, roll) {
  if (roll(4) > 0) return text;
  if (roll(30) === 0) return " ".repeat(1 << 20) + text;
  if (roll(8) === 0) return text.slice(0, roll(text.length));
  if (roll(8) === 0) return text.replace('"k1":', '"k19":');
  const [from, to] = TEXTS[roll(TEXTS.length)], places = text.split(from).length - 1;
  if (places === 0) return text;
  const pieces = text.split(from), at = roll(places) + 1;
  return pieces.slice(0, at).join(from) + to + pieces.slice(at).join(from);
}
