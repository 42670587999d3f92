// Written by `proofmark hook install opencode`. `proofmark hook uninstall opencode` removes it.
// A call runs only after this command has answered that it may.
const COMMAND = [];
const TIMEOUT_MS = 60000;

import { spawn } from "node:child_process";

function ask(event) {
  return new Promise((resolve) => {
    const child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"] });
    let text = "";
    const timer = setTimeout(() => child.kill("SIGKILL"), TIMEOUT_MS);
    const end = (code) => {
      clearTimeout(timer);
      try {
        resolve((code === 0 && JSON.parse(text)) || {});
      } catch {
        resolve({});
      }
    };
    child.on("error", () => end(-1));
    child.on("close", end);
    child.stdin.on("error", () => {});
    child.stdout.setEncoding("utf8");
    child.stdout.on("data", (part) => (text += part));
    child.stdin.end(JSON.stringify({ protocol: 1, ...event }));
  });
}

// The first session of those that started this one: a subagent has a session of its own.
const roots = new Map();

async function rootOf(client, id) {
  if (!roots.has(id)) {
    const found = await client.session.get({ path: { id } });
    if (found?.data?.id !== id) throw new Error("Not executed: the session cannot be found. Do not report this step as done.");
    roots.set(id, found.data.parentID ? await rootOf(client, found.data.parentID) : id);
  }
  return roots.get(id);
}

async function about(client, id) {
  const root = await rootOf(client, id);
  return root === id ? { sessionID: id } : { sessionID: root, agentID: id };
}

export const Proofmark = async ({ client, directory }) => ({
  "tool.execute.before": async ({ tool, sessionID, callID }, { args }) => {
    const session = await about(client, sessionID);
    const answer = await ask({ event: "tool.execute.before", ...session, callID, tool, args, directory });
    if (answer.decision !== "allow") {
      throw new Error(answer.reason || "Not executed: the policy gave no answer. Do not report this step as done.");
    }
  },
  "tool.execute.after": async ({ tool, sessionID, callID, args }, { output, metadata }) => {
    const session = await about(client, sessionID);
    await ask({ event: "tool.execute.after", ...session, callID, tool, args, directory, output, metadata });
  },
});
