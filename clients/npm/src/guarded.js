/** Functions that run only after a decision allowed exactly their arguments. */

import { resolve } from "node:path";

import { Guard } from "./guard.js";
import { Local } from "./local.js";
import { NoDecision } from "./not_allowed.js";
import { snapshot } from "./snapshot.js";

/** @typedef {import("./snapshot.js").JsonValue} JsonValue */

/**
 * @template {(input: any, ...rest: any[]) => Promise<any>} F
 * @typedef {object} GuardedOptions
 * @property {Guard | undefined} [guard] what decides
 * @property {string | undefined} [policy] or the file of a policy, by which the `proofmark` of this machine decides
 * @property {string | undefined} [tool] the name of the tool; else that of the function
 * @property {string | undefined} [klass] the class of the action; else that of the guard
 * @property {string | ((input: Parameters<F>[0]) => string | Promise<string>) | undefined} [target] what is acted upon
 * @property {((input: Parameters<F>[0]) => unknown) | undefined} [args] what is decided on, made from the input; else the input.
 *   The policy does not see what it leaves out
 */

/** The guards of policies, by their files: functions of one policy are of one run. @type {Map<string, Guard>} */
const LOCAL_GUARDS = new Map();

/**
 * The same function, which runs only if a decision allows it. It is decided on the JSON of its first argument, and the function gets
 * exactly this, frozen. Each call gets a new decision, and its execution is reported.
 *
 * @template {(input: any, ...rest: any[]) => Promise<any>} F
 * @param {F} fn an async function of one object; what follows it, such as the options of a host, is passed on
 * @param {GuardedOptions<F>} options
 * @returns {F} which rejects with `NotAllowed` where it did not run
 */
export function guarded(fn, options) {
  if (typeof fn !== "function") throw new TypeError("`guarded` takes a function");
  const { tool = fn.name, klass } = options;
  if (typeof tool !== "string" || tool === "") throw new TypeError("the function has no name: pass `tool`");
  const guard = guardOf(options);

  /** @this {unknown} @param {unknown} input @param {any[]} rest */
  async function run(input, ...rest) {
    const { value, args, target, signal } = await read(tool, options, input, rest[0]);
    const decision = await guard.check(tool, args, { klass, target, signal });
    try {
      return await fn.call(this, value, ...rest);
    } finally {
      // Also where it threw: what it did until then has happened.
      await guard.report(decision);
    }
  }

  Object.defineProperty(run, "name", { value: fn.name });
  return /** @type {any} */ (run);
}

/**
 * What a call is about.
 *
 * @param {string} tool @param {GuardedOptions<any>} options @param {unknown} input @param {unknown} next the argument after it
 */
async function read(tool, { args, target }, input, next) {
  try {
    const { value } = snapshot(input === undefined ? {} : input, "input");
    return {
      value,
      args: args === undefined ? value : await args(value),
      target: typeof target === "function" ? await target(value) : target,
      signal: signalOf(next),
    };
  } catch (error) {
    throw new NoDecision(tool, error);
  }
}

/** The signal in the options that hosts pass to tools. @param {any} next @returns {AbortSignal | undefined} */
function signalOf(next) {
  // By its members: a test runner or a browser page may have another class of this name.
  return [next?.abortSignal, next?.signal].find(signal => typeof signal?.aborted === "boolean" && typeof signal.addEventListener === "function");
}

/** @param {GuardedOptions<any>} options */
function guardOf({ guard, policy }) {
  if ((guard === undefined) === (policy === undefined)) throw new TypeError("pass a `guard`, or the file of a `policy`");
  if (guard !== undefined) return guard;
  const file = resolve(String(policy));
  const known = LOCAL_GUARDS.get(file) ?? new Guard(new Local({ policy: file }));
  LOCAL_GUARDS.set(file, known);
  return known;
}
