/** Arguments as JSON: the text that is decided on, and the values that a function gets. Both are made from one reading. */

/** The largest arguments, in bytes of JSON. */
const MAX_BYTES = 1_000_000;
/** How many arrays and objects may be inside each other: a request has 64 levels, and some are around the arguments. */
const MAX_DEPTH = 60;
/** The most values, each member and item counted. */
const MAX_VALUES = 100_000;
/** The longest part of a place that messages show, in characters. */
const MAX_PLACE = 200;

/** @typedef {null | boolean | number | string | readonly JsonValue[] | { readonly [name: string]: JsonValue }} JsonValue */

/**
 * A value that was read once.
 *
 * @typedef {object} Snapshot
 * @property {string} text its JSON
 * @property {JsonValue} value what the text says, frozen to its depths
 */

/**
 * Reads a value as JSON. Values that JSON would change or leave out silently are refused: a decision on it would be about
 * something else than what a function gets. Only members that are `undefined` are left out, as `JSON.stringify` does.
 *
 * @param {unknown} value
 * @param {string} [name] what the value is called in messages
 * @returns {Snapshot}
 * @throws {TypeError} which names the place
 */
export function snapshot(value, name = "args") {
  const writer = new Writer();
  const text = writer.write(value, name);
  return { text, value: frozen(JSON.parse(text)) };
}

class Writer {
  /** What the value is within, to find cycles. @type {Set<object>} */
  #around = new Set();
  #values = 0;
  #length = 0;

  /** @param {unknown} value @param {string} place @returns {string} */
  write(value, place) {
    if (++this.#values > MAX_VALUES) throw refused(place, `is past the ${MAX_VALUES} values that are read`);
    const text = typeof value === "object" && value !== null ? this.#object(value, place) : scalar(value, place);
    if (typeof value !== "object") this.#count(text, place);
    return text;
  }

  /** @param {object} value @param {string} place */
  #object(value, place) {
    if (this.#around.has(value)) throw refused(place, "is inside itself");
    if (this.#around.size >= MAX_DEPTH) throw refused(place, `is more than ${MAX_DEPTH} levels deep`);
    this.#around.add(value);
    const text = Array.isArray(value) ? this.#items(value, place) : this.#members(value, place);
    this.#around.delete(value);
    return text;
  }

  /** @param {readonly unknown[]} items @param {string} place */
  #items(items, place) {
    // The prototype of arrays is an array itself, in every realm; that of a class is not.
    if (!Array.isArray(Object.getPrototypeOf(items))) throw refused(place, "is of a class");
    const properties = ownValues(items, place);
    const length = properties.get("length");
    properties.delete("length");
    if (typeof length !== "number" || length !== properties.size) throw refused(place, "has holes, or members beside its items");
    const texts = Array.from(properties, ([key, item], index) => {
      if (key !== String(index)) throw refused(place, "has holes, or members beside its items");
      return this.write(item, `${place}[${index}]`);
    });
    return `[${texts.join(",")}]`;
  }

  /** @param {object} object @param {string} place */
  #members(object, place) {
    const prototype = Object.getPrototypeOf(object);
    // A plain object of another realm, as of a test runner, has a prototype of its own which has none.
    const isPlain = prototype === null || prototype === Object.prototype || isForeignPlain(prototype);
    if (!isPlain) throw refused(place, "is of a class");
    const texts = [];
    for (const [name, item] of ownValues(object, place)) {
      if (item === undefined) continue;
      const inside = /^[A-Za-z_$][\w$]*$/.test(name) ? `${place}.${name}` : `${place}[${JSON.stringify(name)}]`;
      const key = scalar(name, `the name ${inside}`);
      this.#count(key, inside);
      texts.push(`${key}:${this.write(item, inside)}`);
    }
    return `{${texts.join(",")}}`;
  }

  /** @param {string} text @param {string} place */
  #count(text, place) {
    this.#length += Buffer.byteLength(text) + 1;
    if (this.#length > MAX_BYTES) throw refused(place, `is past the ${MAX_BYTES} bytes that are read`);
  }
}

/**
 * The values of an object's own properties, each read once and without running code of the object.
 *
 * @param {object} object @param {string} place
 */
function ownValues(object, place) {
  /** @type {Map<string, unknown>} */
  const values = new Map();
  for (const key of Reflect.ownKeys(object)) {
    if (typeof key === "symbol") throw refused(place, `has the member \`${String(key)}\`, which JSON does not have`);
    const property = Reflect.getOwnPropertyDescriptor(object, key);
    if (property === undefined || !("value" in property)) throw refused(place, `computes its member \`${key}\``);
    if (!property.enumerable && !Array.isArray(object)) throw refused(place, `hides its member \`${key}\``);
    values.set(key, property.value);
  }
  return values;
}

/** @param {object} prototype */
function isForeignPlain(prototype) {
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, "hasOwnProperty")
    && Object.hasOwn(prototype, "isPrototypeOf") && !Object.hasOwn(prototype, "toJSON");
}

/** @param {unknown} value @param {string} place */
function scalar(value, place) {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") {
    if (value.length > MAX_BYTES) throw refused(place, `is longer than the ${MAX_BYTES} bytes that are read`);
    if (!isWellFormed(value)) throw refused(place, "has half of a surrogate pair");
    return JSON.stringify(value);
  }
  if (typeof value !== "number") throw refused(place, `is ${value === undefined ? "undefined" : `a ${typeof value}`}`);
  if (!Number.isFinite(value)) throw refused(place, `is ${value}`);
  if (Object.is(value, -0)) throw refused(place, "is -0");
  return String(value);
}

/** @param {string} text */
function isWellFormed(text) {
  return !/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(text);
}

/** @param {string} place @param {string} why */
function refused(place, why) {
  const shown = place.length > MAX_PLACE ? `${place.slice(0, MAX_PLACE)}…` : place;
  return new TypeError(`\`${shown}\` ${why}: pass plain JSON`);
}

/** @param {any} value @returns {JsonValue} */
function frozen(value) {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}
