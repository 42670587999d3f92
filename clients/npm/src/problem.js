/** What went wrong between a program and Proofmark. */

/** A request that was refused, or that got no usable answer. */
export class ProofmarkError extends Error {
  /**
   * @param {string} code a stable word for programs: the server's own, or one of those in the README
   * @param {string} message
   * @param {{ status?: number | undefined, retryable?: boolean, cause?: unknown }} [more]
   */
  constructor(code, message, { status, retryable = false, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "ProofmarkError";
    this.code = code;
    /** Whether the same request may succeed later. */
    this.retryable = retryable;
    /** The HTTP status, or the exit code of the command line; undefined where there was no answer. */
    this.status = status;
  }
}

/**
 * The text of anything that was thrown.
 *
 * @param {unknown} error
 */
export function textOf(error) {
  try {
    return error instanceof Error ? error.message : String(error);
  } catch {
    return "an error without a text";
  }
}
