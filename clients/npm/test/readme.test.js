/** The examples of the README, from an empty folder. */

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { BINARY, folder, read, served } from "./support.js";

const PACKAGE = dirname(fileURLToPath(import.meta.resolve("proofmark/package.json")));
const README = read(join(PACKAGE, "README.md"));
const MODULES = process.env.PROOFMARK_NODE_MODULES;
const COMPILER = MODULES && join(MODULES, "typescript/bin/tsc");
const OPTIONS = ["--strict", "--target", "es2023", "--module", "nodenext"];

/** The blocks of the README with this word, by the file that they name. */
function blocks(word) {
  const found = README.matchAll(new RegExp(`^\`\`\`\\w+ ${word}=(\\S+)\n(.*?)^\`\`\`$`, "gms"));
  return Object.fromEntries(Array.from(found, ([, name, text]) => [name, text]));
}

/** A pattern for a text with `…`. */
function pattern(text) {
  return new RegExp(`^${text.split("…").map(part => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join(".*")}$`);
}

const place = folder(), bin = join(place, "bin"), files = blocks("file"), outputs = blocks("output");
mkdirSync(join(place, "node_modules"));
mkdirSync(bin);
symlinkSync(PACKAGE, join(place, "node_modules/proofmark"));
symlinkSync(BINARY, join(bin, "proofmark"));
writeFileSync(join(place, "package.json"), '{"type": "module"}');
for (const [name, text] of Object.entries(files)) writeFileSync(join(place, name), text);

/** Runs a file; what it prints has to be what the README says. */
async function runs(name, file, env) {
  const child = spawn(process.execPath, [file], {
    cwd: place, stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, PROOFMARK_HOME: place, PATH: `${bin}:${process.env.PATH}`, ...env },
  });
  let said = "";
  child.stdout.on("data", chunk => { said += chunk; });
  assert.equal(await new Promise(resolve => child.once("close", resolve)), 0, said);
  assert.match(said, pattern(outputs[name]));
}

test("no link leads to a file, which npm does not show", () => {
  for (const page of [README, read(join(PACKAGE, "ADAPTERS.md"))]) {
    const targets = Array.from(page.matchAll(/\]\(([^)]*)\)/g), ([, target]) => target);
    assert.deepEqual(targets.filter(target => !/^(#|https:)/.test(target)), []);
  }
});

test("the first function", { skip: !(COMPILER && existsSync(COMPILER)) && "PROOFMARK_NODE_MODULES names no TypeScript" }, async () => {
  assert.ok(files["refund.ts"].trimEnd().split("\n").length <= 10);
  const done = spawnSync(process.execPath, [COMPILER, ...OPTIONS, "refund.ts"], { cwd: place });
  assert.equal(done.status, 0, String(done.stdout));
  await runs("refund.ts", "refund.js");
});

test("the function with a server", async () => {
  const { baseUrl } = await served(folder(), ["--policy", join(place, "policy.yaml")]);
  await runs("server.js", "server.js", { PROOFMARK_URL: baseUrl });
});
