#!/usr/bin/env node
/** Runs the program `proofmark` of this platform's package, with the same streams, signals and exit code. */

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { constants } from "node:os";

import { platformBinary } from "../src/binary.js";

/** The exit code without a result. */
const NO_RESULT = 2;

/** @param {string} message @returns {never} */
function fail(message) {
  process.stderr.write(`error: ${message}\n`);
  process.exit(NO_RESULT);
}

/** Whether a terminal sends its Ctrl-C to this process, and so to the program that it runs, too. */
function isInForeground() {
  try {
    // After the name, which may hold anything: state, parent, group, session, terminal and the group in its foreground.
    const stat = readFileSync("/proc/self/stat", "utf8");
    const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return group === foreground;
  } catch {
    return false;
  }
}

let binary = "";
try {
  binary = platformBinary();
} catch (error) {
  fail(error instanceof Error ? error.message : String(error));
}

let interrupts = 0;
const signals = /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]);
// Before the program starts: a signal that ended this process afterwards would leave the program without it.
for (const signal of signals) {
  process.on(signal, () => {
    // The program ends at once on a second interrupt, so the terminal's first one must not reach it twice.
    if (signal === "SIGINT" && ++interrupts === 1 && isInForeground()) return;
    child.kill(signal);
  });
}
const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
child.on("error", error => fail(`failed to run \`${binary}\`: ${error.message}`));
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code ?? NO_RESULT);
  for (const one of signals) process.removeAllListeners(one);
  process.kill(process.pid, signal);
  // For a signal that does not end this process.
  setTimeout(() => process.exit(128 + constants.signals[signal]), 1_000);
});
