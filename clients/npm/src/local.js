/** The same methods without a server: each runs the program `proofmark` (docs/commands.md). */

import { existsSync } from "node:fs";
import { resolve } from "node:path";

import { localBinary } from "./binary.js";
import { milliseconds } from "./deadline.js";
import { ProofmarkError } from "./problem.js";
import { ran } from "./run.js";

/** @typedef {import("./types.js").Receipt} Receipt */
/** @typedef {import("./types.js").DecisionReceipt} DecisionReceipt */
/** @typedef {import("./types.js").Attempt} Attempt */
/** @typedef {import("./types.js").Acceptance} Acceptance */
/** @typedef {import("./types.js").Review} Review */
/** @typedef {import("./types.js").StoredDecision} StoredDecision */
/** @typedef {import("./types.js").DecisionPage} DecisionPage */
/** @typedef {import("./types.js").Chain} Chain */
/** @typedef {import("./types.js").Reported} Reported */
/** @typedef {import("./types.js").JsonObject} JsonObject */
/** @typedef {import("./types.js").Job} Job */

/** How long a command may take. */
const TIMEOUT_MS = 30_000;
/** How long a verification may take: as the server lets the longest one run. */
const VERIFY_TIMEOUT_MS = 20 * 60_000;
/** How many decisions that wait are looked at. */
const MAX_WAITING = 10_000;
/** The exit code of commands that have no result. */
const NO_RESULT = 2;

/**
 * @typedef {object} LocalOptions
 * @property {string | undefined} [policy] the file of the action policy, for decisions
 * @property {string | undefined} [home] the folder of keys and store, whatever `PROOFMARK_STORE` says; else `PROOFMARK_HOME`, else the user's
 * @property {string | undefined} [binary] else the program of the platform's package, else `proofmark` on the path
 * @property {number | undefined} [timeoutMs] how long a command may take
 */
/** @typedef {{ signal?: AbortSignal | undefined, timeoutMs?: number | undefined }} CallOptions */

/** Decides and verifies on this machine, by the command `proofmark`. What it cannot do rejects with the code `unsupported`. */
export class Local {
  #policy;
  /** What the command's environment has in place of this program's. */
  #env;
  /** @type {string | undefined} */
  #binary;
  #timeoutMs;

  /** @param {LocalOptions} [options] */
  constructor({ policy, home, binary, timeoutMs = TIMEOUT_MS } = {}) {
    // Whole paths: a program that changes its folder later must not get another policy.
    this.#policy = policy === undefined ? undefined : resolve(policy);
    this.#env = environment(home);
    this.#binary = binary === undefined ? undefined : resolve(binary);
    this.#timeoutMs = milliseconds("timeoutMs", timeoutMs);
  }

  /**
   * Verifies work, and returns its receipt.
   *
   * @param {object} request docs/requests.md
   * @param {CallOptions & { chain?: string | undefined }} [options]
   * @returns {Promise<Receipt>}
   */
  async verify(request, { chain, timeoutMs = VERIFY_TIMEOUT_MS, ...options } = {}) {
    const words = ["verify", "-", "--json", ...named({ chain })];
    // With the verdict `error` there is a receipt, too.
    const { output, code, said } = await this.#run(words, { ...options, timeoutMs, input: JSON.stringify(request) });
    const found = firstLine(output);
    if (found !== undefined && "receipt_id" in found) return found;
    throw failed(code, output, said);
  }

  /**
   * Judges an attempt at a workflow step. `workflow` is a file.
   *
   * @param {string} run @param {string} step
   * @param {Omit<Attempt, "workflow" | "receipts" | "trace"> & { workflow: string, trace?: string }} attempt `trace` is a file, or `none`
   * @param {CallOptions} [options]
   * @returns {Promise<Acceptance>}
   */
  async accept(run, step, { workflow, response, trace, context, attempt }, options) {
    const given = named({ step, run, trace, context: context && JSON.stringify(context), attempt });
    return this.#answer(["workflow", "accept", "--response=-", "--json", ...given, "--", workflow], { ...options, input: response });
  }

  /**
   * Decides on an action; a `Guard` also checks the answer.
   *
   * @param {object} request docs/decisions.md
   * @param {CallOptions} [options]
   * @returns {Promise<DecisionReceipt>}
   */
  async decide(request, options) {
    return JSON.parse(await this.decideText(JSON.stringify(request), options));
  }

  /**
   * As `decide`, from JSON to the signed receipt as it was printed.
   *
   * @param {string} request
   * @param {CallOptions} [options]
   * @returns {Promise<string>}
   */
  async decideText(request, options) {
    // Without this option, a variable or a file in this folder would say which policy decides.
    if (this.#policy === undefined) throw new TypeError("`Local` decides by a policy: pass the file as `policy`");
    const { code, output, said } = await this.#run(["decide", "-", "--json", ...named({ policy: this.#policy })], { ...options, input: request });
    const found = firstLine(output);
    if (code >= NO_RESULT || found === undefined) throw failed(code, output, said);
    if (found.safe_to_execute !== (code === 0)) throw new ProofmarkError("malformed_answer", `\`proofmark decide\` has ended with ${code}, which is not what it printed`, { status: code });
    return output.trimEnd();
  }

  /**
   * A stored decision, and whether it waits for a review.
   *
   * @param {string} id @param {CallOptions} [options]
   * @returns {Promise<{ decision_id: string, receipt: DecisionReceipt, waits: boolean }>}
   */
  async decision(id, options) {
    const receipt = await this.#answer(["decision", "show", "--json", idOf(id)], options);
    const { decisions } = await this.reviews(options);
    // The newest decision on an action is the one that waits.
    const waits = decisions.some(one => isOfSameAction(one.receipt, receipt));
    return { decision_id: receipt.decision_id, receipt, waits };
  }

  /**
   * Whether the reviews of a decision are complete: 1, or 0.
   *
   * @param {string} id @param {CallOptions} [options]
   * @returns {Promise<number>}
   */
  async reviewed(id, options) {
    return (await this.decision(id, options)).waits ? 0 : 1;
  }

  /** No page shows it. @param {string} _id @returns {undefined} */
  pageOf(_id) {
    return undefined;
  }

  /**
   * Does nothing: only a server compares executions with decisions.
   *
   * @param {{ decisionId: string, executed: boolean, args?: unknown }} _execution
   * @returns {Promise<Reported>}
   */
  async report(_execution) {
    return { accepted: false, findings: [] };
  }

  /**
   * Decisions that wait for a review.
   *
   * @param {CallOptions & { environment?: string, amount?: number, limit?: number }} [options]
   * @returns {Promise<DecisionPage>}
   */
  async reviews({ environment, amount, limit = MAX_WAITING, ...options } = {}) {
    const words = ["decision", "list", "--waiting", "--json", ...named({ environment, amount, limit })];
    const decisions = (await this.#lines(words, options)).map(receipt => ({
      decision_id: receipt.decision_id,
      outcome: receipt.outcome,
      mode: receipt.disposition.mode,
      action_class: receipt.action_class,
      agent: receipt.binding.agent,
      reviews: [],
      receipt,
    }));
    return { decisions, next: null };
  }

  /**
   * Signs a review with a key of this machine.
   *
   * @param {string} id
   * @param {Review & { key: string }} review `key` is the reviewer's: its name, or its file
   * @param {CallOptions} [options]
   * @returns {Promise<JsonObject>} the signed approval or denial
   */
  async review(id, { verdict, note, key, role, expires_in }, options) {
    if (verdict !== "approve" && verdict !== "deny") throw new TypeError("`verdict` is `approve` or `deny`");
    const given = named({ key, note, role, expires: expires_in && `${expires_in}s` });
    return this.#answer(["decision", verdict, "--yes", "--json", ...given, idOf(id)], options);
  }

  /**
   * A stored receipt.
   *
   * @param {string} id @param {CallOptions} [options]
   * @returns {Promise<Receipt>}
   */
  receipt(id, options) {
    return this.#answer(["receipt", "show", "--json", idOf(id)], options);
  }

  /**
   * The receipts of a chain, and its signed head.
   *
   * @param {string} name the name of the chain @param {CallOptions} [options]
   * @returns {Promise<Chain>}
   */
  async chain(name, options) {
    const of = named({ chain: name });
    const [receipts, head] = [await this.#lines(["receipt", "export", ...of], options), await this.#answer(["receipt", "head", ...of], options)];
    return { chain: name, receipts, head, next: null };
  }

  /** There are no jobs: rejects. @param {string} _id @returns {Promise<Job>} */
  async job(_id) {
    throw unsupported("runs no jobs: `verify` returns the receipt");
  }

  /** There are no jobs: rejects. @param {string} _id @returns {AsyncGenerator<Job, void>} */
  async *events(_id) {
    throw unsupported("runs no jobs: `verify` returns the receipt");
  }

  /** Only a server spends receipts: rejects. @param {string} _id @returns {Promise<JsonObject>} */
  async redeem(_id) {
    throw unsupported("redeems no receipts");
  }

  /**
   * The one document that a command prints.
   *
   * @param {readonly string[]} words @param {CallOptions & { input?: string }} [options]
   * @returns {Promise<any>}
   */
  async #answer(words, options) {
    const { code, output, said } = await this.#run(words, options);
    const found = firstLine(output);
    if (code >= NO_RESULT || found === undefined) throw failed(code, output, said);
    return found;
  }

  /** @param {readonly string[]} words @param {CallOptions} [options] @returns {Promise<any[]>} */
  async #lines(words, options) {
    const { code, output, said } = await this.#run(words, options);
    if (code !== 0) throw failed(code, output, said);
    return output.split("\n").filter(line => line !== "").map(line => JSON.parse(line));
  }

  /** @param {readonly string[]} words @param {CallOptions & { input?: string | undefined }} [options] */
  #run(words, { input = "", signal, timeoutMs = this.#timeoutMs } = {}) {
    this.#binary ??= localBinary();
    return ran({ binary: this.#binary, words, input, env: { ...process.env, ...this.#env }, signal, timeoutMs: milliseconds("timeoutMs", timeoutMs) });
  }
}

/** @param {string | undefined} home @returns {Record<string, string | undefined>} */
function environment(home) {
  // The variable would name the store of another home.
  if (home !== undefined) return { PROOFMARK_HOME: resolve(home), PROOFMARK_STORE: undefined };
  const { PROOFMARK_HOME } = process.env;
  return PROOFMARK_HOME ? { PROOFMARK_HOME: resolve(PROOFMARK_HOME) } : {};
}

/** Options as single words, so that no value is taken for an option. @param {Readonly<Record<string, string | number | undefined>>} options */
function named(options) {
  return Object.entries(options).filter(([, value]) => value !== undefined).map(([name, value]) => `--${name}=${value}`);
}

/**
 * A whole id. Commands also take files, and prefer them.
 *
 * @param {string} text
 */
function idOf(text) {
  if (typeof text !== "string" || !/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) throw new TypeError(`invalid id \`${String(text)}\``);
  if (existsSync(text)) throw new TypeError(`a file of this folder has the name of the id \`${text}\`: remove it`);
  return text;
}

/** @param {DecisionReceipt} one @param {DecisionReceipt} other */
function isOfSameAction({ binding: one }, { binding: other }) {
  return one.action_hash === other.action_hash && one.agent === other.agent && one.environment === other.environment;
}

/** @param {string} output @returns {any} */
function firstLine(output) {
  const [line = "", rest] = output.split("\n", 2);
  try {
    const found = rest ? undefined : JSON.parse(line);
    return typeof found === "object" && found !== null ? found : undefined;
  } catch {
    return undefined;
  }
}

/** @param {number} code @param {string} output @param {string} said what it wrote to standard error */
function failed(code, output, said) {
  const { error = "", code: word = "failed", help = "" } = firstLine(output) ?? firstLine(said) ?? {};
  const message = [error, help].filter(text => typeof text === "string" && text !== "").join("; ");
  return new ProofmarkError(String(word), message || said.trim().slice(0, 4_000) || `\`proofmark\` has ended with ${code}`, { status: code });
}

/** @param {string} what */
function unsupported(what) {
  return new ProofmarkError("unsupported", `the command line ${what}`);
}
