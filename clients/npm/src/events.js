/** Server-sent events, as far as the server writes them. */

import { ProofmarkError } from "./problem.js";

/** The longest event, in characters: a job with its receipt. */
const MAX_EVENT = 4 << 20;

/**
 * The data of each event.
 *
 * @param {AsyncIterable<Uint8Array>} bytes
 * @returns {AsyncGenerator<string, void>}
 */
export async function* eventData(bytes) {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of bytes) {
    rest += decoder.decode(chunk, { stream: true });
    const events = rest.split(/\r?\n\r?\n/);
    rest = events.pop() ?? "";
    if (rest.length > MAX_EVENT) throw new ProofmarkError("malformed_answer", `an event is longer than ${MAX_EVENT} characters`);
    for (const event of events) {
      const lines = event.split(/\r?\n/).filter(line => line.startsWith("data:"));
      if (lines.length > 0) yield lines.map(line => line.slice(5).replace(/^ /, "")).join("\n");
    }
  }
}
