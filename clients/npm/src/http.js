/** One request to the server, and an answer that is bounded in size and time. */

import { pause, within } from "./deadline.js";
import { ProofmarkError, textOf } from "./problem.js";

/** The longest answer that is read, in bytes, unpacked. */
const MAX_ANSWER_BYTES = 32 << 20;
/** How often a request is sent again if the server was too busy for it. */
const MAX_RETRIES = 5;
/** How long to wait where the server does not say it, in milliseconds. */
const RETRY_MS = 1_000;

/**
 * @typedef {object} Sent
 * @property {string} method
 * @property {URL} url
 * @property {Record<string, string>} headers
 * @property {string | undefined} body
 * @property {number} timeoutMs for all that is sent and waited for
 * @property {AbortSignal | undefined} signal
 */

/**
 * The answer to a request, sent again while the server is too busy for it.
 *
 * @param {Sent} sent
 * @returns {Promise<{ status: number, text: string }>} of a success
 * @throws {ProofmarkError}
 */
export function exchange(sent) {
  return within(sent.timeoutMs, sent.signal, async (signal, isLate) => {
    const end = performance.now() + sent.timeoutMs;
    for (let retries = 0; ; retries++) {
      try {
        const response = await fetched(sent, signal);
        const text = await bounded(response);
        if (response.ok && isJson(response)) return { status: response.status, text };
        const wait = isBusy(response, sent) ? retryMs(response) : Infinity;
        if (retries === MAX_RETRIES || wait > end - performance.now()) throw problem(response, text);
        await pause(wait, signal);
      } catch (error) {
        // A connection that was kept may have been closed meanwhile; the second request takes a new one.
        if (retries === 0 && isReset(error) && isRepeatable(sent) && !signal.aborted) continue;
        throw failure(error, sent, isLate());
      }
    }
  });
}

/**
 * The answer to a request as it arrives.
 *
 * @param {Sent} sent
 * @returns {AsyncGenerator<Uint8Array, void>}
 */
export async function* stream(sent) {
  try {
    // The reader of a stream limits its time.
    const response = await fetched(sent, sent.signal);
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
    if (!response.ok || !isStream) throw problem(response, await bounded(response));
    if (response.body) yield* response.body;
  } catch (error) {
    throw failure(error, sent, false);
  }
}

/** @param {Sent} sent @param {AbortSignal | undefined} signal */
function fetched({ method, url, headers, body }, signal) {
  // A server that sends elsewhere would send the key and the action there.
  return fetch(url, { method, headers, redirect: "manual", signal: signal ?? null, ...(body === undefined ? {} : { body }) });
}

/** @param {Response} response */
async function bounded(response) {
  const chunks = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > MAX_ANSWER_BYTES) throw malformed(response, `is larger than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks));
  } catch {
    throw malformed(response, "is not UTF-8");
  }
}

/** @param {Response} response */
function isJson(response) {
  return /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(response.headers.get("content-type") ?? "");
}

/** @param {Response} response @param {Sent} sent */
function isBusy({ status }, sent) {
  return status === 429 || (status === 503 && isRepeatable(sent));
}

/** Whether it is carried out once even if it is sent again: without an answer, it may have been carried out already. @param {Sent} sent */
function isRepeatable({ method, headers }) {
  return method === "GET" || "idempotency-key" in headers;
}

/** @param {unknown} error */
function isReset(error) {
  const code = codeOf(error);
  return code === "ECONNRESET" || code === "EPIPE" || code === "UND_ERR_SOCKET";
}

/** The code of a failed `fetch`, which is in its cause. @param {unknown} error */
function codeOf(error) {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : textOf(cause);
}

/** @param {Response} response */
function retryMs(response) {
  const text = response.headers.get("retry-after");
  if (text === null) return RETRY_MS;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? RETRY_MS : Math.max(0, ms);
}

/** @param {Response} response @param {string} text */
function problem(response, text) {
  const { status } = response;
  if (response.ok) return malformed(response, "is not JSON");
  if (status >= 300 && status < 400) return malformed(response, "leads elsewhere, which is not followed");
  const retryable = status === 429 || status === 503;
  try {
    const { code, message, retryable: may } = JSON.parse(text).error;
    if (typeof code === "string" && typeof message === "string") {
      return new ProofmarkError(code, message, { status, retryable: typeof may === "boolean" ? may : retryable });
    }
  } catch {
    // Something between this program and the server has answered.
  }
  return new ProofmarkError("malformed_answer", `the server answers ${status} without a problem document`, { status, retryable });
}

/** @param {Response} response @param {string} what */
function malformed({ status }, what) {
  return new ProofmarkError("malformed_answer", `the answer of the server (${status}) ${what}`, { status });
}

/** @param {unknown} error @param {Sent} sent @param {boolean} isLate */
function failure(error, { url, timeoutMs, signal }, isLate) {
  if (signal?.aborted) return signal.reason;
  if (error instanceof ProofmarkError) return error;
  if (isLate) {
    return new ProofmarkError("late", `the server at ${url.origin} has not answered within ${timeoutMs} ms`, { retryable: true, cause: error });
  }
  return new ProofmarkError("unreachable", `the server at ${url.origin} does not answer (${codeOf(error)})`, { retryable: true, cause: error });
}
