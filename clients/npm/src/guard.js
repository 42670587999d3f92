/** Decides on calls before they are executed. Throws unless a decision allows the call. */

import { randomUUID } from "node:crypto";

import { Client } from "./client.js";
import { pause } from "./deadline.js";
import { question, readDecision, trustedSigners } from "./decision.js";
import { Local } from "./local.js";
import { NoDecision, notAllowed } from "./not_allowed.js";
import { snapshot } from "./snapshot.js";

/** @typedef {import("./decision.js").Decision} Decision */
/** @typedef {import("./snapshot.js").JsonValue} JsonValue */
/** @typedef {import("./types.js").Reported} Reported */

/** How long a report of an execution may take, in milliseconds. */
const REPORT_MS = 5_000;
/** The pauses between two looks at a decision that waits, in milliseconds: they double from the first to the longest. */
const FIRST_LOOK_MS = 50, LONGEST_LOOK_MS = 1_000;
/** The class of tools that are not in `classes`. */
const DEFAULT_CLASS = "generic";

/**
 * What makes decisions: a `Client`, a `Local`, or something else with these methods.
 *
 * @typedef {object} Decider
 * @property {(request: string, options: { policy?: string | undefined, signal?: AbortSignal | undefined }) => Promise<string>} decideText
 *   from a request to the signed receipt, both as JSON
 * @property {(id: string, options: { signal?: AbortSignal | undefined }) => Promise<number>} reviewed how many reviews of a decision there are
 * @property {(id: string) => string | undefined} pageOf the page of a decision
 * @property {(execution: { decisionId: string, executed: boolean, args?: unknown }, options: { timeoutMs?: number | undefined }) => Promise<Reported>} report
 */

/**
 * @typedef {object} GuardOptions
 * @property {{ readonly [tool: string]: string } | ((tool: string, args: JsonValue) => string | Promise<string>) | undefined} [classes]
 *   the class of each tool; `generic` for tools that are not in it
 * @property {string | undefined} [run] the id of the run; else a new one for each guard
 * @property {string | { id?: string, org?: string, project?: string, environment?: string, step?: string, sensitivity?: string } | undefined} [agent]
 *   who acts: the id, or all facts of `agent`
 * @property {number | undefined} [wait] how many seconds `check` waits for a review
 * @property {string | undefined} [policy] the name of the server's policy that decides
 * @property {string | readonly string[] | undefined} [trusted] whose decisions count: public key files (their text) or signer ids
 * @property {((error: unknown, decision: Decision) => void) | undefined} [onReportFailed] else a warning of the process
 */

/**
 * @typedef {object} AskOptions
 * @property {string | undefined} [callId] the id of the call in the agent's host: the recorded step begins with it
 * @property {string | undefined} [klass] the class of the action, in place of `classes`
 * @property {string | undefined} [target] what is acted upon
 * @property {object | undefined} [context] further facts of the request, such as `calls`, `task`, `taint` and `upstream`
 * @property {AbortSignal | undefined} [signal]
 */

/** @typedef {{ action: import("./decision.js").Action, context: import("./snapshot.js").Snapshot, step: string | undefined }} Call */

/** Asks a decider about calls, and checks that its decision is on exactly what was asked. */
export class Guard {
  #decider;
  #options;
  #trusted;
  #agent;
  #waitMs;

  /**
   * @param {Decider} [decider] else a `Client` by the environment
   * @param {GuardOptions} [options]
   */
  constructor(decider = new Client(), options = {}) {
    const { agent = {}, trusted, wait = 0, run = randomUUID(), policy } = options;
    if (!(wait >= 0 && wait <= 86_400)) throw new TypeError(`\`wait\` is ${String(wait)}: pass seconds, from 0 to 86400`);
    if (policy !== undefined && decider instanceof Local) throw new TypeError("`policy` names a policy of a server; `Local` has its own");
    this.#decider = decider;
    this.#options = { ...options };
    this.#waitMs = wait * 1_000;
    this.#trusted = trusted === undefined ? [] : trustedSigners(trusted);
    this.#agent = { ...(typeof agent === "string" ? { id: agent } : agent), run };
  }

  /**
   * The decision on a call, whatever it is. Each call of this method makes a new decision.
   *
   * @param {string} tool
   * @param {unknown} args plain JSON
   * @param {AskOptions} [options]
   * @returns {Promise<Decision>}
   * @throws {NoDecision} where no answer counts
   */
  async decide(tool, args, options = {}) {
    try {
      return await this.#ask(await this.#call(tool, args, options), options.signal);
    } catch (error) {
      throw new NoDecision(String(tool), error);
    }
  }

  /**
   * A decision that allows the call. Waits for a review as long as `wait` says, and asks again after each.
   *
   * @param {string} tool
   * @param {unknown} args plain JSON
   * @param {AskOptions} [options]
   * @returns {Promise<Decision>} its `args` are what may be executed, once
   * @throws {import("./not_allowed.js").NotAllowed}
   */
  async check(tool, args, options = {}) {
    let decision;
    try {
      const call = await this.#call(tool, args, options);
      decision = await this.#ask(call, options.signal);
      if (decision.disposition === "human_review" && this.#waitMs > 0) decision = await this.#reviewed(call, decision, options.signal);
    } catch (error) {
      throw new NoDecision(String(tool), error);
    }
    if (decision.allowed !== true) throw notAllowed(decision);
    return decision;
  }

  /**
   * Reports that a call was executed, or was not. Does not throw, because the execution has a result even if the report fails.
   *
   * @param {Decision} decision
   * @param {{ executed?: boolean, args?: unknown }} [execution] `args` if others were executed than were decided on
   * @returns {Promise<Reported | undefined>} undefined where it failed
   */
  async report(decision, { executed = true, args = decision.args } = {}) {
    try {
      return await this.#decider.report({ decisionId: decision.id, executed, args }, { timeoutMs: REPORT_MS });
    } catch (error) {
      this.#reportFailed(error, decision);
      return undefined;
    }
  }

  /**
   * The class of a tool.
   *
   * @param {string} tool @param {JsonValue} args
   * @returns {Promise<string>}
   */
  async classOf(tool, args) {
    const { classes = {} } = this.#options;
    if (typeof classes === "function") return classes(tool, args);
    return Object.hasOwn(classes, tool) ? /** @type {string} */ (classes[tool]) : DEFAULT_CLASS;
  }

  /**
   * What all requests about a call have in common, read before anything waits.
   *
   * @param {string} tool @param {unknown} args @param {AskOptions} options
   * @returns {Promise<Call>}
   */
  async #call(tool, args, { callId, klass, target, context = {} }) {
    const read = snapshot(args), facts = snapshot(context, "context");
    const step = this.#agent.step ?? callId ?? undefined;
    if (step !== undefined && typeof step !== "string") throw new TypeError("the step, or the id of the call, is not a text");
    return { action: { tool, klass: klass ?? await this.classOf(tool, read.value), target, args: read }, context: facts, step };
  }

  /** @param {Call} call @param {AbortSignal | undefined} signal @returns {Promise<Decision>} */
  async #ask({ action, context, step }, signal) {
    // A new fact in each request, so that an earlier decision does not count for this one.
    const attempt = randomUUID();
    const agent = { ...this.#agent, step: step === undefined ? attempt : `${step}:${attempt}` };
    const asked = question(action, { agent, context, policy: this.#options.policy });
    const sentAt = performance.now();
    const text = await this.#decider.decideText(asked.text, { policy: asked.policy, signal });
    if (typeof text !== "string") throw new TypeError("the answer is not a text");
    const decision = await readDecision(asked, text, { sentAt, trusted: this.#trusted, url: id => this.#decider.pageOf(id) });
    signal?.throwIfAborted();
    return decision;
  }

  /**
   * The decision after the reviews that come in time.
   *
   * @param {Call} call @param {Decision} decision @param {AbortSignal | undefined} signal
   */
  async #reviewed(call, decision, signal) {
    const end = performance.now() + this.#waitMs;
    // A person may still review a decision that was asked for before another review.
    const waiting = [decision.id];
    let seen = 0, look = FIRST_LOOK_MS;
    while (decision.disposition === "human_review") {
      const left = end - performance.now();
      if (left <= 0) return decision;
      await pause(Math.min(look, left), signal);
      look = Math.min(2 * look, LONGEST_LOOK_MS);
      const reviews = await this.#reviews(waiting, signal);
      if (reviews <= seen) continue;
      [seen, look] = [reviews, FIRST_LOOK_MS];
      decision = await this.#ask(call, signal);
      waiting.push(decision.id);
    }
    return decision;
  }

  /** @param {readonly string[]} ids @param {AbortSignal | undefined} signal */
  async #reviews(ids, signal) {
    const counts = ids.map(id => this.#decider.reviewed(id, { signal }).catch(error => {
      // A look that failed is ignored: the next one may succeed.
      if (signal?.aborted) throw error;
      return 0;
    }));
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  }

  /** @param {unknown} error @param {Decision} decision */
  #reportFailed(error, decision) {
    const { onReportFailed } = this.#options;
    try {
      if (onReportFailed) return onReportFailed(error, decision);
      process.emitWarning(`the execution under decision ${decision.id} was not reported`, { detail: error instanceof Error ? error.message : "" });
    } catch {
      // The failure cannot be reported either.
    }
  }
}
