/** Which part of a document a file is. */

import { sha256 } from "./ed25519.js";

/** @typedef {import("./json.js").Json} Json */

/**
 * The digest of a file, as receipts name it.
 *
 * @param {Blob | BufferSource} file
 * @returns {Promise<string>} `sha256:` and 64 lower-case hex digits
 * @throws {Error} with the `code` `cannot_check_here` where there is no WebCrypto
 */
export async function hashFile(file) {
  return sha256(file instanceof Blob ? await file.arrayBuffer() : file);
}

/**
 * The places of a document that name this digest, as in `hashes.output`. What they prove is what the document's signature
 * proves: verify it as well.
 *
 * @param {Json} document
 * @param {string} digest
 * @returns {string[]} in document order; empty when the document is not about the file
 */
export function placesOf(document, digest) {
  /** @type {string[]} */
  const places = [];
  /** @param {Json} value @param {string} path */
  const look = (value, path) => {
    if (value === digest) places.push(path);
    else if (Array.isArray(value)) value.forEach((item, index) => look(item, `${path}[${index}]`));
    else if (value instanceof Map) value.forEach((item, name) => look(item, path === "" ? name : `${path}.${name}`));
  };
  look(document, "");
  return places;
}
