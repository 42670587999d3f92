/** The events of a job, in whatever pieces they arrive. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client, ProofmarkError } from "proofmark";

/** The longest event, in characters. */
const LONGEST = 4 << 20;

/** What `events` gives for a stream whose chunks are of this size. */
async function followed(t, bytes, size) {
  const chunks = (function* () {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  })();
  t.mock.method(globalThis, "fetch", async () => new Response(ReadableStream.from(chunks), { headers: { "content-type": "text/event-stream" } }));
  const jobs = [];
  try {
    for await (const job of new Client({ baseUrl: "http://127.0.0.1:1" }).events("a")) jobs.push(job);
  } catch (error) {
    assert.ok(error instanceof ProofmarkError, `${error}`);
    return [...jobs, error.message];
  } finally {
    t.mock.restoreAll();
  }
  return jobs;
}

test("events are the same at every size of chunks", async t => {
  const texts = [
    ": here\n\n", "event: running\ndata: {\"state\": \"running\", \"é\": \"\u{1f600} ü\u2028\"}\n\n", "\n", ": here\n\n\n\n",
    "data:{\"state\":\ndata: \"waiting\"}\nid: 1\n\n", "event: done\ndata: {\"state\": \"done\", \"checks\": [\"\u{1f600}\"]}\n\n",
  ];
  const expected = [{ state: "running", "é": "\u{1f600} ü\u2028" }, { state: "waiting" }, { state: "done", checks: ["\u{1f600}"] }];
  const mixed = texts.join("").replaceAll("\n\n", "\r\n\n"), other = texts.join("").replaceAll("\n\n", "\n\r\n");
  for (const text of [texts.join(""), texts.join("").replaceAll("\n", "\r\n"), mixed, other]) {
    const bytes = Buffer.from(text);
    for (let size = 1; size <= bytes.length; size++) assert.deepEqual(await followed(t, bytes, size), expected, `${size}`);
  }
});

test("a long event is read in time that grows with its length", async t => {
  const job = { state: "done", note: "é".repeat(LONGEST - 100) };
  // Of the processor: the machine may be busy.
  const began = process.cpuUsage();
  assert.deepEqual(await followed(t, Buffer.from(`data: ${JSON.stringify(job)}\r\n\r\n`), 1 << 10), [job]);
  const { user, system } = process.cpuUsage(began);
  assert.ok(user + system < 5e6, `${user + system} µs`);
});

test("an event that is too long is refused at every size of chunks, after those before it", async t => {
  const first = "data: {\"state\": \"running\"}\n\n", rest = "data: {\"state\": \"done\"}", refused = `an event is longer than ${LONGEST} characters`;
  for (const size of [1 << 10, 1 << 16, LONGEST - 1, LONGEST + 1, 2 * LONGEST]) {
    for (const [more, last] of [[0, { state: "done" }], [1, refused]]) {
      const bytes = Buffer.from(`${first}${rest.padEnd(LONGEST + more)}\r\n\r\n`);
      assert.deepEqual(await followed(t, bytes, size), [{ state: "running" }, last], `${size}`);
    }
    assert.deepEqual(await followed(t, Buffer.from(first + " ".repeat(LONGEST + 4)), size), [{ state: "running" }, refused], `${size}`);
  }
});
