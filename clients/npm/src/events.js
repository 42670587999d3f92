/** Server-sent events, as far as the server writes them. */

import { ProofmarkError } from "./problem.js";

/** The longest event, in characters: a job with its receipt. */
const MAX_EVENT = 4 << 20;
/** What an event ends with. */
const END = /\r?\n\r?\n/;
/** How many characters of it may be there before the last one. */
const BEFORE_LAST = 3;

/**
 * The data of each event.
 *
 * @param {AsyncIterable<Uint8Array>} bytes
 * @returns {AsyncGenerator<string, void>}
 */
export async function* eventData(bytes) {
  const decoder = new TextDecoder();
  // The event that has not ended: its end can only begin in `tail`, so no chunk is looked at again.
  let head = "", tail = "";
  for await (const chunk of bytes) {
    const events = (tail + decoder.decode(chunk, { stream: true })).split(END);
    const rest = events.pop() ?? "";
    for (const end of events) {
      const event = bounded(head + end);
      head = "";
      const lines = event.split(/\r?\n/).filter(line => line.startsWith("data:"));
      if (lines.length > 0) yield lines.map(line => line.slice(5).replace(/^ /, "")).join("\n");
    }
    head = bounded(head + rest.slice(0, -BEFORE_LAST));
    tail = rest.slice(-BEFORE_LAST);
  }
}

/** @param {string} event */
function bounded(event) {
  if (event.length > MAX_EVENT) throw new ProofmarkError("malformed_answer", `an event is longer than ${MAX_EVENT} characters`);
  return event;
}
