/** The program `proofmark`: the one of the platform's package, which is installed with this one, or the one on the path. */

import { accessSync, constants, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, isAbsolute, join } from "node:path";

/** The processors with a package. */
const PROCESSORS = ["x64", "arm64"];
const require = createRequire(import.meta.url);

/** The version of this package. @type {string} */
export const VERSION = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version;

/**
 * The program in the package of this platform.
 *
 * @returns {string}
 * @throws {Error} which says what is missing, and what to do
 */
export function platformBinary() {
  const { platform, arch } = process;
  const name = `@proofmark/cli-${platform}-${arch}`;
  if (platform !== "linux" || !PROCESSORS.includes(arch)) {
    throw new Error(`there is no package \`${name}\`: \`proofmark\` runs on Linux (x64 or arm64). A \`Client\` works here, with a server elsewhere`);
  }
  let description;
  try {
    description = require.resolve(`${name}/package.json`);
  } catch {
    const where = isGlibc() ? "install without `--omit=optional` or `--no-optional`" : "it needs glibc, which this system does not have";
    throw new Error(`the package \`${name}\` ${VERSION} is not installed: ${where}`);
  }
  const found = require(description).version;
  if (found !== VERSION) throw new Error(`\`${name}\` is ${found}, and \`proofmark\` is ${VERSION}: install both in one version`);
  return join(description, "..", "bin", "proofmark");
}

/**
 * The program that `Local` runs.
 *
 * @returns {string}
 * @throws {Error} where there is none
 */
export function localBinary() {
  try {
    return platformBinary();
  } catch (error) {
    const onPath = (process.env.PATH ?? "").split(delimiter).filter(isAbsolute).map(folder => join(folder, "proofmark")).find(isProgram);
    if (onPath === undefined) throw error;
    return onPath;
  }
}

/** @param {string} file */
function isProgram(file) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function isGlibc() {
  const report = /** @type {any} */ (process.report.getReport());
  return report.header.glibcVersionRuntime !== undefined;
}
