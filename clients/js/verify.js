// Made of src/ by `npm run page`.

const $refused = (() => {
class Refused extends Error {
  constructor(code, message, { help, answer = "undecidable" } = {}) {
    super(message);
    this.name = "Refused";
    this.code = code;
    this.help = help;
    this.answer = answer;
  }
}
return { Refused };
})();

const $text = (() => {
const MAX_SHOWN = 64;
const WHITE_SPACE = /\p{White_Space}/u, ALL_WHITE_SPACE = /\p{White_Space}+/gu;
const UNSEEN = /[\p{Grapheme_Extend}\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;
const SHORT = { "\t": "\\t", "\n": "\\n", "\r": "\\r" };
const QUOTED = { ...SHORT, "\0": "\\0", "\\": "\\\\", '"': '\\"', "'": "\\'" };

function utf8(text) {
  return new TextEncoder().encode(text);
}

function copied(source) {
  if (ArrayBuffer.isView(source)) {
    return new Uint8Array(new Uint8Array(source.buffer, source.byteOffset, source.byteLength));
  }
  if (source instanceof ArrayBuffer) return new Uint8Array(source.slice(0));
  throw new TypeError("a document is a string, an ArrayBuffer or a view of one");
}

function received(source) {
  if (typeof source !== "string") return copied(source);
  return /\p{Surrogate}/u.test(source) ? null : utf8(source);
}

function trimmed(text) {
  let start = 0, end = text.length;
  while (start < end && WHITE_SPACE.test(text.charAt(start))) start++;
  while (start < end && WHITE_SPACE.test(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

function withoutSpace(text) {
  return text.replace(ALL_WHITE_SPACE, "");
}

function shown(text) {
  let escaped = "", count = 0;
  for (const char of text) {
    if (count++ === MAX_SHOWN) return escaped + "…";
    escaped += /\p{Cc}/u.test(char) ? (SHORT[char] ?? codePoint(char)) : char;
  }
  return escaped;
}

function shownCharacter(char) {
  return QUOTED[char] ?? (UNSEEN.test(char) ? codePoint(char) : char);
}

function codePoint(char) {
  return `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;
}

function hex(bytes) {
  return Array.from(bytes, byte => byte.toString(16).padStart(2, "0")).join("");
}

function unhex(digits, length) {
  if (digits.length !== length * 2 || !/^[0-9a-f]*$/.test(digits)) return null;
  return Uint8Array.from({ length }, (_, at) => parseInt(digits.slice(at * 2, at * 2 + 2), 16));
}

function unbase64(text) {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text) || text.length % 4 !== 0) return null;
  const binary = atob(text);
  return btoa(binary) === text ? fromLatin1(binary) : null;
}

function latin1(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return text;
}

function fromLatin1(text) {
  return Uint8Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
}

function fromUtf8(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

function lossy(bytes) {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

function decimal(text) {
  const value = /^(?:0|[1-9][0-9]{0,19})$/.test(text) ? BigInt(text) : null;
  return value !== null && value < 2n ** 64n ? value : null;
}

function validUpTo(bytes) {
  let at = 0;
  while (at < bytes.length) {
    const length = sequenceLength(bytes, at);
    if (length === 0) return at;
    at += length;
  }
  return at;
}

function sequenceLength(bytes, at) {
  const first = bytes[at] ?? 0, second = bytes[at + 1] ?? 0;
  if (first < 0x80) return 1;
  const length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  // The second byte excludes overlong forms, surrogates, and what is beyond U+10FFFF.
  const lowest = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const highest = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (length === 0 || second < lowest || second > highest) return 0;
  for (let more = 2; more < length; more++) {
    if (((bytes[at + more] ?? 0) & 0xc0) !== 0x80) return 0;
  }
  return length;
}
return { utf8, copied, received, trimmed, withoutSpace, shown, shownCharacter, hex, unhex, unbase64, latin1, fromLatin1, fromUtf8, lossy, decimal, validUpTo };
})();

const $number = (() => {
const { Refused } = $refused;
const { shown } = $text;
const MAX_COUNT = 2n ** 64n - 1n;
const MAX_INTEGER_DIGITS = 4300;
const FAR = 1e12;

class JsonNumber {
  constructor(text) {
    this.text = text;
    Object.freeze(this);
  }

  get isInteger() {
    return !/[.eE]/.test(this.text);
  }

  get isSafe() {
    return this.isInteger && this.text !== "-0" && this.text.length <= 17 && Number.isSafeInteger(Number(this.text));
  }

  get count() {
    if (this.text === "-0") return 0n;
    if (!/^[0-9]{1,20}$/.test(this.text)) return null;
    const value = BigInt(this.text);
    return value <= MAX_COUNT ? value : null;
  }

  toString() {
    return this.text;
  }
}

function numberText(number, profile) {
  const token = number.text;
  if (profile === "vrf") return token;
  if (profile !== "jcs" && number.isInteger) {
    if (token.replace(/^-/, "").length > MAX_INTEGER_DIGITS) {
      const message = `the integer \`${shown(token)}\` has more than 4300 digits, which profile \`${profile}\` cannot read`;
      throw new Refused("integer_too_long", message, ADVICE);
    }
    return token === "-0" ? "0" : token;
  }
  const value = Number(token);
  if (!Number.isFinite(value)) {
    const message = `the number \`${shown(token)}\` overflows to infinity under profile \`${profile}\``;
    throw new Refused("number_not_finite", message, ADVICE);
  }
  // RFC 8785, section 3.2.2.3: as ECMAScript writes it.
  return profile === "jcs" ? String(value) : pythonFloat(value);
}

const ADVICE = { help: "write the number as a string" };

function checkExact(number, profile) {
  if (number.isSafe) return;
  if (profile !== "vrf" && decimal(numberText(number, profile)) === decimal(number.text)) return;
  const message = `profile \`${profile}\` does not keep the number \`${shown(number.text)}\` exactly`;
  throw new Refused("number_not_exact", message, ADVICE);
}

function decimal(token) {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/.exec(token) ?? [];
  const written = whole + fraction;
  const significant = withoutZerosAtEnd(written);
  const digits = significant.replace(/^0+/, "");
  // Beyond `FAR` it is zero or infinite as a double, and the digits tell.
  const power = Math.max(-FAR, Math.min(FAR, Number(exponent))) - fraction.length + (written.length - significant.length);
  // Zero is zero with any exponent, but its sign counts: Python and ECMAScript write `-0` as `0`.
  return digits === "" ? `${sign}0` : `${sign}${digits}e${power}`;
}

function withoutZerosAtEnd(digits) {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === "0") end--;
  return digits.slice(0, end);
}

function pythonFloat(value) {
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  const [mantissa = "", power = "0"] = Math.abs(value).toExponential().split("e");
  const digits = mantissa.replace(".", ""), exponent = Number(power);
  if (exponent < -4 || exponent >= 16) {
    const rest = digits.length > 1 ? "." + digits.slice(1) : "";
    return `${sign}${digits[0]}${rest}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  return `${sign}${digits.slice(0, exponent + 1).padEnd(exponent + 1, "0")}.${digits.slice(exponent + 1) || "0"}`;
}
return { JsonNumber, numberText, checkExact };
})();

const $canonical = (() => {
const { JsonNumber, checkExact, numberText } = $number;
const PROFILES = Object.freeze(["vrf", "jcs", "py-utf8", "py-ascii"]);

const SHORT = { '"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r" };

function canonical(value, profile = "vrf", leftOut) {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return quoted(value, profile);
  if (value instanceof JsonNumber) return numberText(value, profile);
  if (Array.isArray(value)) return `[${value.map(item => canonical(item, profile)).join(",")}]`;
  const members = [...value].filter(([name]) => name !== leftOut);
  members.sort(([left], [right]) => (profile === "jcs" ? byUnit(left, right) : byCodePoint(left, right)));
  return `{${members.map(([name, item]) => `${quoted(name, profile)}:${canonical(item, profile)}`).join(",")}}`;
}

function toText(value) {
  if (Array.isArray(value)) return `[${value.map(toText).join(",")}]`;
  if (!(value instanceof Map)) return canonical(value);
  return `{${[...value].map(([name, item]) => `${quoted(name, "vrf")}:${toText(item)}`).join(",")}}`;
}

function checkNumbers(value, profile) {
  if (value instanceof JsonNumber) checkExact(value, profile);
  else if (Array.isArray(value)) value.forEach(item => checkNumbers(item, profile));
  else if (value instanceof Map) value.forEach(item => checkNumbers(item, profile));
}

function byUnit(left, right) {
  return left < right ? -1 : left > right ? 1 : 0;
}

function byCodePoint(left, right) {
  const length = Math.min(left.length, right.length);
  for (let at = 0; at < length; at++) {
    const difference = rank(left.charCodeAt(at)) - rank(right.charCodeAt(at));
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

function rank(unit) {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

function quoted(text, profile) {
  // Without the flag `u`, as UTF-16 units: Python escapes each half of a pair.
  const escaped = profile === "py-ascii" ? /["\\]|[^ -~]/g : /["\\\u0000-\u001f]/g;
  return `"${text.replace(escaped, unit => SHORT[unit] ?? `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)}"`;
}
return { PROFILES, canonical, toText, checkNumbers };
})();

const $members = (() => {
const { JsonNumber } = $number;
const { Refused } = $refused;
const { shown, unhex } = $text;
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

class Members {
  constructor(object, path = "") {
    this.members = object;
    this.path = path;
  }

  static top(document) {
    if (document instanceof Map) return new Members(document);
    throw wrongType("document", "an object", typeName(document));
  }

  object(name) {
    return this.optionalObject(name) ?? this.missing(name);
  }

  optionalObject(name) {
    const value = this.members.get(name);
    if (value === undefined) return undefined;
    if (value instanceof Map) return new Members(value, `${this.path}${name}.`);
    throw wrongType(this.path + name, "an object", typeName(value));
  }

  *objects(name) {
    const items = this.required(name);
    if (!Array.isArray(items)) throw wrongType(this.path + name, "an array", typeName(items));
    for (const [index, item] of items.entries()) {
      const place = `${this.path}${name}[${index}]`;
      if (!(item instanceof Map)) throw wrongType(place, "an object", typeName(item));
      yield new Members(item, `${place}.`);
    }
  }

  only(names) {
    for (const name of this.members.keys()) {
      if (names.includes(name)) continue;
      throw new Refused("unsigned_member", `\`${this.path}${name}\` is not covered by the signature`, { help: "remove it" });
    }
  }

  string(name) {
    const value = this.required(name);
    if (typeof value === "string") return value;
    throw wrongType(this.path + name, "a string", typeName(value));
  }

  optionalString(name) {
    return this.members.has(name) ? this.string(name) : undefined;
  }

  number(name) {
    const value = this.required(name);
    if (value instanceof JsonNumber) return value;
    throw wrongType(this.path + name, "an integer", typeName(value));
  }

  count(name) {
    const number = this.number(name), place = this.path + name;
    if (!number.isInteger) throw notAnInteger(place);
    if (number.count !== null) return number.count;
    const message = `\`${place}\` is ${shown(number.text)}, expected an integer from 0 to 2^64−1`;
    throw new Refused("count_out_of_range", message);
  }

  optionalCount(name) {
    return this.members.has(name) ? this.count(name) : undefined;
  }

  digest(name) {
    const text = this.string(name);
    if (isDigest(text)) return text;
    const message = `\`${this.path}${name}\`: \`${shown(text)}\` is not a SHA-256 digest`;
    throw new Refused("invalid_hash", message, { help: "write `sha256:` and 64 lower-case hex digits" });
  }

  optionalDigest(name) {
    return this.members.has(name) ? this.digest(name) : undefined;
  }

  timestamp(name) {
    const text = this.string(name);
    if (unixMillis(text) !== null) return text;
    const message = `\`${this.path}${name}\`: \`${shown(text)}\` is not an ISO 8601 time in UTC`;
    throw new Refused("invalid_timestamp", message, { help: "write it as in `2026-02-19T00:46:00Z`" });
  }

  word(name, what, words) {
    const found = this.string(name);
    if (words.includes(found)) return found;
    const message = `\`${this.path}${name}\`: unknown ${what} \`${shown(found)}\``;
    throw new Refused(`unknown_${what}`, message, { help: `write one of ${words.map(word => `\`${word}\``).join(", ")}` });
  }

  optionalWord(name, what, words) {
    return this.members.has(name) ? this.word(name, what, words) : undefined;
  }

  required(name) {
    const value = this.members.get(name);
    return value === undefined ? this.missing(name) : value;
  }

  missing(name) {
    throw new Refused("missing_field", `missing field \`${this.path}${name}\``);
  }
}

function notAnInteger(place) {
  return wrongType(place, "an integer", "number with a fraction or exponent");
}

function wrongType(place, expected, found) {
  return new Refused("wrong_type", `\`${place}\`: expected ${expected}, found ${found}`);
}

function typeName(value) {
  if (value === null) return "null";
  if (value instanceof JsonNumber) return "number";
  if (Array.isArray(value)) return "array";
  return value instanceof Map ? "object" : typeof value;
}

function isDigest(text) {
  return text.startsWith("sha256:") && unhex(text.slice(7), 32) !== null;
}

function unixMillis(text) {
  const parts = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|\+00:00)$/.exec(text);
  if (!parts) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.slice(1, 7).map(Number);
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = month === 2 && leap ? 29 : (DAYS[month - 1] ?? 0);
  if (year < 1 || day < 1 || day > days || hour > 23 || minute > 59 || second > 59) return null;
  return Date.parse(`${text.slice(0, 19)}.${(parts[7] ?? "").slice(0, 3).padEnd(3, "0")}Z`);
}

function receiptId(text) {
  const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
  return pattern.test(text) ? text.toLowerCase() : null;
}
return { Members, notAnInteger, isDigest, unixMillis, receiptId };
})();

const $decision = (() => {
const { isDigest, receiptId, unixMillis } = $members;
const { JsonNumber } = $number;
const { Refused } = $refused;
const RECEIPT_TYPE = "verifiedx_decision_receipt";

const DISPOSITIONS = [
  ["allow", "continue_downstream", "downstream"],
  ["allow_with_warning", "continue_downstream", "downstream"],
  ["replan_required", "local_replan", "local"],
  ["replan_required", "upstream_replan", "upstream"],
  ["replan_required", "human_review", "human"],
  ["goal_fail_terminal", "terminal_block", "stop"],
];

const TYPES = {
  text: value => typeof value === "string",
  textOrNull: value => typeof value === "string" || value === null,
  flag: value => typeof value === "boolean",
  // Larger integers are not the same number for every reader of JSON.
  count: value => value instanceof JsonNumber && value.isSafe && value.count !== null,
  id: value => typeof value === "string" && receiptId(value) !== null,
  digest: value => typeof value === "string" && isDigest(value),
  time: value => typeof value === "string" && unixMillis(value) !== null,
  texts: value => every(value, item => typeof item === "string"),
  // Objects that have a `code` and a `message`.
  coded: value =>
    every(value, item =>
      item instanceof Map && typeof item.get("code") === "string" && typeof item.get("message") === "string"),
  objects: value => every(value, item => item instanceof Map),
  object: value => value instanceof Map,
  objectOrNull: value => value instanceof Map || value === null,
};

const FORMAT = /** @type {const} */ ([
  ["", "decision_id", "id"],
  ["", "outcome", "text"],
  ["", "action_class", "textOrNull"],
  ["", "safe_to_execute", "flag"],
  ["", "human_review_terminal", "flag"],
  ["", "must_not_retry_same_action", "flag"],
  ["", "reasons", "coded"],
  ["", "safe_next_steps", "coded"],
  ["", "viewer_guidance", "texts"],
  ["", "what_would_change_this", "texts"],
  ["", "disposition", "object"],
  ["", "routing", "object"],
  ["", "resume_contract", "object"],
  ["", "runtime_loopback", "objectOrNull"],
  ["", "metadata", "object"],
  ["", "binding", "object"],
  ["", "evidence", "objects"],
  ["disposition", "mode", "text"],
  ["routing", "direction", "text"],
  ["routing", "target_hint", "textOrNull"],
  ["routing", "return_to_node", "textOrNull"],
  ["routing", "workflow_id", "textOrNull"],
  ["routing", "node_id", "textOrNull"],
  ["resume_contract", "retry_this_node", "flag"],
  ["resume_contract", "pass_receipt_upstream", "flag"],
  ["resume_contract", "pass_new_upstream_context_on_retry", "flag"],
  ["resume_contract", "resume_when", "texts"],
  ["resume_contract", "conditions", "objects"],
  ["binding", "action_hash", "digest"],
  ["binding", "policy_hash", "digest"],
  ["binding", "facts_hash", "digest"],
  ["binding", "fingerprint", "digest"],
  ["binding", "engine", "text"],
  ["binding", "steps", "count"],
  ["binding", "denied_before", "count"],
  ["binding", "decided_at", "time"],
  ["binding", "expires_at", "time"],
]);

const SEPARATIONS = ["none", "account", "host"];

function claimsDecision(document) {
  return document.get("receipt_type") === RECEIPT_TYPE && !document.has("vrf_version");
}

function readDecision(document) {
  for (const [place, name, type] of FORMAT) {
    const value = member(document, place, name);
    if (value !== undefined && TYPES[type]?.(value)) continue;
    const path = place === "" ? name : `${place}.${name}`;
    throw missing(path);
  }
  // Receipts of earlier decisions do not say who asked.
  const separation = member(document, "binding", "separation"), account = member(document, "binding", "account");
  const policy = member(document, "binding", "policy");
  if (separation !== undefined && !(typeof separation === "string" && SEPARATIONS.includes(separation))) throw missing("binding.separation");
  if (account !== undefined && typeof account !== "string") throw missing("binding.account");
  if (policy !== undefined && typeof policy !== "string") throw missing("binding.policy");
  if (!isSessionHead(member(document, "binding", "session"))) throw missing("binding.session");
  checkDisposition(document);
  return receiptId(String(document.get("decision_id"))) ?? "";
}

function isSessionHead(session) {
  if (session === undefined) return true;
  if (!(session instanceof Map) || typeof session.get("name") !== "string") return false;
  const entries = session.get("entries"), last = session.get("last_entry");
  if (!(entries instanceof JsonNumber) || !TYPES.count?.(entries)) return false;
  // Only a session without entries has no last one.
  return last === undefined ? Number(entries.count) === 0 : Number(entries.count) > 0 && TYPES.digest?.(last) === true;
}

function checkDisposition(document) {
  const outcome = document.get("outcome"), mode = member(document, "disposition", "mode");
  const disposition = DISPOSITIONS.find(([itsOutcome, itsMode]) => itsOutcome === outcome && itsMode === mode);
  if (!disposition) throw contradiction("disposition.mode");
  const allows = mode === "continue_downstream";
  const flag = (/** @type {string} */ name, /** @type {boolean} */ due) => member(document, "disposition", name) === due;
  const rules = /** @type {const} */ ([
    ["safe_to_execute", document.get("safe_to_execute") === allows],
    ["human_review_terminal", document.get("human_review_terminal") === (mode === "human_review")],
    ["routing.direction", member(document, "routing", "direction") === disposition[2]],
    ["disposition", flag("downstream_allowed", allows)
      && flag("local_replan_recommended", mode === "local_replan")
      && flag("upstream_replan_required", mode === "upstream_replan")],
    ["runtime_loopback", (document.get("runtime_loopback") === null) === allows],
  ]);
  for (const [name, holds] of rules) {
    if (!holds) throw contradiction(name);
  }
}

function missing(path) {
  return new Refused("missing_field", `\`${path}\` is missing or of the wrong type`);
}

function contradiction(name) {
  return new Refused("contradiction", `\`${name}\` contradicts the outcome`);
}

function member(document, place, name) {
  if (place === "") return document.get(name);
  const object = document.get(place);
  return object instanceof Map ? object.get(name) : undefined;
}

function every(value, holds) {
  return Array.isArray(value) && value.every(holds);
}
return { claimsDecision, readDecision };
})();

const $ed25519 = (() => {
const { Refused } = $refused;
const { hex, unhex, utf8 } = $text;
const PRIME = 2n ** 255n - 19n;
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
const ORDER_8 = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n;
const SMALL_ORDER = new Set([0n, 1n, PRIME - 1n, ORDER_8, PRIME - ORDER_8]);
const KNOWN = {
  key: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
  message: 0x72,
  signature:
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
};
const ELSEWHERE = "or run `proofmark receipt verify`";

async function sha256(data) {
  return `sha256:${hex(await digest(typeof data === "string" ? utf8(data) : data))}`;
}

async function digest(data) {
  return new Uint8Array(await subtle().digest("SHA-256", data));
}

async function verifyStrictly(key, message, signature) {
  await checked();
  const points = [key, signature.slice(0, 32)];
  if (key.length !== 32 || signature.length !== 64 || !points.every(isOfLargeOrder)) return false;
  if (integer(signature.slice(32)) >= ORDER) return false;
  return verifyByWebCrypto(key, message, signature);
}

async function verifyP256(key, message, signature) {
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

function isOfLargeOrder(encoded) {
  // The highest bit is the sign of x.
  const y = integer(encoded) & (2n ** 255n - 1n);
  return y < PRIME && !SMALL_ORDER.has(y);
}

function integer(littleEndian) {
  return BigInt(`0x${hex(littleEndian.slice().reverse())}`);
}

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

let check;

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
return { sha256, digest, verifyStrictly, verifyP256 };
})();

const $receipt = (() => {
const { Members, notAnInteger, receiptId } = $members;
const { Refused } = $refused;
const { shown } = $text;
const MAX_COUNT = 2n ** 64n - 1n;
const VERDICTS = ["pass", "fail", "partial", "error"];
const STATUSES = ["pass", "fail", "error"];
const DECIDERS = ["verifier", "submission"];
const SIGNATURE = ["algorithm", "signer_id", "content_hash", "signature"];



function readReceipt(document) {
  const top = Members.top(document);
  const version = top.string("vrf_version");
  if (version !== "1.0") {
    throw new Refused("unsupported_version", `\`vrf_version\` is \`${shown(version)}\`, expected \`1.0\``);
  }
  top.string("verdict");
  const id = readId(top.string("receipt_id"));
  top.timestamp("verified_at");
  checkTier(top);
  top.word("verdict", "verdict", VERDICTS);
  const task = top.optionalObject("task");
  ["task_id", "task_type", "description"].forEach(name => task?.optionalString(name));
  checkResults(top.object("results"));
  const hashes = top.object("hashes");
  hashes.digest("specification");
  hashes.digest("output");
  hashes.optionalDigest("tests");
  const signature = top.optionalObject("signature");
  const read = signature && readSignature(signature);
  // Only its type is checked; what is in it is free.
  top.optionalObject("metadata");
  return { id, document: top.members, signature: read };
}

function readSignature(members) {
  // No signature covers this object: anyone could add a member to a receipt that stays valid.
  members.only(SIGNATURE);
  return {
    algorithm: members.string("algorithm"),
    signerId: members.string("signer_id"),
    contentHash: members.string("content_hash"),
    signature: members.string("signature"),
  };
}

function readId(text) {
  const id = receiptId(text);
  if (id !== null) return id;
  const help = "write it as in `f47ac10b-58cc-4372-a567-0e02b2c3d479`";
  throw new Refused("invalid_receipt_id", `\`receipt_id\`: \`${shown(text)}\` is not a UUID version 4`, { help });
}

function checkTier(top) {
  const tier = top.number("tier");
  if (!tier.isInteger) throw notAnInteger("tier");
  if (tier.count !== null && tier.count <= 3n) return;
  throw new Refused("tier_out_of_range", `\`tier\` is ${shown(tier.text)}, expected 0, 1, 2 or 3`);
}

function checkVerdict(document) {
  const top = Members.top(document);
  const verdict = top.string("verdict");
  const results = top.object("results");
  const [total, passed] = [results.count("total"), results.count("passed")];
  const agrees = verdict === "pass" ? passed === total && total > 0n : verdict !== "partial" || passed > 0n && passed < total;
  if (agrees) return;
  const message = `\`verdict\` is \`${verdict}\`, but \`results\` say that ${passed} of ${total} checks passed`;
  throw new Refused("verdict_mismatch", message);
}

function checkResults(results) {
  const [total, passed, failed, errors] =
    [results.count("total"), results.count("passed"), results.count("failed"), results.count("errors")];
  const listed = new Map();
  for (const detail of results.objects("details")) {
    const status = checkDetail(detail);
    listed.set(status, (listed.get(status) ?? 0n) + 1n);
  }
  const sum = passed + failed + errors;
  if (sum !== total || sum > MAX_COUNT) {
    const parts = `passed ${passed}, failed ${failed} and errors ${errors} do not add up to it`;
    throw new Refused("total_mismatch", `\`results.total\` is ${total}, but ${parts}`);
  }
  // Details may leave checks out, so fewer are fine.
  for (const [status, counted] of /** @type {const} */ ([["pass", passed], ["fail", failed], ["error", errors]])) {
    const found = listed.get(status) ?? 0n;
    if (found <= counted) continue;
    const message = `\`results.details\` lists ${found} checks with status \`${status}\`, but the count says ${counted}`;
    throw new Refused("details_mismatch", message);
  }
}

function checkDetail(detail) {
  detail.string("status");
  detail.string("name");
  const status = detail.word("status", "status", STATUSES);
  detail.optionalString("expected");
  detail.optionalString("actual");
  detail.optionalCount("elapsed_ms");
  detail.optionalString("message");
  detail.optionalString("constraint");
  detail.optionalWord("decided", "decided", DECIDERS);
  return status;
}
return { readReceipt, readSignature, checkVerdict };
})();

const $head = (() => {
const { Members } = $members;
const { readSignature } = $receipt;
const { Refused } = $refused;
const { shown } = $text;
const FORMAT = "proofmark-chain-head/1";


function readHead(document) {
  const top = Members.top(document);
  const format = top.string("format");
  if (format !== FORMAT) {
    throw new Refused("wrong_format", `\`format\` is \`${shown(format)}\`, expected \`${FORMAT}\``);
  }
  top.string("chain");
  top.timestamp("signed_at");
  const length = top.count("length"), tip = top.digest("tip");
  return { document: top.members, length, tip, signature: readSignature(top.object("signature")) };
}
return { readHead };
})();

const $json = (() => {
const { JsonNumber } = $number;
const { Refused } = $refused;
const { copied, shown, shownCharacter, utf8, validUpTo } = $text;
const MAX_BYTES = 1 << 20;
const MAX_DEPTH = 64;
const MAX_VALUES = MAX_BYTES / 2;

const FEW_MEMBERS = 16;

const ESCAPES = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const LITERALS = new Map([["null", null], ["true", true], ["false", false]]);

function parse(source) {
  const [bytes, text] = typeof source === "string" ? [utf8(source), source] : [copied(source), null];
  if (bytes.length > MAX_BYTES) {
    const message = `the document is larger than ${MAX_BYTES} bytes`;
    throw located("too_large", message, "make the document smaller", placeInBytes(bytes, MAX_BYTES));
  }
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    const help = "save it as UTF-8 without a byte order mark";
    throw located("byte_order_mark", "the document starts with a byte order mark", help, placeInBytes(bytes, 0));
  }
  return new Reader(text === null ? decoded(bytes) : wellFormed(text)).document();
}

function decoded(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw located("invalid_utf8", "invalid UTF-8", "save it as UTF-8", placeInBytes(bytes, validUpTo(bytes)));
  }
}

function wellFormed(text) {
  const lone = /\p{Surrogate}/u.exec(text);
  if (lone) throw located("invalid_utf8", "invalid UTF-8", "save it as UTF-8", placeInText(text, lone.index));
  return text;
}

function located(code, message, help, { line, column }) {
  return new Refused(code, `${message} at line ${line}, column ${column}`, { help });
}

function placeInBytes(bytes, offset) {
  let line = 1, column = 1;
  for (const byte of bytes.subarray(0, offset)) {
    if (byte === 0x0a) [line, column] = [line + 1, 1];
    // A character is counted at its first byte.
    else if ((byte & 0xc0) !== 0x80) column++;
  }
  return { line, column };
}

function placeInText(text, offset) {
  const before = text.slice(0, offset).split("\n");
  return { line: before.length, column: [...(before.at(-1) ?? "")].length + 1 };
}

class Reader {
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.depth = 0;
    this.values = 0;
  }

  document() {
    this.skipSpace();
    const value = this.value();
    this.skipSpace();
    if (this.at < this.text.length) throw this.refused("trailing_data", "more text after the document", "remove it");
    return value;
  }

  value() {
    if (this.values === MAX_VALUES) {
      throw this.refused("too_many_values", `more than ${MAX_VALUES} values`, "make the document smaller");
    }
    this.values++;
    const first = this.text[this.at] ?? "";
    if (first === '"') return this.string();
    if (first === "{") return this.nested(() => this.object());
    if (first === "[") return this.nested(() => this.array());
    if (/[-0-9]/.test(first)) return this.number();
    if (/[A-Za-z]/.test(first)) return this.literal();
    throw this.unexpected("a value");
  }

  nested(read) {
    if (this.depth === MAX_DEPTH) {
      throw this.refused("too_deep", `nested deeper than ${MAX_DEPTH} levels`, "flatten the document");
    }
    this.depth++;
    this.at++;
    this.skipSpace();
    const value = read();
    this.depth--;
    return value;
  }

  array() {
    const items = [];
    if (this.eat("]")) return items;
    do items.push(this.value()); while (this.commaOr("]", "`,` or `]`"));
    return items;
  }

  object() {
    const members = new Map();
    let repeated = null, count = 0;
    if (this.eat("}")) return members;
    do {
      const start = this.at;
      if (this.text[start] !== '"') throw this.unexpected("a key in double quotes");
      // Names are compared unescaped: `"a"` and `"\u0061"` are one name.
      const name = this.string();
      if (members.has(name)) {
        repeated ??= this.refused("duplicate_key", `duplicate key \`${shown(name)}\``, "keep one of them", start);
        if (count < FEW_MEMBERS) throw repeated;
      }
      count++;
      this.skipSpace();
      if (!this.eat(":")) throw this.unexpected("`:`");
      this.skipSpace();
      members.set(name, this.value());
    } while (this.commaOr("}", "`,` or `}`"));
    if (repeated) throw repeated;
    return members;
  }

  commaOr(close, expected) {
    this.skipSpace();
    if (this.eat(close)) return false;
    const comma = this.at;
    if (!this.eat(",")) throw this.unexpected(expected);
    this.skipSpace();
    if (this.text[this.at] !== close) return true;
    throw this.refused("trailing_comma", "a comma before the closing bracket", "remove it", comma);
  }

  number() {
    const start = this.at;
    this.eat("-");
    const whole = this.at;
    this.digits();
    if (this.at - whole > 1 && this.text[whole] === "0") {
      throw this.refused("leading_zero", "a number with a leading zero", "remove the zero", whole);
    }
    if (this.eat(".")) this.digits();
    if (this.eat("e") || this.eat("E")) {
      if (!this.eat("+")) this.eat("-");
      this.digits();
    }
    return new JsonNumber(this.text.slice(start, this.at));
  }

  digits() {
    const digits = this.matched(/[0-9]*/y);
    if (digits !== "") return;
    if (this.at === this.text.length) throw this.ended();
    throw this.refused("invalid_number", "a number that lacks a digit", "write it as in `0.5` or `1e9`");
  }

  literal() {
    const start = this.at;
    // The whole word, so that `nullable` is an invalid literal and not `null` with more text after it.
    const word = this.matched(/[A-Za-z0-9]*/y);
    const value = LITERALS.get(word);
    if (value !== undefined) return value;
    if (this.at === this.text.length && [...LITERALS.keys()].some(literal => literal.startsWith(word))) throw this.ended();
    const help = "write `true`, `false` or `null`, or put a string in double quotes";
    throw this.refused("invalid_literal", `\`${shown(word)}\` is not a JSON value`, help, start);
  }

  string() {
    this.at++;
    let text = "";
    for (;;) {
      text += this.matched(/[^"\\\u0000-\u001f]*/y);
      const next = this.text[this.at];
      if (next === undefined) throw this.ended();
      if (next === '"') break;
      if (next !== "\\") {
        const help = `write \`\\u${next.charCodeAt(0).toString(16).padStart(4, "0")}\``;
        throw this.refused("control_character", "a bare control character in a string", help);
      }
      text += this.escape();
    }
    this.at++;
    return text;
  }

  escape() {
    const start = this.at;
    const letter = this.text[start + 1];
    if (letter === undefined) throw this.ended();
    this.at += 2;
    if (letter === "u") return this.unicodeEscape(start);
    const plain = Object.hasOwn(ESCAPES, letter) ? ESCAPES[letter] : undefined;
    if (plain === undefined) throw this.invalidEscape(start);
    return plain;
  }

  unicodeEscape(start) {
    const lone = () =>
      this.refused("lone_surrogate", "half of a surrogate pair in a `\\u` escape", "write both halves, or the character itself", start);
    const unit = this.fourHex(start);
    if (unit < 0xd800 || unit > 0xdfff) return String.fromCharCode(unit);
    if (unit > 0xdbff || !this.text.startsWith("\\u", this.at)) throw lone();
    const second = this.at;
    this.at += 2;
    const low = this.fourHex(second);
    if (low < 0xdc00 || low > 0xdfff) throw lone();
    return String.fromCharCode(unit, low);
  }

  fourHex(escape) {
    const digits = this.matched(/[0-9A-Fa-f]{0,4}/y);
    if (digits.length === 4) return parseInt(digits, 16);
    throw this.at === this.text.length ? this.ended() : this.invalidEscape(escape);
  }

  skipSpace() {
    this.matched(/[ \t\n\r]*/y);
  }

  matched(pattern) {
    pattern.lastIndex = this.at;
    const [found = ""] = pattern.exec(this.text) ?? [];
    this.at += found.length;
    return found;
  }

  eat(char) {
    const here = this.text[this.at] === char;
    if (here) this.at++;
    return here;
  }

  refused(code, message, help, at = this.at) {
    return located(code, message, help, placeInText(this.text, at));
  }

  ended() {
    return this.refused("unexpected_end", "the document ends in the middle of a value", "is it cut off?", this.text.length);
  }

  invalidEscape(at) {
    return this.refused("invalid_escape", "invalid escape in a string", "write `\\\\` for a backslash", at);
  }

  unexpected(expected) {
    const found = this.text.codePointAt(this.at);
    if (found === undefined) return this.ended();
    const message = `expected ${expected}, found \`${shownCharacter(String.fromCodePoint(found))}\``;
    return this.refused("unexpected_character", message, `write ${expected} here`);
  }
}
return { MAX_BYTES, MAX_DEPTH, MAX_VALUES, parse };
})();

const $session = (() => {
const { claimsDecision } = $decision;
const { receiptId } = $members;
function claimsSession(document) {
  return document.get("record_type") === "proofmark_session_entry" && !document.has("vrf_version") && !claimsDecision(document);
}

function sessionEntryId(document) {
  const id = document.get("entry_id");
  return claimsSession(document) && typeof id === "string" ? receiptId(id) : null;
}
return { claimsSession, sessionEntryId };
})();

const $signer = (() => {
const { sha256 } = $ed25519;
const { parse } = $json;
const { JsonNumber } = $number;
const { Refused } = $refused;
const { shown, trimmed, unbase64, unhex, utf8, withoutSpace } = $text;
const SPKI_PREFIX = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
const DID_KEY_PREFIX = [0xed, 0x01];
const OPENSSH_PREFIX = [0, 0, 0, 11, ...utf8("ssh-ed25519"), 0, 0, 0, 32];
const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const MAX_DID = 48;
const MAX_END = 253_402_300_799_999;
const PEM_BEGIN = "-----BEGIN PUBLIC KEY-----", PEM_END = "-----END PUBLIC KEY-----";

function signerKey(text) {
  const key = text.startsWith("ed25519:") ? unhex(text.slice(8), 32)
    : text.startsWith("did:key:z") ? after(DID_KEY_PREFIX, base58(text.slice(9)))
    : after(SPKI_PREFIX, unbase64(text)) ?? after([], unbase64(text));
  if (key) return key;
  // A private key given by mistake must not reach a message or a log.
  const named = text.includes("PRIVATE KEY") ? "a private key" : shown(text);
  const help = "write its SubjectPublicKeyInfo in base64, as `proofmark key show` prints it";
  throw new Refused("invalid_signer_id", `\`${named}\` is not an Ed25519 public key`, { help });
}

function signerId(key) {
  return btoa(String.fromCharCode(...SPKI_PREFIX, ...key));
}

async function fingerprint(signer) {
  return sha256(Uint8Array.of(...SPKI_PREFIX, ...signerKey(typeof signer === "string" ? signer : signer.id)));
}

function readSigners(text) {
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

class Signers {
  #trusted;

  constructor(trusted) {
    this.#trusted = trusted.map(readTrusted);
  }

  ids(dated) {
    return this.#trusted.filter(({ until }) => until === null || dated < until).map(({ id }) => id);
  }

  trust(signer, dated) {
    if (this.#trusted.length === 0) return "unknown";
    return this.ids(dated).includes(signer) ? "trusted" : "untrusted";
  }

  has(signer) {
    return this.#trusted.some(({ id }) => id === signer);
  }
}

function readTrusted(trusted) {
  if (typeof trusted === "string") return { id: trustedId(trusted), until: null };
  const { id, until } = trusted ?? {};
  // A key whose end is not a time is not taken for one without an end.
  if (typeof id === "string" && Number.isFinite(until)) return { id: trustedId(id), until };
  throw new RangeError("`trusted`: a signer is its id, or `{ id, until }` with the end in milliseconds since 1970");
}

function trustedId(text) {
  try {
    return signerId(signerKey(text));
  } catch (error) {
    // A key that is left out would make a refusal of what somebody wanted to trust, or of nothing.
    throw new RangeError(`\`trusted\`: ${error instanceof Error ? error.message : ""}`);
  }
}

function ids(key) {
  return key ? [signerId(key)] : [];
}

function parsed(content) {
  try {
    return parse(content);
  } catch {
    return undefined;
  }
}

function fromText(text) {
  try {
    return signerKey(text);
  } catch {
    return null;
  }
}

function fromPem(content) {
  if (!content.startsWith(PEM_BEGIN) || !content.endsWith(PEM_END)) return null;
  return after(SPKI_PREFIX, unbase64(withoutSpace(content.slice(PEM_BEGIN.length, -PEM_END.length))));
}

function fromJwk(jwk) {
  const x = jwk.get("x"), exp = jwk.get("exp");
  if (jwk.get("kty") !== "OKP" || jwk.get("crv") !== "Ed25519" || typeof x !== "string" || !/^[\w-]{43}$/.test(x)) return [];
  const [id] = ids(after([], unbase64(`${x.replaceAll("-", "+").replaceAll("_", "/")}=`)));
  if (id === undefined || exp === undefined) return id === undefined ? [] : [id];
  const until = endOf(exp);
  // A key whose end cannot be read is not taken for one without an end.
  return until === null ? [] : [{ id, until }];
}

function endOf(exp) {
  const millis = exp instanceof JsonNumber ? Number(exp.text) * 1000 : NaN;
  return millis > -0.5 && Math.round(millis) < MAX_END ? Math.abs(Math.round(millis)) : null;
}

function after(prefix, bytes) {
  if (!bytes || bytes.length !== prefix.length + 32 || prefix.some((byte, at) => bytes[at] !== byte)) return null;
  return bytes.slice(prefix.length);
}

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
return { signerKey, signerId, fingerprint, readSigners, Signers };
})();

const $passkey = (() => {
const { canonical } = $canonical;
const { sha256, verifyP256, verifyStrictly } = $ed25519;
const { parse } = $json;
const { Refused } = $refused;
const { unhex, utf8 } = $text;
const MAX_CREDENTIAL = 2046;
const MAX_CLIENT_DATA = 4096;
const MAX_HOST = 253;
const DATA_BYTES = 37;
const LABEL = "[0-9a-z](?:[0-9a-z-]*[0-9a-z])?";
const ORIGIN = new RegExp(`^(https?)://(${LABEL}(?:\\.${LABEL})*)(?::([1-9][0-9]{0,4}))?$`);
const WHY = {
  malformed: "it is not complete, or longer than it may be",
  clientData: "its client data is not what a browser writes for an approval",
  challenge: "it is over something else than this approval",
  origin: "it was made on a page of another origin",
  relyingParty: "it is for another relying party",
  user: "the authenticator has not verified the user",
  signature: "its signature is not that of the passkey",
};

async function checkPasskey(receipt) {
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

function readAssertion(kept) {
  const text = name => { const value = kept?.get(name); return typeof value === "string" ? value : null; };
  const [passkey, credential, clientData] = [text("key"), text("credential"), text("client_data")];
  const [data, signature] = [unhex(text("authenticator_data") ?? "", DATA_BYTES), unhex(text("signature") ?? "", 64)];
  if (passkey === null || credential === null || clientData === null || !data || !signature) return null;
  if (utf8(credential).length > MAX_CREDENTIAL || utf8(clientData).length > MAX_CLIENT_DATA) return null;
  const at = passkey.indexOf("@"), [key, origin] = [readKey(passkey.slice(0, Math.max(at, 0))), passkey.slice(at + 1)];
  const host = hostOf(origin);
  return at < 0 || !key || host === null ? null : { key, host, origin, data, clientData, signature };
}

function readKey(text) {
  if (text.startsWith("es256:")) return unhex(text.slice(6), 64);
  return text.startsWith("eddsa:") ? unhex(text.slice(6), 32) : null;
}

function hostOf(origin) {
  const [, scheme, host = "", port] = ORIGIN.exec(origin) ?? [];
  const isSecure = scheme === "https" || scheme === "http" && host === "localhost";
  const isPort = port === undefined || Number(port) <= 65535 && port !== (scheme === "https" ? "443" : "80");
  return isSecure && isPort && host.length <= MAX_HOST && !/(?:^|\.)[0-9]+$/.test(host) ? host : null;
}

async function challengeOf(receipt, approval) {
  const signed = new Map(approval);
  signed.delete("passkey");
  const names = ["receipt_id", "verified_at", "hashes"];
  const statement = new Map([...names.map(name => /** @type {[string, Json]} */ ([name, receipt.get(name) ?? null])), ["approval", signed]]);
  const bytes = await digest(canonical(/** @type {JsonObject} */ (statement)));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

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

function object(value) {
  return value instanceof Map ? value : undefined;
}

async function digest(bytes) {
  return /** @type {Uint8Array<ArrayBuffer>} */ (unhex((await sha256(bytes)).slice(7), 32));
}

function same(one, other) {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}

function joined(one, other) {
  const all = new Uint8Array(one.length + other.length);
  all.set(one);
  all.set(other, one.length);
  return all;
}

function refused(why) {
  return new Refused("passkey_mismatch", `the passkey that the approval names has not signed it: ${WHY[why]}`, { answer: "invalid" });
}
return { checkPasskey };
})();

const $shown = (() => {
const { canonical } = $canonical;
const { sha256 } = $ed25519;
const { Refused } = $refused;
const SHOWN = ["action_hash", "environment", "agent", "separation", "account"];

async function checkShown(receipt) {
  const metadata = receipt.get("metadata");
  const approval = metadata instanceof Map ? metadata.get("approval") : undefined;
  if (!(approval instanceof Map) || !approval.has("shown")) return;
  const members = SHOWN.filter(name => approval.has(name)).map(name => /** @type {[string, Json]} */ ([name, approval.get(name) ?? null]));
  if (approval.get("shown") !== await sha256(canonical(/** @type {JsonObject} */ (new Map(members))))) {
    throw new Refused("shown_mismatch", "the approval is of another action than its reviewer was shown", { answer: "invalid" });
  }
}
return { checkShown };
})();

const $signature = (() => {
const { canonical, checkNumbers } = $canonical;
const { sha256, verifyStrictly } = $ed25519;
const { Members } = $members;
const { readSignature } = $receipt;
const { Refused } = $refused;
const { signerId, signerKey } = $signer;
const { shown, unhex, utf8 } = $text;
async function verifySignature(document, signature, issuerKey, profile) {
  const { algorithm, contentHash } = signature;
  if (algorithm !== "ed25519") {
    throw new Refused("unknown_algorithm", `\`signature.algorithm\` is \`${shown(algorithm)}\`, expected \`ed25519\``);
  }
  const key = signer(signature.signerId, profile);
  const claimed = contentHash.startsWith("sha256:") ? contentHash.slice(7) : contentHash;
  if (!unhex(claimed, 32)) {
    throw new Refused("invalid_content_hash", "`signature.content_hash` is not 64 lower-case hex digits");
  }
  const bytes = unhex(signature.signature, 64);
  if (!bytes) throw new Refused("invalid_signature", "`signature.signature` is not 128 lower-case hex digits");
  // A number that two readers understand differently may stand for two values under one hash.
  checkNumbers(document, profile);
  if (await sha256(canonical(document, profile, "signature")) !== `sha256:${claimed}`) {
    throw invalid("content_hash_mismatch", "the content does not match `signature.content_hash`: it was changed after signing, or hashed in another canonical form");
  }
  // The text as written: an issuer who begins it with `sha256:` has signed that, too.
  if (!await verifyStrictly(key, utf8(contentHash), bytes)) {
    throw invalid("signature_mismatch", "the signature is not that of `signature.signer_id` over `signature.content_hash`");
  }
  // The same text, not the same key: a key has several spellings, of which the issuer has signed one.
  if (issuerKey !== undefined && issuerKey !== signature.signerId) {
    throw invalid("issuer_key_mismatch", "the signed `issuer_key` is not the same text as `signature.signer_id`: another key signed the same content, or the key was respelled");
  }
  return signerId(key);
}

async function verifyDocument(document) {
  if (!document.has("signature")) throw unsigned();
  const signature = readSignature(new Members(document).object("signature"));
  return verifySignature(document, signature, document.get("issuer_key") ?? null, "vrf");
}

function unsigned() {
  return new Refused("unsigned", "no `signature`: an unsigned claim");
}

function signer(text, profile) {
  const key = named(text);
  if (profile !== "vrf" || signerId(key) === text) return key;
  throw new Refused("invalid_signer_id", "`signature.signer_id` is not in the one spelling of profile `vrf`, base64 of the key's SubjectPublicKeyInfo: the receipt is of another issuer, or the key was respelled");
}

function named(text) {
  try {
    return signerKey(text);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    throw new Refused(error.code, `\`signature.signer_id\`: ${error.message}`, { help: error.help });
  }
}

function invalid(code, message) {
  return new Refused(code, message, { answer: "invalid" });
}
return { verifySignature, verifyDocument, unsigned };
})();

const $verify = (() => {
const { PROFILES } = $canonical;
const { claimsDecision, readDecision } = $decision;
const { parse } = $json;
const { readHead } = $head;
const { unixMillis } = $members;
const { checkPasskey } = $passkey;
const { checkVerdict, readReceipt } = $receipt;
const { Refused } = $refused;
const { claimsSession } = $session;
const { checkShown } = $shown;
const { unsigned, verifyDocument, verifySignature } = $signature;
const { Signers } = $signer;
const DATES = {
  receipt: ["verified_at"],
  decision_receipt: ["binding", "decided_at"],
  session_entry: ["at"],
  chain_head: ["signed_at"],
};



async function verify(source, { trusted = [], profile = "vrf" } = {}) {
  if (!PROFILES.includes(profile)) throw new RangeError(`unknown profile: write one of ${PROFILES.join(", ")}`);
  const signers = new Signers(trusted);
  const [document, refused] = read(source);
  if (refused || document === undefined) return refusedBecause("receipt", refused, document);
  if (document instanceof Map && claimsDecision(document)) {
    return judged("decision_receipt", document, signers, async () => {
      const signer = await verifyDocument(document);
      // The signature first: a document that its signer did not sign is invalid, whatever its format.
      readDecision(document);
      return signer;
    });
  }
  if (document instanceof Map && claimsSession(document)) {
    return judged("session_entry", document, signers, () => verifyDocument(document));
  }
  const verification = await judged("receipt", document, signers, async () => {
    const receipt = readReceipt(document);
    const signer = await verifyReceipt(receipt, profile);
    // An approval that names a passkey is what it says only if the passkey has signed it, too.
    await checkPasskey(receipt.document);
    await checkShown(receipt.document);
    return signer;
  });
  return { ...verification, wouldVerifyUnder: await hint(verification, profile) };
}

async function verifyHead(source, { trusted = [] } = {}) {
  const signers = new Signers(trusted);
  const [document, refused] = read(source);
  if (refused || document === undefined) return refusedBecause("chain_head", refused, document);
  return judged("chain_head", document, signers, () => {
    const head = readHead(document);
    return verifySignature(head.document, head.signature, head.document.get("issuer_key") ?? null, "vrf");
  });
}

function dateOf(kind, document) {
  let value = document;
  for (const name of DATES[kind]) value = value instanceof Map ? value.get(name) : undefined;
  return (typeof value === "string" ? unixMillis(value) : null) ?? Infinity;
}

async function verifyReceipt({ document, signature }, profile) {
  if (!signature) throw unsigned();
  const metadata = document.get("metadata");
  const issuerKey = metadata instanceof Map ? metadata.get("issuer_key") : undefined;
  const signer = await verifySignature(document, signature, issuerKey, profile);
  // The signature first: a receipt whose verdict was changed is not what its signer signed.
  checkVerdict(document);
  return signer;
}

function read(source) {
  try {
    return [parse(source), null];
  } catch (error) {
    if (error instanceof Refused) return [undefined, error];
    throw error;
  }
}

async function judged(kind, document, signers, check) {
  let signer;
  try {
    signer = await check();
  } catch (error) {
    if (error instanceof Refused) return refusedBecause(kind, error, document);
    throw error;
  }
  const trust = signers.trust(signer, dateOf(kind, document));
  return { kind, answer: "valid", trust, signer, cause: null, message: null, help: null, wouldVerifyUnder: null, document };
}

function refusedBecause(kind, refused, document) {
  return {
    kind,
    answer: refused?.answer ?? "undecidable",
    // Anyone can name a trusted signer in a document that is not valid.
    trust: "unknown",
    signer: null,
    cause: refused?.code ?? null,
    message: refused?.message ?? null,
    help: refused?.help ?? null,
    wouldVerifyUnder: null,
    document,
  };
}

const OF_THE_FORM = ["content_hash_mismatch", "number_not_exact", "number_not_finite", "integer_too_long"];
const NOBODY = new Signers([]);
const RESPELT = "`signature.signer_id` is not in the one spelling";

async function hint({ cause, message, document }, asked) {
  const explained = cause !== null && OF_THE_FORM.includes(cause)
    || cause === "invalid_signer_id" && (message ?? "").startsWith(RESPELT);
  if (!explained || document === undefined) return null;
  for (const profile of PROFILES) {
    if (profile === asked) continue;
    const other = await judged("receipt", document, NOBODY, () => verifyReceipt(readReceipt(document), profile));
    if (other.answer === "valid") return profile;
  }
  return null;
}
return { verify, verifyHead, dateOf };
})();

const $chain = (() => {
const { canonical } = $canonical;
const { claimsDecision, readDecision } = $decision;
const { sha256 } = $ed25519;
const { readHead } = $head;
const { MAX_BYTES, parse } = $json;
const { isDigest, receiptId } = $members;
const { JsonNumber } = $number;
const { readReceipt } = $receipt;
const { Refused } = $refused;
const { sessionEntryId } = $session;
const { Signers, signerId, signerKey } = $signer;
const { copied, shown, utf8 } = $text;
const { dateOf, verify, verifyHead } = $verify;
async function verifyChain(sources, { head, trusted = [], profile = "vrf" } = {}) {
  const signers = new Signers(trusted);
  const chain = new Chain();
  const documents = [];
  for await (const source of sources) {
    const verification = await verify(source, { trusted, profile });
    // A document that is not a receipt leaves a gap in the chain.
    if (verification.document !== undefined) await chain.add(verification.document);
    documents.push(verification);
  }
  const verifiedHead = head === undefined ? null : await verifyHead(head, { trusted });
  const signedEnd = verifiedHead ? readable(verifiedHead.document) : null;
  const links = chain.finish(signedEnd, signers.ids(dateOf("chain_head", signedEnd?.document)));
  const parts = [...documents, ...(verifiedHead ? [verifiedHead] : [])];
  const answer = worst([...parts.map(part => part.answer), links.answer]);
  return { answer, trust: least(parts), links, length: chain.length, documents, head: verifiedHead };
}

function splitDocuments(source) {
  const bytes = typeof source === "string" ? utf8(source) : copied(source);
  if (bytes.length <= MAX_BYTES && !hasSeveral(bytes)) return [{ line: null, bytes }];
  const documents = [];
  let line = 0;
  for (let start = 0; start < bytes.length;) {
    const found = bytes.indexOf(0x0a, start);
    const end = found < 0 ? bytes.length : found;
    const one = bytes.subarray(start, end);
    line++;
    start = end + 1;
    if (one.length > MAX_BYTES || one.some(byte => !WHITE_SPACE.includes(byte))) documents.push({ line, bytes: one });
  }
  return documents;
}

const WHITE_SPACE = [0x09, 0x0a, 0x0c, 0x0d, 0x20];

function hasSeveral(bytes) {
  try {
    parse(bytes);
  } catch (error) {
    // With any other error it is one document, of which that error is reported.
    return error instanceof Refused && error.code === "trailing_data";
  }
  return false;
}

function readable(document) {
  try {
    return document === undefined ? null : readHead(document);
  } catch {
    return null;
  }
}

function worst(answers) {
  return answers.includes("undecidable") ? "undecidable" : answers.includes("invalid") ? "invalid" : "valid";
}

function least(parts) {
  if (parts.some(part => part.trust === "untrusted")) return "untrusted";
  return parts.length > 0 && parts.every(part => part.trust === "trusted") ? "trusted" : "unknown";
}

class Chain {
  length = 0;
  #last = null;
  #signer = null;
  #losses = [];
  #broken = null;

  async add(document) {
    const id = document instanceof Map ? linkId(document) : null;
    if (!(document instanceof Map) || id === null) return;
    this.length++;
    if (this.#broken) return;
    try {
      await this.#append(id, document);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.#broken = error;
    }
  }

  get isBroken() {
    return this.#broken !== null;
  }

  finish(head, trusted) {
    const broken = this.#broken ?? this.#end(head, trusted);
    const { answer = "valid", code = null, message = null, help = null } = broken ?? {};
    return { answer, cause: code, message, help, losses: this.#losses };
  }

  async #append(id, document) {
    const position = chainPosition(document);
    if (position === null) {
      throw broken("unlinked", `receipt ${id} has no \`metadata.chain_position\`, so it belongs to no chain`);
    }
    if (this.#last) checkFollows(document, id, position, this.#last);
    else checkStarts(document, id, position);
    const lost = lostEnd(document, id);
    if (lost) this.#losses.push({ id, position, lost });
    const signer = namedSigner(document);
    this.#signer = this.#last === null || this.#signer === signer ? signer : null;
    this.#last = { id, hash: await sha256(canonical(document)), position };
  }

  #end(head, trusted) {
    // Nothing to verify is not a valid chain: an export that failed would pass as one.
    if (!this.#last) return broken("empty_chain", "there are no receipts", "give the receipts of the chain in order");
    if (!head) return null;
    const signer = namedSigner(head.document);
    // Anyone can sign a head for a chain cut off anywhere, so only the signer of all receipts counts, or a trusted one.
    if (signer === null || (signer !== this.#signer && !trusted.includes(signer))) {
      const named = shown(head.signature.signerId);
      const message = `the head is signed by ${named}, who did not sign every receipt of the chain and is not trusted`;
      return broken("untrusted_head", message, "trust that key if the head is its issuer's");
    }
    const found = this.#last.position + 1n;
    // Before the tips are compared: they differ in a truncated chain, too.
    if (found < head.length) {
      const message = `the signed head says ${head.length} receipts and there are ${found}: the end of the chain is missing`;
      return broken("truncated", message);
    }
    if (found === head.length && this.#last.hash === head.tip) return null;
    const message = `the signed head is of another chain: it pins ${head.length} receipts ending in ${head.tip}`;
    return broken("other_head", message);
  }
}

function linkId(document) {
  try {
    return readReceipt(document).id;
  } catch {
    // Not a receipt.
  }
  try {
    if (claimsDecision(document)) return readDecision(document);
  } catch {
    // Not a decision receipt.
  }
  return sessionEntryId(document);
}

function checkStarts(document, id, position) {
  const metadata = metadataOf(document);
  // `null` counts as present: a field without a value is absent.
  if (position === 0n && !metadata.has("previous_receipt") && !metadata.has("previous_receipt_hash")) return;
  const due = "a chain begins at 0 without a predecessor";
  throw broken("wrong_first_position", `the first receipt, ${id}, has position ${position}: ${due}`);
}

function checkFollows(document, id, position, last) {
  const after = last.position;
  if (position === after) {
    throw broken("fork", `receipts ${last.id} and ${id} both have position ${position}: the chain forks`);
  }
  if (position < after) {
    const message = `receipt ${id} with position ${position} comes after position ${after}: the receipts are out of order`;
    throw broken("reordered", message);
  }
  if (position !== after + 1n) {
    throw broken("gap", `position ${after + 1n} is missing: receipt ${id} has position ${position}`);
  }
  const metadata = metadataOf(document);
  const [hash, previous] = [metadata.get("previous_receipt_hash"), metadata.get("previous_receipt")];
  // An id does not fix the content of the predecessor; its hash does.
  if (typeof hash !== "string") {
    throw broken("unpinned", `receipt ${id} has no \`metadata.previous_receipt_hash\`: an id alone pins nothing`);
  }
  if (hash === last.hash && typeof previous === "string" && receiptId(previous) === last.id) return;
  const message = `receipt ${id} pins another predecessor than ${last.id}, the one before it: that one was replaced or changed`;
  throw broken("swapped_predecessor", message);
}

function lostEnd(document, id) {
  const loss = metadataOf(document).get("chain_loss");
  if (loss === undefined) return null;
  const [position, hash] = loss instanceof Map ? [loss.get("position"), loss.get("hash")] : [];
  const count = position instanceof JsonNumber ? position.count : null;
  if (count !== null && typeof hash === "string" && isDigest(hash)) return { position: count, hash };
  const message = `receipt ${id} has a \`metadata.chain_loss\` without a position or a hash, so what was lost is not known`;
  throw broken("unreadable_loss", message);
}

function broken(code, message, help) {
  return new Refused(code, message, { answer: "invalid", help });
}

function metadataOf(document) {
  const metadata = document.get("metadata");
  return metadata instanceof Map ? metadata : new Map();
}

function chainPosition(document) {
  const position = metadataOf(document).get("chain_position");
  return position instanceof JsonNumber ? position.count : null;
}

function namedSigner(document) {
  const signature = document.get("signature");
  const named = signature instanceof Map ? signature.get("signer_id") : undefined;
  try {
    return typeof named === "string" ? signerId(signerKey(named)) : null;
  } catch {
    return null;
  }
}
return { verifyChain, splitDocuments, Chain };
})();

const $file = (() => {
const { sha256 } = $ed25519;
async function hashFile(file) {
  return sha256(file instanceof Blob ? await file.arrayBuffer() : file);
}

function placesOf(document, digest) {
  const places = [];
  const look = (value, path) => {
    if (value === digest) places.push(path);
    else if (Array.isArray(value)) value.forEach((item, index) => look(item, `${path}[${index}]`));
    else if (value instanceof Map) value.forEach((item, name) => look(item, path === "" ? name : `${path}.${name}`));
  };
  look(document, "");
  return places;
}
return { hashFile, placesOf };
})();

const $note = (() => {
const { digest, verifyStrictly } = $ed25519;
const { Refused } = $refused;
const { fromUtf8, hex, shown, unbase64, utf8 } = $text;
const MAX_NOTE_BYTES = 256 << 10;
const MAX_NOTE_LINES = 64;
const NOTE_KEY = 1;
const COSIGNATURE_KEY = 4;
const DASH = "\u2014 ";
const NOT_IN_A_NAME = /[\p{White_Space}\p{Cc}+]/u;




async function readVkey(text) {
  // The base64 may have plus signs of its own, so only the first two part.
  const [, name, id, encoded] = /^([^+]*)\+([^+]*)\+([^]*)$/.exec(text) ?? [];
  if (name === undefined || id === undefined || encoded === undefined) {
    throw malformedVkey(`\`${shown(text)}\` is not a verifier key: write \`<name>+<key id>+<base64>\``);
  }
  const bytes = unbase64(encoded), type = bytes?.[0];
  const notAKey = () => malformedVkey(`\`${shown(encoded)}\` is not a type and an Ed25519 key in base64`);
  if (!bytes || type === undefined) throw notAKey();
  if (type !== NOTE_KEY && type !== COSIGNATURE_KEY) {
    throw malformedVkey(`the type ${type} of the key is not known: it is 1 for a log, and 4 for a witness or a mirror`);
  }
  if (bytes.length !== 33) throw notAKey();
  if (!isKeyName(name)) {
    const faults = "it is empty, or has a space, a plus sign or a control character";
    throw malformedVkey(`\`${shown(name)}\` is not the name of a key: ${faults}`);
  }
  const expected = hex((await digest(Uint8Array.of(...utf8(`${name}\n`), ...bytes))).subarray(0, 4));
  if (id !== expected) throw malformedVkey(`the key id \`${shown(id)}\` is not that of this name and key, \`${expected}\``);
  return { name, type, key: bytes.slice(1), id };
}

function isKeyName(name) {
  return name !== "" && !NOT_IN_A_NAME.test(name);
}

function readNote(bytes) {
  if (bytes.length > MAX_NOTE_BYTES) {
    throw new Refused("too_large", `the note has ${bytes.length} bytes: at most ${MAX_NOTE_BYTES} are read`);
  }
  const note = fromUtf8(bytes);
  if (note === null) throw malformedNote("the note is not UTF-8");
  if (/[\u0000-\u0009\u000b-\u001f]/.test(note)) {
    throw malformedNote("the note has a control character other than line feeds");
  }
  const end = note.lastIndexOf("\n\n"), signatures = note.slice(end + 2);
  if (end < 0 || signatures === "") throw malformedNote("the note has no empty line between its text and its signatures");
  if (!signatures.endsWith("\n")) throw malformedNote("the note does not end with a line feed");
  const lines = [];
  for (const line of signatures.slice(0, -1).split("\n")) {
    if (lines.length === MAX_NOTE_LINES) throw new Refused("too_large", `the note has more than ${MAX_NOTE_LINES} signature lines`);
    lines.push(readLine(line));
  }
  return { text: note.slice(0, end + 1), lines };
}

function readLine(line) {
  const rest = line.startsWith(DASH) ? line.slice(DASH.length) : "", space = rest.indexOf(" ");
  const name = rest.slice(0, Math.max(space, 0)), bytes = unbase64(rest.slice(space + 1));
  if (!isKeyName(name) || !bytes || bytes.length <= 4) {
    throw malformedNote(`\`${shown(line)}\` is not a signature line: it is \`\u2014 <key name> <base64>\``);
  }
  return { name, id: hex(bytes.subarray(0, 4)), signature: bytes.slice(4) };
}

function linesOf(note, key) {
  return note.lines.filter(line => line.id === key.id && line.name === key.name);
}

async function isSignedBy(note, key) {
  const lines = key.type === NOTE_KEY ? linesOf(note, key) : [];
  for (const { signature } of lines) {
    if (await verifyStrictly(key.key, utf8(note.text), signature)) continue;
    const message = `the signature line of the log \`${key.name}\` does not verify: the checkpoint was changed, or is forged`;
    throw new Refused("log_signature_mismatch", message, { answer: "invalid" });
  }
  return lines.length > 0;
}

function malformedVkey(message) {
  return new Refused("malformed_vkey", message);
}

function malformedNote(message) {
  return new Refused("malformed_note", message);
}
return { MAX_NOTE_BYTES, MAX_NOTE_LINES, NOTE_KEY, COSIGNATURE_KEY, readVkey, isKeyName, readNote, linesOf, isSignedBy };
})();

const $checkpoint = (() => {
const { verifyStrictly } = $ed25519;
const { COSIGNATURE_KEY, isKeyName, isSignedBy, linesOf, readNote } = $note;
const { Refused } = $refused;
const { decimal, hex, shown, unbase64, utf8 } = $text;
const HASH_BYTES = 32;
const COSIGNATURE = "cosignature/v1";
const OF_NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const MAX_TIME = 2n ** 63n - 1n;



async function openCheckpoint(bytes, logs, witnesses) {
  const note = readNote(bytes);
  const signedBy = [];
  for (const key of logs) if (await isSignedBy(note, key)) signedBy.push(key);
  const [first] = signedBy;
  if (!first) throw new Refused("unsigned_by_log", "no known log has signed the checkpoint");
  const checkpoint = readCheckpoint(note.text);
  if (!signedBy.some(key => key.name === checkpoint.origin)) {
    const message = `the checkpoint is of \`${shown(checkpoint.origin)}\`, but signed by the log \`${shown(first.name)}\``;
    throw new Refused("wrong_origin", message, { answer: "invalid" });
  }
  const cosignatures = new Map();
  for (const key of witnesses) {
    const time = await cosignedAt(note, key), of = hex(key.key);
    // A witness counts once, also when a caller knows it twice.
    if (time !== null && !cosignatures.has(of)) cosignatures.set(of, { key, time });
  }
  return { checkpoint, cosignatures: [...cosignatures.values()] };
}

function readHash(text) {
  const bytes = unbase64(text);
  return bytes?.length === HASH_BYTES ? bytes : null;
}

function readCheckpoint(text) {
  const [origin, size, root, ...extensions] = text.slice(0, -1).split("\n");
  if (origin === undefined || size === undefined || root === undefined) {
    throw malformed("the checkpoint has fewer than three lines: it is an origin, a size and a root");
  }
  if (!isKeyName(origin) || origin === COSIGNATURE) {
    const faults = `it is empty, has a space or a plus sign, or is \`${COSIGNATURE}\``;
    throw malformed(`\`${shown(origin)}\` is not the origin of a log: ${faults}`);
  }
  const count = decimal(size);
  if (count === null) throw malformed(`\`${shown(size)}\` is not the size of a tree: write it in decimal, without leading zeros`);
  const hash = readHash(root);
  if (!hash) throw malformed(`the root \`${shown(root)}\` is not 32 bytes in base64`);
  if (extensions.includes("")) throw malformed("an extension line is empty");
  if (count === 0n && hex(hash) !== OF_NOTHING) throw malformed("the root of a tree of size 0 is not the hash of nothing");
  return { origin, size: count, root: hash };
}

async function cosignedAt(note, key) {
  let latest = null;
  for (const { signature } of key.type === COSIGNATURE_KEY ? linesOf(note, key) : []) {
    const time = await verifiedTime(note.text, key, signature);
    if (time === null) {
      throw new Refused("cosignature_mismatch", `the cosignature of \`${key.name}\` does not verify`, { answer: "invalid" });
    }
    if (latest === null || time > latest) latest = time;
  }
  return latest;
}

async function verifiedTime(text, key, signature) {
  if (signature.length <= 8) return null;
  const time = new DataView(signature.buffer).getBigUint64(0);
  if (time > MAX_TIME) return null;
  const message = utf8(`${COSIGNATURE}\ntime ${time}\n${text}`);
  return await verifyStrictly(key.key, message, signature.slice(8)) ? time : null;
}

function malformed(message) {
  return new Refused("malformed_checkpoint", message);
}
return { openCheckpoint, readHash };
})();

const $policy = (() => {
const { COSIGNATURE_KEY, NOTE_KEY, readVkey } = $note;
const { Refused } = $refused;
const { decimal, fromLatin1, fromUtf8, hex, latin1, lossy, shown } = $text;
const MAX_BYTES = 256 << 10;
const MAX_ITEMS = 256;
const NONE = "none";


async function readPolicy(bytes) {
  if (bytes.length > MAX_BYTES) {
    throw new Refused("too_large", `the policy has ${bytes.length} bytes: at most ${MAX_BYTES} are read`);
  }
  const reader = new Reader();
  // Names are bytes, which need not be UTF-8.
  for (const [index, line] of latin1(bytes).split(/(?<=\n)/).entries()) {
    try {
      if (!line.endsWith("\n") && line !== "") throw fault("it does not end with a line feed");
      await reader.line(line.slice(0, -1));
    } catch (error) {
      if (!(error instanceof Refused) || error.code === "cannot_check_here") throw error;
      throw new Refused(error.code, `line ${index + 1} of the policy: ${error.message}`);
    }
  }
  const { logs, witnesses, quorum } = reader;
  if (quorum === undefined) throw fault("the policy has no `quorum` line: write `quorum <name>`, or `quorum none`");
  return { logs, witnesses, quorum };
}

function isMetBy(policy, cosignatures) {
  const keys = new Set(cosignatures.map(({ key }) => hex(key.key)));
  // Every witness and group is a member of one group at most, so this looks at each once.
  const has = member =>
    "witness" in member ? keys.has(hex(member.witness.key)) : member.members.filter(has).length >= member.threshold;
  return policy.quorum === null || has(policy.quorum);
}

class Reader {
  constructor() {
    this.logs = [];
    this.witnesses = [];
    this.groups = 0;
    this.quorum = undefined;
    this.names = new Map();
    this.grouped = new Set();
  }

  async line(line) {
    if (/[\u0000-\u0008\u000a-\u001f\u007f]/.test(line)) throw fault("it has a control character other than tabs");
    const [keyword, ...words] = line.split(/[ \t]+/).filter(word => word !== "");
    if (keyword === undefined || keyword.startsWith("#")) return;
    const [first, second, ...more] = words;
    if (keyword === "log" && first !== undefined && words.length <= 2) return this.log(first);
    if (second !== undefined && first !== undefined) {
      if (keyword === "witness" && words.length <= 3) return this.witness(first, second);
      if (keyword === "group") return this.group(first, second, more);
    }
    if (keyword === "quorum" && first !== undefined && words.length === 1) return this.setQuorum(first);
    const isKnown = ["log", "witness", "group", "quorum"].includes(keyword);
    throw fault(`\`${quoted(keyword)}\` ${isKnown ? "has another number of words" : "is not `log`, `witness`, `group` or `quorum`"}`);
  }

  async log(vkey) {
    const key = await readKey(vkey, NOTE_KEY);
    if (this.logs.some(other => hex(other.key) === hex(key.key))) throw twice(key);
    checkCount(this.logs.length);
    this.logs.push(key);
  }

  async witness(name, vkey) {
    const key = await readKey(vkey, COSIGNATURE_KEY);
    if (this.witnesses.some(other => hex(other.key) === hex(key.key))) throw twice(key);
    checkCount(this.witnesses.length);
    this.witnesses.push(key);
    this.define(name, { witness: key });
  }

  group(name, word, names) {
    const members = names.map(name => {
      const member = this.named(name);
      // So each witness counts in one way only.
      if (this.grouped.has(member)) throw fault(`\`${quoted(name)}\` is a member of a group before`);
      this.grouped.add(member);
      return member;
    });
    const threshold = word === "all" ? members.length : word === "any" ? 1 : Number(decimal(word) ?? 0n);
    if (threshold < 1 || threshold > members.length) {
      throw fault("a group is `group <name> all|any|<k> <name>…`, with `k` from 1 to the number of members");
    }
    checkCount(this.groups++);
    this.define(name, { threshold, members });
  }

  setQuorum(name) {
    const quorum = name === NONE ? null : this.named(name);
    if (this.quorum !== undefined) throw fault("a second `quorum`");
    this.quorum = quorum;
  }

  define(name, member) {
    if (name === NONE) throw fault("the name `none` has a meaning of its own");
    if (this.names.has(name)) throw fault(`the name \`${quoted(name)}\` is defined on a line before`);
    this.names.set(name, member);
  }

  named(name) {
    const member = this.names.get(name);
    if (!member) throw fault(`\`${quoted(name)}\` is not defined on a line before`);
    return member;
  }
}

async function readKey(word, type) {
  const text = fromUtf8(fromLatin1(word));
  if (text === null) throw fault("the verifier key is not UTF-8");
  const key = await readVkey(text).catch(error => {
    throw error instanceof Refused && error.code === "malformed_vkey" ? fault(error.message) : error;
  });
  if (key.type === type) return key;
  throw fault(type === NOTE_KEY ? "the key of a log is of type 1, and this one is of type 4"
    : "the key of a witness is of type 4, and this one is of type 1");
}

function checkCount(count) {
  if (count >= MAX_ITEMS) throw new Refused("too_large", `more than ${MAX_ITEMS} of a kind`);
}

function twice(key) {
  return fault(`the key of \`${shown(key.name)}\` stands on a line before`);
}

function fault(message) {
  return new Refused("malformed_policy", message);
}

function quoted(word) {
  return shown(lossy(fromLatin1(word)));
}
return { readPolicy, isMetBy };
})();

const $proof = (() => {
const { canonical } = $canonical;
const { openCheckpoint, readHash } = $checkpoint;
const { digest } = $ed25519;
const { parse } = $json;
const { Members } = $members;
const { MAX_NOTE_BYTES, readVkey } = $note;
const { isMetBy, readPolicy } = $policy;
const { Refused } = $refused;
const { copied, decimal, hex, latin1, lossy, received, shown, unbase64, unhex, utf8 } = $text;
const HEADER = "c2sp.org/tlog-proof@v1";
const MAX_HASHES = 63;
const MAX_EXTRA_BYTES = 1 << 20;
const MAX_FILE_BYTES = Math.ceil(MAX_EXTRA_BYTES / 3) * 4 + MAX_HASHES * 45 + 128 + MAX_NOTE_BYTES;
const COSE_SIGN1 = 0xd2;
const LEAF = 0, NODE = 1;



async function verifyProof(file, entry, { logKeys = [], policy } = {}) {
  const found = {
    answer: "valid", code: null, reason: null, log: "unknown", witnessed: "unknown",
    index: null, size: null, origin: null, cosignatures: [], document: null,
  };
  // All bytes are copied before anything is awaited.
  const bytes = received(file), document = typeof entry === "string" ? entry : copied(entry);
  const trusted = { logs: [...logKeys], policy: policy === undefined ? undefined : received(policy) };
  try {
    const keys = await readTrusted(trusted);
    const due = await entryOf(document);
    await lookInto(found, readProofFile(bytes), due, keys);
    if (found.witnessed === "not_met") {
      found.code = "quorum_not_met";
      found.reason = "too few witnesses of the policy have cosigned the checkpoint";
    }
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    // This is judged after the log's signature.
    if (error.code === "cosignature_mismatch") found.log = "trusted";
    [found.answer, found.code, found.reason] = [error.answer, error.code, error.message];
  }
  return found;
}

async function lookInto(found, proof, entry, { logs, policy }) {
  found.index = proof.index;
  const opened = await openCheckpoint(proof.checkpoint, [...logs, ...policy?.logs ?? []], policy?.witnesses ?? []);
  const { origin, size, root } = opened.checkpoint;
  found.log = "trusted";
  found.cosignatures = opened.cosignatures.map(({ key, time }) => ({ witness: key.name, time }));
  if (policy) found.witnessed = isMetBy(policy, opened.cosignatures) ? "met" : "not_met";
  [found.origin, found.size] = [origin, size];
  await checkInclusion(await hashed(LEAF, entry), proof.index, size, proof.path, root);
  // It is in canonical form, so an entry is the digest of its bytes; other spellings of a document are not taken.
  if (proof.extra && hex(await digest(proof.extra)) === hex(entry)) found.document = proof.extra;
}

async function readTrusted({ logs, policy }) {
  if (policy === null) throw new RangeError("`policy` has half of a surrogate pair");
  const option = (name, read) => read.catch(error => {
    if (!(error instanceof Refused) || error.code === "cannot_check_here") throw error;
    // A key that is left out would make a refusal of what somebody wanted to trust.
    throw new RangeError(`\`${name}\`: ${error.message}`);
  });
  return {
    logs: await option("logKeys", Promise.all(logs.map(readVkey))),
    policy: policy ? await option("policy", readPolicy(policy)) : null,
  };
}

async function entryOf(document) {
  const digits = typeof document === "string" ? unhex(document.startsWith("sha256:") ? document.slice(7) : document, 32) : null;
  if (digits) return digits;
  const bytes = received(document);
  if (bytes?.[0] === COSE_SIGN1) return digest(bytes);
  return digest(utf8(canonical(Members.top(parse(document)).members)));
}


function readProofFile(bytes) {
  if (!bytes) throw malformed("the proof file has half of a surrogate pair");
  if (bytes.length > MAX_FILE_BYTES) {
    throw new Refused("too_large", `the proof file has ${bytes.length} bytes: at most ${MAX_FILE_BYTES} are read`);
  }
  let at = 0;
  const nextLine = () => {
    const end = bytes.indexOf(0x0a, at);
    if (end < 0) throw malformed("the proof file ends before its checkpoint");
    const line = bytes.subarray(at, end);
    at = end + 1;
    return line;
  };
  if (latin1(nextLine()) !== HEADER) throw malformed(`the proof file does not begin with the line \`${HEADER}\``);
  let line = nextLine(), extra = null;
  const encoded = after("extra ", line);
  if (encoded !== null) {
    extra = unbase64(encoded);
    if (!extra || extra.length > MAX_EXTRA_BYTES) {
      throw malformed(`the extra data of the proof file is not 1 to ${MAX_EXTRA_BYTES} bytes in base64`);
    }
    line = nextLine();
  }
  const index = decimal(after("index ", line) ?? "");
  if (index === null) throw malformed(`\`${quoted(line)}\` is not the line \`index <decimal>\` of a proof file`);
  const path = [];
  for (line = nextLine(); line.length > 0; line = nextLine()) {
    if (path.length === MAX_HASHES) throw malformed(`the path of the proof file has more than ${MAX_HASHES} hashes`);
    const hash = readHash(latin1(line));
    if (!hash) throw malformed(`\`${quoted(line)}\` is not a hash of the path in base64, nor the empty line behind the path`);
    path.push(hash);
  }
  return { extra, index, path, checkpoint: bytes.slice(at) };
}

function after(prefix, line) {
  const text = latin1(line);
  return text.startsWith(prefix) ? text.slice(prefix.length) : null;
}

function quoted(line) {
  // What is shown is cut after 64 characters, so no more need be decoded.
  return shown(lossy(line.subarray(0, 512)));
}

async function checkInclusion(leaf, index, size, path, root) {
  if (index >= size) throw notIncluded(`a tree of ${size} entries has no entry ${index}`);
  const wrongLength = `the proof has ${path.length} hashes, which is not the number that it needs`;
  let [node, last, hash] = [index, size - 1n, leaf];
  for (const sibling of path) {
    if (last === 0n) throw notIncluded(wrongLength);
    if (node % 2n === 1n || node === last) {
      hash = await hashed(NODE, sibling, hash);
      while (node % 2n === 0n && node !== 0n) [node, last] = [node >> 1n, last >> 1n];
    } else {
      hash = await hashed(NODE, hash, sibling);
    }
    [node, last] = [node >> 1n, last >> 1n];
  }
  if (last !== 0n) throw notIncluded(wrongLength);
  if (hex(hash) !== hex(root)) throw notIncluded("the hashes of the proof do not lead to the root");
}

function hashed(first, ...parts) {
  return digest(Uint8Array.of(first, ...parts.flatMap(part => [...part])));
}

function notIncluded(message) {
  return new Refused("inclusion_mismatch", `the entry is not proven to be at this index: ${message}`, { answer: "invalid" });
}

function malformed(message) {
  return new Refused("malformed_proof", message);
}
return { verifyProof, readProofFile };
})();

export const { PROFILES, canonical, toText } = $canonical;
export const { splitDocuments, verifyChain } = $chain;
export const { hashFile, placesOf } = $file;
export const { MAX_BYTES, MAX_DEPTH, MAX_VALUES, parse } = $json;
export const { JsonNumber } = $number;
export const { verifyProof } = $proof;
export const { Refused } = $refused;
export const { fingerprint, readSigners } = $signer;
export const { verify, verifyHead } = $verify;
