/**
 * Writes what browsers load, each in one file: `verify.js`, the verifier as a module, and `check.html`, the page with its
 * style, its script and the verifier, which works from disk. `--check` only says whether they are up to date.
 */

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const PACKAGE = dirname(HERE);
const IMPORT = /^(?:import|export) \{([^}]*)\} from "([^"]+)";\n/gm;
const EXPORT = /^export (?=(?:async )?(?:function|class|const) (\w+))/gm;
/** Types and descriptions are for those who change the source. */
const DOCUMENTATION = /^ *\/\*\*[\s\S]*?\*\/\n/gm;

/**
 * The module at `path` and those that it needs, these first, as functions that return what they export.
 *
 * @param {string} path
 * @param {Map<string, string>} [done]
 */
function bundled(path, done = new Map()) {
  if (done.has(path)) return done;
  const source = readFileSync(path, "utf8");
  const imports = importsOf(path, source);
  imports.forEach(({ from }) => bundled(from, done));
  const exported = [...source.matchAll(EXPORT)].map(([, name]) => name);
  const body = source.replace(IMPORT, "").replace(EXPORT, "").replace(DOCUMENTATION, "");
  const left = /^(?:import|export)\b.*$/m.exec(body);
  if (left) throw new Error(`${path}: the bundle does not know \`${left[0]}\``);
  const needed = imports.map(({ names, from }) => `const { ${names} } = ${variable(from)};\n`);
  done.set(path, `const ${variable(path)} = (() => {\n${needed.join("")}${body.trim()}\nreturn { ${exported.join(", ")} };\n})();\n`);
  return done;
}

/** @param {string} path @param {string} source */
function importsOf(path, source) {
  return [...source.matchAll(IMPORT)].map(([, names = "", from = ""]) => ({ names: names.trim(), from: resolve(dirname(path), from) }));
}

/** @param {string} path */
function variable(path) {
  return `$${basename(path, ".js")}`;
}

function verifier() {
  const index = join(PACKAGE, "src/index.js"), done = new Map();
  const exported = importsOf(index, readFileSync(index, "utf8"));
  exported.forEach(({ from }) => bundled(from, done));
  const lines = exported.map(({ names, from }) => `export const { ${names} } = ${variable(from)};`);
  return `// Made of src/ by \`npm run page\`.\n\n${[...done.values()].join("\n")}\n${lines.join("\n")}\n`;
}

function page() {
  const script = `\n"use strict";\n${[...bundled(join(HERE, "main.js")).values()].join("\n")}`;
  const style = `\n${readFileSync(join(HERE, "check.css"), "utf8")}`;
  if (/<\/(?:script|style)|<!--/i.test(script + style)) throw new Error("the script or the style would end too early");
  const policy = [
    "default-src 'none'", `script-src ${hash(script)}`, `style-src ${hash(style)}`, "img-src data:", "base-uri 'none'", "form-action 'none'",
    "require-trusted-types-for 'script'", "trusted-types 'none'",
  ].join("; ");
  const parts = new Map(Object.entries({ policy, style, script }));
  return readFileSync(join(HERE, "check.html"), "utf8").replace(/\{\{(\w+)\}\}/g, (_, name) => parts.get(name) ?? "");
}

/** @param {string} text */
function hash(text) {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

for (const [name, made] of /** @type {const} */ ([["verify.js", verifier()], ["check.html", page()]])) {
  const path = join(PACKAGE, name);
  if (!process.argv.includes("--check")) writeFileSync(path, made);
  else if (readFileSync(path, "utf8") !== made) {
    console.error(`${name} is not up to date: run \`npm run page\` in clients/js`);
    process.exitCode = 1;
  }
}
