// A server over HTTP that passes the official conformance suite: `conformance.mjs MODULES` prints its port.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

import { answer, isStateless } from "./conformance_stateless.mjs";

const sdk = (name) => import(pathToFileURL(`${process.argv[2]}/@modelcontextprotocol/sdk/dist/esm/${name}`));
const { Server } = await sdk("server/index.js");
const { StreamableHTTPServerTransport } = await sdk("server/streamableHttp.js");
const types = await sdk("types.js");

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";
const text = (text) => ({ type: "text", text });
const image = { type: "image", data: PNG, mimeType: "image/png" };
const embedded = (uri, text, mimeType = "text/plain") => ({ type: "resource", resource: { uri, mimeType, text } });
const soon = (millis) => new Promise((done) => setTimeout(done, millis));
const plain = { type: "object", properties: {} };

const elicited = async (extra, properties, required = []) => {
  const params = { mode: "form", message: "Please say", requestedSchema: { type: "object", properties, required } };
  const { action, content } = await extra.sendRequest({ method: "elicitation/create", params }, types.ElicitResultSchema);
  return { content: [text(`Elicitation completed: action=${action}, content=${JSON.stringify(content)}`)] };
};
const titled = (...names) => names.map((title, index) => ({ const: `value${index + 1}`, title }));
const options = ["option1", "option2", "option3"];

const tools = {
  test_simple_text: () => ({ content: [text("This is a simple text response for testing.")] }),
  test_image_content: () => ({ content: [image] }),
  test_audio_content: () => ({ content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }] }),
  test_embedded_resource: () => ({ content: [embedded("test://embedded-resource", "This is an embedded resource content.")] }),
  test_multiple_content_types: () => ({
    content: [text("Multiple content types test:"), image,
      embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")],
  }),
  test_tool_with_logging: async (_, extra) => {
    for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      await extra.sendNotification({ method: "notifications/message", params: { level: "info", data } });
      await soon(50);
    }
    return { content: [text("logged")] };
  },
  test_error_handling: () => ({ isError: true, content: [text("This tool intentionally returns an error for testing")] }),
  test_tool_with_progress: async (_, extra) => {
    const progressToken = extra._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) {
        await extra.sendNotification({ method: "notifications/progress", params: { progressToken, progress, total: 100 } });
      }
      await soon(50);
    }
    return { content: [text(String(progressToken))] };
  },
  test_sampling: async ({ prompt }, extra) => {
    const params = { messages: [{ role: "user", content: text(prompt) }], maxTokens: 100 };
    const result = await extra.sendRequest({ method: "sampling/createMessage", params }, types.CreateMessageResultSchema);
    return { content: [text(`LLM response: ${result.content.text}`)] };
  },
  test_elicitation: (_, extra) => elicited(extra, { response: { type: "string", description: "User's response" } }, ["response"]),
  test_elicitation_sep1034_defaults: (_, extra) => elicited(extra, {
    name: { type: "string", default: "John Doe" },
    age: { type: "integer", default: 30 },
    score: { type: "number", default: 95.5 },
    status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
    verified: { type: "boolean", default: true },
  }),
  test_elicitation_sep1330_enums: (_, extra) => elicited(extra, {
    untitledSingle: { type: "string", enum: options },
    titledSingle: { type: "string", oneOf: titled("First Option", "Second Option", "Third Option") },
    legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"], enumNames: ["Option One", "Option Two", "Option Three"] },
    untitledMulti: { type: "array", items: { type: "string", enum: options } },
    titledMulti: { type: "array", items: { anyOf: titled("First Choice", "Second Choice", "Third Choice") } },
  }),
  test_reconnection: async (_, extra) => {
    // The answer comes on the stream that the client opens again.
    extra.closeSSEStream?.();
    await soon(100);
    return { content: [text("reconnected")] };
  },
  json_schema_2020_12_tool: () => ({ content: [text("{}")] }),
};
const schemas = {
  json_schema_2020_12_tool: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    $defs: {
      address: { $anchor: "addressDef", type: "object", properties: { street: { type: "string" }, city: { type: "string" } } },
    },
    properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" }, phone: { type: "string" } },
    allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["name"] }] }],
    if: { properties: { name: { const: "Ada" } }, required: ["name"] },
    then: { required: ["address"] },
    else: {},
    additionalProperties: false,
  },
};
const resources = {
  "test://static-text": { mimeType: "text/plain", text: "This is the content of the static text resource." },
  "test://static-binary": { mimeType: "image/png", blob: PNG },
  "test://watched-resource": { mimeType: "text/plain", text: "watched" },
};
const prompts = {
  test_simple_prompt: [[], () => [text("This is a simple prompt for testing.")]],
  test_prompt_with_arguments: [["arg1", "arg2"], ({ arg1, arg2 }) => [text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)]],
  test_prompt_with_embedded_resource: [["resourceUri"], ({ resourceUri }) =>
    [embedded(resourceUri, "Embedded resource content for testing."), text("Please process the embedded resource above.")]],
  test_prompt_with_image: [[], () => [image, text("Please analyze the image above.")]],
};

// What the server is in all revisions. `call`, `read` and `prompt` give nothing for what it does not know.
const shared = {
  tools: () => Object.keys(tools).map((name) => ({ name, description: name, inputSchema: schemas[name] ?? plain })),
  call: ({ name, arguments: given = {} }, extra) => tools[name]?.(given, extra),
  resources: () => Object.entries(resources).map(([uri, { mimeType }]) => ({ uri, name: uri, description: uri, mimeType })),
  templates: () => [{ uriTemplate: "test://template/{id}/data", name: "template", mimeType: "application/json" }],
  read: (uri) => {
    const id = /^test:\/\/template\/(.*)\/data$/.exec(uri)?.[1];
    const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
    const found = resources[uri] ?? (id && { mimeType: "application/json", text: data });
    return found && [{ uri, ...found }];
  },
  prompts: () => Object.entries(prompts).map(([name, [names]]) => ({
    name, description: name, arguments: names.map((name) => ({ name, description: name, required: true })),
  })),
  prompt: ({ name, arguments: given = {} }) => prompts[name]?.[1](given).map((content) => ({ role: "user", content })),
};

const made = () => {
  const capabilities = { tools: {}, resources: { subscribe: true }, prompts: {}, logging: {}, completions: {} };
  const server = new Server({ name: "conformance", version: "1" }, { capabilities });
  const on = (schema, handle) => server.setRequestHandler(schema, handle);
  on(types.ListToolsRequestSchema, () => ({ tools: shared.tools() }));
  on(types.CallToolRequestSchema, ({ params }, extra) => shared.call(params, extra));
  on(types.ListResourcesRequestSchema, () => ({ resources: shared.resources() }));
  on(types.ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: shared.templates() }));
  on(types.ReadResourceRequestSchema, ({ params: { uri } }) => ({ contents: shared.read(uri) }));
  on(types.SubscribeRequestSchema, () => ({}));
  on(types.UnsubscribeRequestSchema, () => ({}));
  on(types.ListPromptsRequestSchema, () => ({ prompts: shared.prompts() }));
  on(types.GetPromptRequestSchema, ({ params }) => ({ messages: shared.prompt(params) }));
  on(types.CompleteRequestSchema, () => ({ completion: { values: [], total: 0, hasMore: false } }));
  on(types.SetLevelRequestSchema, () => ({}));
  return server;
};

// What was said on each stream, for those who open it again.
const said = [];
const eventStore = {
  async storeEvent(stream, message) {
    return String(said.push([stream, message]));
  },
  async getStreamIdForEventId(id) {
    return said[id - 1]?.[0];
  },
  async replayEventsAfter(last, { send }) {
    const stream = said[last - 1]?.[0];
    for (let at = Number(last); at < said.length; at++) {
      if (said[at][0] === stream && said[at][1].jsonrpc) await send(String(at + 1), said[at][1]);
    }
    return stream;
  },
};
const sessions = {};
const http = createServer(async (request, response) => {
  const local = /^(localhost|127\.0\.0\.1)(:\d+)?$/;
  const origin = request.headers.origin;
  if (!local.test(request.headers.host ?? "") || (origin && !local.test(new URL(origin).host))) {
    return response.writeHead(403).end();
  }
  if (isStateless(request)) return answer(request, response, shared);
  let transport = sessions[request.headers["mcp-session-id"]];
  if (!transport) {
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore,
      retryInterval: 500,
      onsessioninitialized: (id) => (sessions[id] = transport),
    });
    await made().connect(transport);
  }
  await transport.handleRequest(request, response);
});
http.listen(0, "127.0.0.1", () => console.log(http.address().port));
