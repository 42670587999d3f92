/** The examples, from an empty folder. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { BINARY, folder } from "../support.js";
import { AI, CLAUDE, HOSTS, MASTRA, OPENAI } from "./hosts.js";
import { MODULES, missing } from "./modules.js";

const PACKAGE = dirname(fileURLToPath(import.meta.resolve("proofmark/package.json")));
const REFUNDS = /^(PreToolUse:mcp__shop__refund hook error: )?`(mcp__shop__)?refund` was not executed\. .+\(decision [\da-f-]+\)\nrefunded 20$/;
const VERIFIED = /^partial: 1 of 2 checks passed .+; basic: fail; empty: pass\npass: 2 of 2 checks passed .+; basic: pass; empty: pass$/;

/** Each example, why it is left out, and the lines that it prints, sorted. */
const EXAMPLES = {
  "ai.mjs": [AI, REFUNDS],
  "claude-agent-sdk.mjs": [HOSTS["@anthropic-ai/claude-agent-sdk"][1], REFUNDS],
  "mastra.mjs": [MASTRA, REFUNDS],
  "openai-agents.mjs": [OPENAI, REFUNDS],
  "promptfoo.mjs": [missing("promptfoo"), VERIFIED],
};

/** A folder with the examples, this package and what they need. */
function prepared() {
  const place = folder(), modules = join(place, "node_modules");
  cpSync(join(PACKAGE, "examples"), place, { recursive: true });
  mkdirSync(modules);
  for (const name of readdirSync(MODULES)) if (!name.startsWith(".") && name !== "proofmark") symlinkSync(join(MODULES, name), join(modules, name));
  symlinkSync(PACKAGE, join(modules, "proofmark"));
  mkdirSync(join(place, "bin"));
  symlinkSync(BINARY, join(place, "bin/proofmark"));
  return place;
}

for (const [name, [skip, expected]] of Object.entries(EXAMPLES)) {
  test(name, { skip }, async () => {
    const place = prepared();
    const env = {
      ...process.env, HOME: place, PROOFMARK_HOME: place, PATH: `${join(place, "bin")}:${process.env.PATH}`, CLAUDE: join(MODULES, CLAUDE, "claude"),
      PROMPTFOO_CONFIG_DIR: place, PROMPTFOO_DISABLE_TELEMETRY: "1", PROMPTFOO_DISABLE_UPDATE: "1", LOG_LEVEL: "none",
    };
    const child = spawn(process.execPath, [name], { cwd: place, env, stdio: ["ignore", "pipe", "pipe"] });
    let said = "", complained = "";
    child.stdout.on("data", chunk => { said += chunk; });
    child.stderr.on("data", chunk => { complained += chunk; });
    assert.equal(await new Promise(resolve => child.once("close", resolve)), 0, complained);
    // Hosts run calls side by side.
    assert.match(said.trimEnd().split("\n").sort().join("\n"), expected);
  });
}

test("every example is tested", () => {
  assert.deepEqual(readdirSync(join(PACKAGE, "examples")).filter(name => name.endsWith(".mjs")).sort(), Object.keys(EXAMPLES));
});
