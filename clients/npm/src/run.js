/** Runs the program `proofmark` with bounds. */

import { spawn } from "node:child_process";
import { setMaxListeners } from "node:events";

import { within } from "./deadline.js";
import { ProofmarkError } from "./problem.js";

/** The most that is read of what the program prints, in bytes. */
const MAX_OUTPUT_BYTES = 32 << 20;
/** How many of its processes run at a time: they share a store. */
const MAX_PROCESSES = 8;

/** Runs that wait for a place. @type {(() => void)[]} */
const queue = [];
let running = 0;

/**
 * @typedef {object} Run
 * @property {string} binary
 * @property {readonly string[]} words
 * @property {string} input
 * @property {Record<string, string | undefined>} env
 * @property {number} timeoutMs with the time in the queue
 * @property {AbortSignal | undefined} signal
 */

/**
 * Runs the program to its end.
 *
 * @param {Run} run
 * @returns {Promise<{ code: number, output: string, said: string }>}
 * @throws {ProofmarkError} where it did not end by itself
 */
export async function ran(run) {
  return within(run.timeoutMs, run.signal, async (signal, isLate) => {
    try {
      await place(signal);
      try {
        return await ended(run, signal);
      } finally {
        running--;
        queue.shift()?.();
      }
    } catch (error) {
      if (run.signal?.aborted) throw run.signal.reason;
      if (isLate()) throw new ProofmarkError("late", `\`proofmark\` has not answered within ${run.timeoutMs} ms`, { retryable: true, cause: error });
      throw error;
    }
  });
}

/** @param {AbortSignal} signal @returns {Promise<void>} */
async function place(signal) {
  while (running >= MAX_PROCESSES) {
    await /** @type {Promise<void>} */ (new Promise((resolve, reject) => {
      const leave = () => {
        queue.splice(queue.indexOf(go), 1);
        reject(signal.reason);
      };
      const go = () => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      signal.addEventListener("abort", leave, { once: true });
      queue.push(go);
    }));
  }
  signal.throwIfAborted();
  running++;
}

/** @param {Run} run @param {AbortSignal} signal @returns {Promise<{ code: number, output: string, said: string }>} */
function ended({ binary, words, input, env }, signal) {
  setMaxListeners(0, signal);
  return new Promise((resolve, reject) => {
    const child = spawn(binary, words, { env, signal, killSignal: "SIGKILL", stdio: ["pipe", "pipe", "pipe"] });
    /** @type {Buffer[][]} */
    const [output, said] = [[], []];
    let length = 0;
    for (const [from, to] of /** @type {const} */ ([[child.stdout, output], [child.stderr, said]])) {
      from.on("data", chunk => {
        length += chunk.length;
        if (length > MAX_OUTPUT_BYTES) {
          child.kill("SIGKILL");
          reject(new ProofmarkError("malformed_answer", `\`proofmark\` printed more than ${MAX_OUTPUT_BYTES} bytes`));
        }
        to?.push(chunk);
      });
    }
    child.on("error", error => reject(new ProofmarkError("unreachable", `failed to run \`${binary}\`: ${error.message}`, { cause: error })));
    child.on("close", (code, by) => {
      if (code === null) return reject(new ProofmarkError("ended", `\`proofmark\` was ended by ${by}`));
      resolve({ code, output: Buffer.concat(output ?? []).toString(), said: Buffer.concat(said ?? []).toString() });
    });
    // A program that ends before it has read everything says why itself.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}
