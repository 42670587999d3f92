/** Shared by the tests: the real program, its servers, and servers with wrong answers. */

import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

import { Client } from "proofmark";

export const BINARY = process.env.PROOFMARK_BINARY ?? "proofmark";
/** Work that passes its tests. */
export const SORT = {
  task: { task_id: "sort", description: "Sort a list" },
  output: { content: "def sort_list(xs):\n    return sorted(xs)\n" },
  verification: {
    kind: "test_suite", language: "python", entrypoint: "sort_list",
    tests: [{ name: "basic", input: [[3, 1, 2]], expected_output: [1, 2, 3] }, { name: "empty", input: [[]], expected_output: [] }],
  },
};
export const WORKFLOW = fileURLToPath(new URL("workflow.yaml", import.meta.url));
export const POLICY = fileURLToPath(new URL("policy.yaml", import.meta.url));

/** What ends what the tests began, the last one first. A hook that a test makes would run when that test ends. */
const ends = [];
after(async () => {
  for (const end of ends.reverse()) await end();
});

/** A folder that is removed after the tests. */
export function folder() {
  const path = mkdtempSync(join(tmpdir(), "proofmark-npm-"));
  ends.push(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Runs the program; what it prints. */
export function proofmark(home, words, input = "") {
  return execFileSync(BINARY, words, { input, cwd: home, env: { ...process.env, PROOFMARK_HOME: home }, stdio: ["pipe", "pipe", "ignore"] }).toString();
}

/** A home in which `ann` may approve as `finance`, and `eve` as `owner`, with their own keys. */
export function homeWithReviewers() {
  const home = folder(), policy = join(home, "policy.yaml");
  copyFileSync(POLICY, policy);
  for (const [name, role] of [["ann", "finance"], ["eve", "owner"]]) {
    proofmark(home, ["key", "new", name]);
    proofmark(home, ["reviewer", "add", name, "--key", name, "--role", role, "--policy", policy]);
  }
  return { home, policy };
}

/** Starts a server. */
export async function served(home, words) {
  const child = spawn(BINARY, ["serve", ...words, "--listen", "127.0.0.1:0"], {
    cwd: home, env: { ...process.env, PROOFMARK_HOME: home }, stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = new Promise(resolve => child.once("exit", resolve));
  const stop = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  ends.push(stop);
  const baseUrl = await new Promise((resolve, reject) => {
    let said = "";
    child.stderr.on("data", chunk => {
      said += chunk;
      const url = /serving on (http:[\d./:]+)[^\d./:]/.exec(said);
      if (url) resolve(url[1]);
    });
    child.once("exit", code => reject(new Error(`the server ended with ${code}: ${said}`)));
  });
  return { baseUrl, stop };
}

/** A server with keys of an agent and of two reviewers. */
export async function serve() {
  const home = folder(), keys = join(home, "keys.json");
  const key = (...words) => proofmark(home, ["api-key", "add", "--api-keys", keys, ...words]).trim();
  const agentKey = key("bot", "agent"), ann = key("ann", "reviewer", "--holds", "finance"), eve = key("eve", "reviewer", "--holds", "owner");
  const { baseUrl, stop } = await served(home, ["--policy", POLICY, "--api-keys", keys]);
  const client = (apiKey, more) => new Client({ baseUrl, apiKey, ...more });
  const signer = () => proofmark(home, ["key", "show", "--as", "pem"]);
  return { baseUrl, home, stop, agentKey, signer, agent: client(agentKey), ann: client(ann), eve: client(eve), client };
}

/** A server that answers as `handler` says. */
export async function fake(handler) {
  const server = createServer(handler);
  await new Promise(resolve => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}`;
}

/** An address at which nothing answers any more. */
export async function gone() {
  const server = createServer();
  await new Promise(resolve => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise(resolve => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

/** Answers with JSON, or with what looks like it to a client. */
export const json = (response, text, status = 200) => response.writeHead(status, { "content-type": "application/json" }).end(text);

const ALLOWS = '{"outcome": "allow", "safe_to_execute": true, "verdict": "pass"}';
const fakes = handlers => Promise.all(handlers.map(async handler => ({ baseUrl: await fake((_, response) => handler(response)) })));

/** What makes clients of servers that give no answer which counts, by what is wrong with it. Nothing may run, or pass, after it. */
export const UNANSWERED = {
  "the server is gone": async () => [{ baseUrl: await gone() }, ...await fakes([response => response.destroy()])],
  "the answer is late": async () => {
    const late = await fakes([() => {}, response => response.writeHead(200, { "content-type": "application/json" }).write(ALLOWS)]);
    return late.map(client => ({ ...client, timeoutMs: 50 }));
  },
  "the answer is malformed": () => fakes(["", "{}", ALLOWS, "<p>allow"].map(text => response => json(response, text))),
  "the answer is an error": () => fakes([
    response => json(response, ALLOWS, 500),
    response => json(response, '{"error": {"code": "forbidden", "message": "The server refuses this key.", "retryable": false}}', 403),
  ]),
};

/** The body of a request. */
export async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Waits until something is there. */
export async function until(find) {
  for (;;) {
    const found = await find();
    if (found) return found;
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}

/** A function that records what it ran with. */
export function recorded() {
  const inputs = [];
  return { inputs, run: async input => void inputs.push(input) };
}

export const read = file => readFileSync(file, "utf8");
