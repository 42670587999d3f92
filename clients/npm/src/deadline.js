/** Waits that end after a time, or when the caller cancels them. */

/**
 * Runs `work` with a signal that is raised when `ms` milliseconds have passed, or when `signal` is.
 *
 * @template T
 * @param {number} ms
 * @param {AbortSignal | undefined} signal
 * @param {(signal: AbortSignal, isLate: () => boolean) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function within(ms, signal, work) {
  signal?.throwIfAborted();
  const controller = new AbortController();
  let late = false;
  const abort = () => controller.abort(signal?.reason);
  const timer = setTimeout(() => {
    late = true;
    controller.abort();
  }, ms);
  signal?.addEventListener("abort", abort, { once: true });
  try {
    return await work(controller.signal, () => late);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}

/**
 * @param {number} ms
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<void>} rejected with the signal's reason
 */
export function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", abort, { once: true });
  });
}

/** The longest time that timers take, in milliseconds. */
const MAX_MS = 2 ** 31 - 1;

/**
 * Checks a time that the caller gave: a timer with `NaN` or too long a time would end at once.
 *
 * @param {string} name @param {number} ms
 */
export function milliseconds(name, ms) {
  if (typeof ms === "number" && ms > 0 && ms <= MAX_MS) return ms;
  throw new TypeError(`\`${name}\` is ${String(ms)}: pass a number of milliseconds from 1 to ${MAX_MS}`);
}
