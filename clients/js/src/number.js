/** Numbers as tokens: what a document says, not what a parser makes of it. */

import { Refused } from "./refused.js";
import { shown } from "./text.js";

/** @typedef {"vrf" | "jcs" | "py-utf8" | "py-ascii"} Profile a canonical form */

const MAX_COUNT = 2n ** 64n - 1n;
/** Python refuses to read longer integers (`sys.get_int_max_str_digits`). */
const MAX_INTEGER_DIGITS = 4300;
/** No double has an exponent near this one. */
const FAR = 1e12;

/** A JSON number as the text it was written with: `1.50`, `1.5` and `15e-1` stay three different tokens. */
export class JsonNumber {
  /** @param {string} text must follow the grammar of RFC 8259 */
  constructor(text) {
    this.text = text;
    Object.freeze(this);
  }

  /** Whether it has neither a fraction nor an exponent. */
  get isInteger() {
    return !/[.eE]/.test(this.text);
  }

  /**
   * Whether every reader of JSON keeps it: an integer within ±(2^53−1), and not `-0`.
   */
  get isSafe() {
    return this.isInteger && this.text !== "-0" && this.text.length <= 17 && Number.isSafeInteger(Number(this.text));
  }

  /**
   * The value of an integer from 0 to 2^64−1; null for others.
   *
   * @returns {bigint | null}
   */
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

/**
 * What a profile writes for a number.
 *
 * @param {JsonNumber} number @param {Profile} profile
 */
export function numberText(number, profile) {
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

/**
 * Refuses a number whose canonical form has another value, or one that not every reader keeps.
 *
 * @param {JsonNumber} number @param {Profile} profile
 */
export function checkExact(number, profile) {
  if (number.isSafe) return;
  if (profile !== "vrf" && decimal(numberText(number, profile)) === decimal(number.text)) return;
  const message = `profile \`${profile}\` does not keep the number \`${shown(number.text)}\` exactly`;
  throw new Refused("number_not_exact", message, ADVICE);
}

/**
 * The value of a number: its sign, its digits without zeros at either end, and the power of ten of the last digit.
 *
 * @param {string} token
 */
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

/** @param {string} digits */
function withoutZerosAtEnd(digits) {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === "0") end--;
  return digits.slice(0, end);
}

/**
 * Python's `float.__repr__`: the shortest digits that read back as the same double, with an exponent when it is below -4
 * or at least 16.
 *
 * @param {number} value
 */
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
