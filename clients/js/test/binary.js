/** What `proofmark receipt verify` says of documents and chains. */

import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The binary to compare with; undefined where none is named. */
export const BINARY = process.env.PROOFMARK_BINARY;
/** The files of one call: a command line has a largest size. */
const FILES = 400;

/**
 * A folder with the documents, each a file of its number.
 */
export function written(documents) {
  const folder = mkdtempSync(join(tmpdir(), "proofmark-js-"));
  documents.forEach((bytes, number) => writeFileSync(join(folder, `${number}`), bytes));
  return { folder, remove: () => rmSync(folder, { recursive: true }) };
}

/** Each line that is printed for these files, without the name of the file. */
export function verified(folder, count, { profile = "vrf", trusted }) {
  const said = new Map();
  for (let from = 0; from < count; from += FILES) {
    const names = Array.from({ length: Math.min(FILES, count - from) }, (_, index) => `./${from + index}`);
    for (const { source, ...line } of lines(folder, [...names, "--profile", profile, "--trust", trusted])) said.set(source, line);
  }
  return said;
}

/** What is printed with these arguments, as objects. */
export function lines(folder, more) {
  const done = spawnSync(BINARY, ["receipt", "verify", "--json", ...more], {
    cwd: folder, env: { ...process.env, PROOFMARK_HOME: join(folder, "home") }, maxBuffer: 1 << 28,
  });
  if (done.error || ![0, 1, 2].includes(done.status)) throw done.error ?? new Error(String(done.stderr));
  const text = done.stdout.toString();
  if (text === "") throw new Error(String(done.stderr));
  return text.trimEnd().split("\n").map(line => JSON.parse(line));
}

/** The version of the binary, for the record of a failure. */
export function version() {
  return execFileSync(BINARY, ["--version"]).toString().trim();
}
