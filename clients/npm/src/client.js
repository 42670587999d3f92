/** The API of a server (docs/serving.md). */

import { randomUUID } from "node:crypto";

import { milliseconds } from "./deadline.js";
import { eventData } from "./events.js";
import { exchange, stream } from "./http.js";
import { ProofmarkError } from "./problem.js";

/** @typedef {import("./types.js").Receipt} Receipt */
/** @typedef {import("./types.js").DecisionReceipt} DecisionReceipt */
/** @typedef {import("./types.js").Job} Job */
/** @typedef {import("./types.js").Attempt} Attempt */
/** @typedef {import("./types.js").Acceptance} Acceptance */
/** @typedef {import("./types.js").Review} Review */
/** @typedef {import("./types.js").StoredDecision} StoredDecision */
/** @typedef {import("./types.js").DecisionPage} DecisionPage */
/** @typedef {import("./types.js").Chain} Chain */
/** @typedef {import("./types.js").Reported} Reported */
/** @typedef {import("./types.js").JsonObject} JsonObject */

const DEFAULT_URL = "http://127.0.0.1:8700";
/** How long a request may take, with all that is sent again. */
const TIMEOUT_MS = 30_000;
/** How long a verification may take: as long as the server lets the longest one run, and some time in its queue. */
const VERIFY_TIMEOUT_MS = 20 * 60_000;
/** The states of a job that is over. */
const LAST_STATES = ["done", "failed", "cancelled"];

/**
 * @typedef {object} ClientOptions
 * @property {string | undefined} [baseUrl] else `PROOFMARK_URL`, else this host
 * @property {string | undefined} [apiKey] else `PROOFMARK_API_KEY`
 * @property {number | undefined} [timeoutMs] how long a request may take, with all that is sent again
 */
/** @typedef {{ signal?: AbortSignal | undefined, timeoutMs?: number | undefined }} CallOptions */
/** @typedef {CallOptions & { idempotencyKey?: string | undefined }} WriteOptions */
/** @typedef {Readonly<Record<string, string | number | undefined>>} Query */

/** Sends requests to a server. What fails is a `ProofmarkError`. */
export class Client {
  /** @type {string} */
  #baseUrl;
  /** @type {string | undefined} */
  #apiKey;
  /** @type {number} */
  #timeoutMs;

  /** @param {ClientOptions} [options] */
  constructor({ baseUrl, apiKey, timeoutMs = TIMEOUT_MS } = {}) {
    this.#baseUrl = readUrl(baseUrl ?? (process.env.PROOFMARK_URL || DEFAULT_URL));
    this.#apiKey = readKey(apiKey ?? (process.env.PROOFMARK_API_KEY || undefined), this.#baseUrl);
    this.#timeoutMs = milliseconds("timeoutMs", timeoutMs);
  }

  /** The server, without a slash at the end. */
  get baseUrl() {
    return this.#baseUrl;
  }

  /**
   * Verifies work, and waits for its receipt; with `background` for the job alone.
   *
   * @template {boolean} [B=false]
   * @param {object} request docs/requests.md
   * @param {WriteOptions & { chain?: string | undefined, background?: B }} [options]
   * @returns {Promise<B extends true ? Job : Receipt>}
   */
  async verify(request, { chain, background, timeoutMs = VERIFY_TIMEOUT_MS, ...options } = {}) {
    const headers = background ? { prefer: "respond-async" } : {};
    const { status, document } = await this.#post("/v1/verifications", request, { ...options, timeoutMs, query: { chain }, headers });
    if (background || status !== 202) return document;
    /** @type {Job} */
    let job = document;
    for await (const next of this.events(job.job_id, { ...options, timeoutMs })) job = next;
    if (job.receipt) return /** @type {any} */ (job.receipt);
    throw new ProofmarkError(job.state, job.error ?? `the verification has ${job.state}`);
  }

  /**
   * A verification that the server runs or ran, as it is now.
   *
   * @param {string} id @param {CallOptions} [options]
   * @returns {Promise<Job>}
   */
  job(id, options) {
    return this.#get(`/v1/jobs/${part(id)}`, options);
  }

  /**
   * The states of a job, until it is over.
   *
   * @param {string} id @param {CallOptions} [options]
   * @returns {AsyncGenerator<Job, void>}
   */
  async *events(id, { signal, timeoutMs = VERIFY_TIMEOUT_MS } = {}) {
    const late = AbortSignal.timeout(milliseconds("timeoutMs", timeoutMs));
    const both = new AbortController();
    const abort = () => both.abort(signal?.aborted ? signal.reason : new ProofmarkError("late", `the job has not ended within ${timeoutMs} ms`, { retryable: true }));
    for (const one of [signal, late]) one?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted) abort();
    try {
      const sent = this.#sent("GET", `/v1/jobs/${part(id)}/events`, { signal: both.signal });
      for await (const data of eventData(stream(sent))) {
        const job = parsed(data);
        yield job;
        if (LAST_STATES.includes(job?.state)) return;
      }
      throw new ProofmarkError("malformed_answer", "the events ended before the job did: ask for the job", { retryable: true });
    } finally {
      for (const one of [signal, late]) one?.removeEventListener("abort", abort);
    }
  }

  /**
   * Judges an attempt at a workflow step.
   *
   * @param {string} run @param {string} step @param {Attempt} attempt
   * @param {CallOptions & { begunBy?: string }} [options]
   * @returns {Promise<Acceptance>}
   */
  async accept(run, step, attempt, { begunBy, ...options } = {}) {
    const path = `/v1/steps/${part(run)}/${part(step)}/attempts`;
    return this.#postOnce(path, attempt, { ...options, query: { begun_by: begunBy } });
  }

  /**
   * Decides on an action; a `Guard` also checks the answer.
   *
   * @param {object} request docs/decisions.md, the plain form or the runtime's
   * @param {WriteOptions & { policy?: string | undefined }} [options] `policy` is the name of one of the server's policies
   * @returns {Promise<DecisionReceipt>}
   */
  async decide(request, options) {
    return parsed(await this.decideText(JSON.stringify(request), options));
  }

  /**
   * As `decide`, from JSON to the signed receipt as the server wrote it.
   *
   * @param {string} request
   * @param {WriteOptions & { policy?: string | undefined }} [options]
   * @returns {Promise<string>}
   */
  async decideText(request, { policy, ...options } = {}) {
    return (await this.#sendText("/v1/decisions", request, { ...options, query: { policy } })).text;
  }

  /**
   * A stored decision, with its reviews.
   *
   * @param {string} id @param {CallOptions} [options]
   * @returns {Promise<StoredDecision>}
   */
  decision(id, options) {
    return this.#get(`/v1/decisions/${part(id)}`, options);
  }

  /**
   * How many reviews of a decision there are.
   *
   * @param {string} id @param {CallOptions} [options]
   * @returns {Promise<number>}
   */
  async reviewed(id, options) {
    const { reviews } = await this.decision(id, options);
    if (!Array.isArray(reviews)) throw new ProofmarkError("malformed_answer", "the answer of the server has no `reviews`");
    return reviews.length;
  }

  /**
   * The page of a decision, for people.
   *
   * @param {string} id
   * @returns {string}
   */
  pageOf(id) {
    return `${this.#baseUrl}/ui/decisions/${part(id)}`;
  }

  /**
   * Reports an execution, which is compared with its decision.
   *
   * @param {{ decisionId: string, executed: boolean, args?: unknown }} execution
   * @param {WriteOptions} [options]
   * @returns {Promise<Reported>}
   */
  async report({ decisionId, executed, args }, options) {
    const trace = args === undefined ? {} : { downstream_trace: { args } };
    const observed_execution = { decision_id: decisionId, side_effect_executed: executed, ...trace };
    return (await this.#post("/v4/runtime/boundaries/executions/report", { observed_execution }, options)).document;
  }

  /**
   * Decisions that wait for a review.
   *
   * @param {CallOptions & { whose?: "mine" | "all", environment?: string, amount?: number, limit?: number, after?: string }} [options]
   * @returns {Promise<DecisionPage>}
   */
  reviews({ signal, timeoutMs, ...query } = {}) {
    return this.#get("/v1/reviews", { signal, timeoutMs, query });
  }

  /**
   * Approves or denies a decision that waits for a review.
   *
   * @param {string} id @param {Review} review @param {CallOptions} [options]
   * @returns {Promise<JsonObject>}
   */
  async review(id, review, options) {
    return this.#postOnce(`/v1/reviews/${part(id)}`, review, options);
  }

  /**
   * A stored receipt; `signer` selects one where several have issued one with this id.
   *
   * @param {string} id @param {CallOptions & { signer?: string }} [options]
   * @returns {Promise<Receipt>}
   */
  receipt(id, { signer, ...options } = {}) {
    return this.#get(`/v1/receipts/${part(id)}`, { ...options, query: { signer } });
  }

  /**
   * The receipts of a receipt's chain, and the signed head of the chain.
   *
   * @param {string} id @param {CallOptions & { limit?: number, after?: string }} [options]
   * @returns {Promise<Chain>}
   */
  chain(id, { limit, after, ...options } = {}) {
    return this.#get(`/v1/receipts/${part(id)}/chain`, { ...options, query: { limit, after } });
  }

  /**
   * Spends a receipt, once.
   *
   * @param {string} id
   * @param {{ accept?: readonly string[] } & JsonObject} [terms] docs/commerce.md
   * @param {CallOptions} [options]
   * @returns {Promise<JsonObject>}
   */
  async redeem(id, terms = {}, options) {
    return this.#postOnce(`/v1/receipts/${part(id)}/redeem`, terms, options);
  }

  /**
   * @param {string} path @param {CallOptions & { query?: Query }} [options]
   * @returns {Promise<any>}
   */
  async #get(path, options) {
    return parsed((await exchange(this.#sent("GET", path, options))).text);
  }

  /**
   * For what reads no idempotency key: it is not sent again where it may have been carried out.
   *
   * @param {string} path @param {unknown} body @param {CallOptions & { query?: Query }} [options]
   * @returns {Promise<any>}
   */
  async #postOnce(path, body, options) {
    const sent = { ...options, headers: { "content-type": "application/json" } };
    return parsed((await exchange(this.#sent("POST", path, sent, JSON.stringify(body)))).text);
  }

  /**
   * @param {string} path @param {unknown} body @param {WriteOptions & { query?: Query, headers?: Record<string, string> }} [options]
   * @returns {Promise<{ status: number, document: any }>}
   */
  async #post(path, body, options) {
    const { status, text } = await this.#sendText(path, JSON.stringify(body), options);
    return { status, document: parsed(text) };
  }

  /** @param {string} path @param {string} body @param {WriteOptions & { query?: Query, headers?: Record<string, string> }} [options] */
  #sendText(path, body, { idempotencyKey = randomUUID(), headers, ...options } = {}) {
    const all = { "content-type": "application/json", "idempotency-key": idempotencyKey, ...headers };
    return exchange(this.#sent("POST", path, { ...options, headers: all }, body));
  }

  /**
   * @param {string} method @param {string} path
   * @param {CallOptions & { query?: Query, headers?: Record<string, string> }} [options]
   * @param {string} [body]
   * @returns {import("./http.js").Sent}
   */
  #sent(method, path, { query = {}, headers = {}, signal, timeoutMs = this.#timeoutMs } = {}, body) {
    const url = new URL(this.#baseUrl + path);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const key = this.#apiKey === undefined ? {} : { authorization: `Bearer ${this.#apiKey}` };
    return { method, url, body, headers: { accept: "application/json", ...headers, ...key }, signal, timeoutMs: milliseconds("timeoutMs", timeoutMs) };
  }
}

/** A part of a path. @param {string} text */
function part(text) {
  if (typeof text !== "string" || text === "" || /^\.{1,2}$/.test(text)) throw new TypeError(`invalid id \`${String(text)}\``);
  return encodeURIComponent(text);
}

/** @param {string} text @returns {any} */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new ProofmarkError("malformed_answer", "the answer of the server is not JSON");
  }
}

/** @param {string} text */
function readUrl(text) {
  const help = "write it as in http://127.0.0.1:8700";
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) throw new TypeError(`invalid URL of the server: ${help}`);
  // A password would appear in messages and logs.
  if (url.username || url.password) throw new TypeError("the URL of the server has a user or a password: pass an `apiKey`");
  if (url.search || url.hash) throw new TypeError(`the URL of the server has a query or a fragment: ${help}`);
  return url.href.replace(/\/+$/, "");
}

/** @param {string | undefined} key @param {string} server */
function readKey(key, server) {
  if (key === undefined) return undefined;
  if (!/^[\x21-\x7e]+$/.test(key)) throw new TypeError("invalid API key: it has characters that no key has");
  const { protocol, hostname } = new URL(server);
  if (protocol === "http:" && !isLoopback(hostname)) {
    throw new TypeError(`an API key is sent over HTTPS, or on this host, and \`${server}\` is neither: write \`https://\``);
  }
  return key;
}

/** @param {string} host as `URL` writes it: addresses in their shortest form */
function isLoopback(host) {
  return host === "localhost" || host === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(host);
}
