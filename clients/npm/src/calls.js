/** The decisions on the calls of a host. Some hosts ask twice: first whether a person has to approve a call, and again before it runs. */

import { hasExpired } from "./decision.js";
import { NoDecision, NotAllowed } from "./not_allowed.js";
import { snapshot } from "./snapshot.js";

/** @typedef {import("./decision.js").Decision} Decision */
/** @typedef {import("./guard.js").Guard} Guard */
/** @typedef {{ callId?: string | undefined, signal?: AbortSignal | undefined }} CallOptions */

/** How long a decision is kept for the call that it allows, in milliseconds. */
const KEPT_MS = 30_000;
/** How many calls are remembered. */
const MAX_REMEMBERED = 10_000;

/** @type {WeakMap<Guard, Calls>} */
const CALLS = new WeakMap();

/** The calls that a guard decides on. @param {Guard} guard */
export function callsOf(guard) {
  const calls = CALLS.get(guard) ?? new Calls(guard);
  CALLS.set(guard, calls);
  return calls;
}

/**
 * Sets a member of a map of calls, which forgets its oldest one where it is full.
 *
 * @template T
 * @param {Map<string, T>} calls @param {string} key @param {T} value
 */
export function remember(calls, key, value) {
  const [oldest] = calls.keys();
  if (calls.size >= MAX_REMEMBERED && oldest !== undefined) calls.delete(oldest);
  calls.set(key, value);
}

class Calls {
  #guard;
  /** @type {Map<string, { decision: Decision, at: number }>} */
  #kept = new Map();

  /** @param {Guard} guard */
  constructor(guard) {
    this.#guard = guard;
  }

  /**
   * Decides on a call that does not run yet. A decision that allows it is kept, for one `check` of the same call.
   *
   * @param {string} tool @param {unknown} args @param {CallOptions} options
   * @returns {Promise<NotAllowed | undefined>} why it is not allowed
   */
  async ask(tool, args, options) {
    try {
      const decision = await this.#checked(tool, args, options);
      const key = keyOf(tool, decision.args, options.callId);
      if (key !== undefined) remember(this.#kept, key, { decision, at: performance.now() });
      return undefined;
    } catch (error) {
      if (!(error instanceof NotAllowed)) throw error;
      return error;
    }
  }

  /**
   * The decision that allows a call, which runs now.
   *
   * @param {string} tool @param {unknown} args @param {CallOptions} options
   * @returns {Promise<Decision>} its `args` are what may be executed, once
   * @throws {NotAllowed}
   */
  async check(tool, args, options) {
    return this.#taken(keyOf(tool, args, options.callId)) ?? this.#checked(tool, args, options);
  }

  /** @param {string} tool @param {unknown} args @param {CallOptions} options */
  async #checked(tool, args, options) {
    const decision = await this.#guard.check(tool, args, options);
    // Something else may have been passed as the guard.
    if (decision?.allowed !== true) throw new NoDecision(tool, new TypeError("the guard returned no decision that allows the call"));
    return decision;
  }

  /** @param {string | undefined} key */
  #taken(key) {
    const kept = key === undefined ? undefined : this.#kept.get(key);
    if (key === undefined || kept === undefined) return undefined;
    this.#kept.delete(key);
    const { decision, at } = kept;
    return performance.now() - at < KEPT_MS && !hasExpired(decision) ? decision : undefined;
  }
}

/** @param {string} tool @param {unknown} args @param {string | undefined} callId */
function keyOf(tool, args, callId) {
  if (typeof callId !== "string") return undefined;
  try {
    return JSON.stringify([callId, tool, snapshot(args).text]);
  } catch {
    // The guard says what is wrong with the arguments.
    return undefined;
  }
}
