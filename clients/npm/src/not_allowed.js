/** Why a call was not executed. The message of each is for the agent; programs read its members. */

import { textOf } from "./problem.js";

/** @typedef {import("./decision.js").Decision} Decision */

/** The longest text of reasons and next steps, in characters: it becomes part of a model's context. */
const MAX_WORDS = 4_000;

/** A call that must not be executed. */
export class NotAllowed extends Error {
  /**
   * @param {string} message
   * @param {Decision | undefined} decision
   * @param {{ cause?: unknown }} [options]
   */
  constructor(message, decision, options) {
    super(message, options);
    this.name = new.target.name;
    /** The decision that did not allow it; undefined where there is none. */
    this.decision = decision;
  }
}

/** The agent can continue without the call, or correct it and ask again. */
export class Blocked extends NotAllowed {
  /** @param {Decision} decision */
  constructor(decision) {
    super(said(decision, "", []), decision);
    this.decision = decision;
  }
}

/** A person has to review the call first. */
export class NeedsReview extends NotAllowed {
  /** @param {Decision} decision @param {string | undefined} url where it is reviewed; undefined where no server decided */
  constructor(decision, url) {
    const where = url ?? `\`proofmark decision show ${decision.id}\``;
    super(said(decision, "It waits for a review by a person.", [`Review: ${where}.`]), decision);
    this.decision = decision;
    this.url = url;
  }
}

/** The caller of this agent has to supply what is missing. */
export class Upstream extends NotAllowed {
  /** @param {Decision} decision */
  constructor(decision) {
    super(said(decision, "The caller that gave you this task has to supply what is missing.", []), decision);
    this.decision = decision;
  }
}

/** This path ends: neither this call nor another one for the same goal. */
export class Terminal extends NotAllowed {
  /** @param {Decision} decision */
  constructor(decision) {
    super(said(decision, "Stop here, and do not try to reach the same goal in another way.", []), decision);
    this.decision = decision;
  }
}

/** No decision counts: the answer is missing, late, malformed or on another action, or the arguments are not JSON. */
export class NoDecision extends NotAllowed {
  /** @param {string} tool @param {unknown} cause */
  constructor(tool, cause) {
    super(`\`${shortened(tool)}\` was not executed, because there is no decision on it: ${shortened(textOf(cause))}`, undefined, { cause });
  }
}

/**
 * What is thrown for a decision that does not allow its action.
 *
 * @param {Decision} decision
 * @returns {Blocked | NeedsReview | Upstream | Terminal}
 */
export function notAllowed(decision) {
  switch (decision.disposition) {
    case "human_review": return new NeedsReview(decision, decision.url);
    case "upstream_replan": return new Upstream(decision);
    case "terminal_block": return new Terminal(decision);
    default: return new Blocked(decision);
  }
}

/** Whether the run ends with it: neither the agent nor a person can do anything in it. @param {unknown} error */
export function endsRun(error) {
  return error instanceof Upstream || error instanceof Terminal;
}

/** @param {Decision} decision @param {string} how @param {readonly string[]} more */
function said(decision, how, more) {
  const reasons = decision.reasons.map(reason => reason.message);
  const steps = decision.nextSteps.map(step => step.message);
  // After a review the same call is to be sent again.
  const again = decision.receipt.must_not_retry_same_action && decision.disposition !== "human_review" ? ["Do not send the same call again."] : [];
  const words = [...new Set([...reasons, how, ...steps, ...again].map(text => text.trim()).filter(text => text !== ""))];
  const text = shortened(words.join(" "));
  return [`\`${shortened(decision.tool)}\` was not executed.`, text, ...more, `(decision ${decision.id})`].join(" ");
}

/** @param {string} text */
function shortened(text) {
  return text.length > MAX_WORDS ? `${text.slice(0, MAX_WORDS)} …` : text;
}
