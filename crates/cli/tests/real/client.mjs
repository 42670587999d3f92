// The official TypeScript client: says what each session of a file of sessions says to it. `client.mjs MODULES SESSIONS`.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [modules, sessions] = process.argv.slice(2);
const sdk = (file) => import(pathToFileURL(`${modules}/@modelcontextprotocol/sdk/dist/esm/${file}`));
const { Client } = await sdk("client/index.js");
const { StdioClientTransport } = await sdk("client/stdio.js");
const types = await sdk("types.js");

const step = async (client, [what, ...rest]) => {
  switch (what) {
    case "call": {
      // Which progress is told depends on when the answer comes.
      const onprogress = () => {};
      return client.callTool({ name: rest[0], arguments: rest[1] }, undefined, { onprogress });
    }
    case "read":
      return client.readResource({ uri: rest[0] });
    case "subscribe":
      return client.subscribeResource({ uri: rest[0] });
    case "prompt":
      return client.getPrompt({ name: rest[0], arguments: rest[1] });
    case "complete":
      return client.complete({ ref: { type: "ref/prompt", name: rest[0] }, argument: rest[1] });
    case "lists": {
      const lists = ["listTools", "listResources", "listResourceTemplates", "listPrompts"].slice(0, rest[0]);
      const said = [];
      for (const list of lists) said.push(await client[list]());
      return said;
    }
    case "ping":
      return client.ping();
  }
};

const told = async ({ command, steps }) => {
  const transport = new StdioClientTransport({ command: command[0], args: command.slice(1), env: process.env });
  const capabilities = { sampling: {}, elicitation: {}, roots: {} };
  const client = new Client({ name: "typescript", version: "1" }, { capabilities });
  client.setRequestHandler(types.CreateMessageRequestSchema, () => ({
    role: "assistant", content: { type: "text", text: "four" }, model: "none",
  }));
  client.setRequestHandler(types.ElicitRequestSchema, () => ({ action: "accept", content: { name: "Ada", check: true } }));
  client.setRequestHandler(types.ListRootsRequestSchema, () => ({ roots: [{ uri: "file:///tmp", name: "tmp" }] }));
  await client.connect(transport);
  const said = [client.getServerCapabilities(), client.getInstructions()];
  for (const one of steps) said.push(await step(client, one).catch((error) => ["error", String(error)]));
  await client.close();
  return said;
};

console.log(JSON.stringify(await Promise.all(JSON.parse(readFileSync(sessions)).map(told))));
