/** Where the data of the tests is. */

import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const PACKAGE = dirname(dirname(fileURLToPath(import.meta.url)));
const VECTORS = join(PACKAGE, "../../vectors");

/** Each file of vectors, and what is in it. */
export function allVectors() {
  const files = readdirSync(VECTORS).filter(name => name.endsWith(".json"));
  return files.map(name => [name, readJson(join(VECTORS, name))]);
}

/** Data of other projects; undefined where this machine has none. */
export function conformance(...path) {
  const folder = process.env.PROOFMARK_CONFORMANCE ?? join(PACKAGE, "../../../shared/conformance");
  try {
    return path.at(-1).endsWith(".json") ? readJson(join(folder, ...path)) : folderOf(join(folder, ...path));
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** The three collections of signatures. */
export function signatureData() {
  const [wycheproof, cctv, speccheck] =
    ["wycheproof.json", "cctv.json", "speccheck.json"].map(name => conformance("ed25519", name));
  return wycheproof && { wycheproof, cctv, speccheck };
}

function folderOf(path) {
  return readdirSync(path).map(name => [name, readFileSync(join(path, name))]);
}

function readJson(path) {
  return JSON.parse(readFileSync(path, "utf8"));
}
