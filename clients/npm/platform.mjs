#!/usr/bin/env node
/** Writes the package of one platform, which holds the program `proofmark` alone, ready for `npm pack`. */

import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const USAGE = "usage: node platform.mjs BINARY x64|arm64 VERSION FOLDER";
const LICENCES = ["LICENSE-APACHE", "LICENSE-MIT"];
/** The place of the processor in an ELF file, and the values of the supported ones (elf(5), `e_machine`). */
const MACHINE_AT = 18, MACHINES = { x64: 0x3e, arm64: 0xb7 };

/** @param {string} message @returns {never} */
function fail(message) {
  process.stderr.write(`error: ${message}\n`);
  process.exit(2);
}

/** Refuses a file that is not a program for this processor. @param {string} binary @param {keyof typeof MACHINES} processor */
function checkBinary(binary, processor) {
  const head = readFileSync(binary).subarray(0, 20);
  if (head.length < 20 || head.toString("latin1", 0, 4) !== "\x7fELF") fail(`\`${binary}\` is not a program for Linux`);
  if (head.readUInt16LE(MACHINE_AT) !== MACHINES[processor]) fail(`\`${binary}\` is not a program for ${processor}`);
}

const [binary, processor, version, folder] = process.argv.slice(2);
if (folder === undefined || process.argv.length !== 6) fail(USAGE);
if (processor !== "x64" && processor !== "arm64") fail(`invalid processor \`${processor}\`; ${USAGE}`);
if (!/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/.test(version)) fail(`invalid version \`${version}\`: write it as in 1.2.3`);
if (!existsSync(binary)) fail(`there is no \`${binary}\``);
if (existsSync(folder)) fail(`\`${folder}\` exists: name a folder to make`);
checkBinary(binary, processor);

const name = `@proofmark/cli-linux-${processor}`;
const description = {
  name,
  version,
  description: `The program of the package proofmark, for Linux on ${processor}`,
  license: "Apache-2.0 OR MIT",
  os: ["linux"],
  cpu: [processor],
  libc: ["glibc"],
  files: ["bin", ...LICENCES],
};
mkdirSync(join(folder, "bin"), { recursive: true });
writeFileSync(join(folder, "package.json"), `${JSON.stringify(description, null, 2)}\n`);
writeFileSync(join(folder, "README.md"), `# ${name}

The program \`proofmark\` for Linux with glibc on ${processor}. Install [proofmark](https://www.npmjs.com/package/proofmark), which
brings it: this package has no command of its own.
`);
for (const licence of LICENCES) copyFileSync(new URL(licence, import.meta.url), join(folder, licence));
const program = join(folder, "bin", "proofmark");
copyFileSync(binary, program);
chmodSync(program, 0o755);
