// A server by the TypeScript SDK whose tool `delete` writes a file: `sdk.mjs MODULES FILE`.
import { appendFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [modules, file] = process.argv.slice(2);
const sdk = (name) => import(pathToFileURL(`${modules}/@modelcontextprotocol/sdk/dist/esm/${name}`));
const { McpServer } = await sdk("server/mcp.js");
const { StdioServerTransport } = await sdk("server/stdio.js");

const server = new McpServer({ name: "sdk", version: "1" });
const text = (text) => ({ content: [{ type: "text", text }] });
server.registerTool("delete", { description: "deletes" }, () => {
  appendFileSync(file, "delete\n");
  return text("deleted");
});
server.registerTool("read", { description: "reads" }, () => text("ok read"));
await server.connect(new StdioServerTransport());
