// The revision 2026-07-28 of the server in conformance.mjs: every request stands for itself, and what the server wants to know of
// the client it asks for in a result.
import { createHmac, randomBytes } from "node:crypto";

const REVISION = "2026-07-28";
const OLDER = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const KEY = "io.modelcontextprotocol/";
const CACHED = { ttlMs: 0, cacheScope: "private" };
const CAPABILITIES = {
  tools: { listChanged: true }, resources: {}, prompts: { listChanged: true }, logging: {}, completions: {},
};
const HEADER_MISMATCH = -32020;
const MISSING_CAPABILITY = -32021;
const UNSUPPORTED_VERSION = -32022;
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const STATUS = {
  [HEADER_MISMATCH]: 400, [MISSING_CAPABILITY]: 400, [UNSUPPORTED_VERSION]: 400, [METHOD_NOT_FOUND]: 404,
};

class Refusal extends Error {
  constructor(code, message, data, status = STATUS[code] ?? 200) {
    super(message);
    Object.assign(this, { code, data, status });
  }
}

const text = (text) => ({ type: "text", text });
const form = (message, name, type = "string") => ({
  method: "elicitation/create",
  params: { mode: "form", message, requestedSchema: { type: "object", properties: { [name]: { type } }, required: [name] } },
});
const sampling = (message) => ({
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: text(message) }], maxTokens: 100 },
});
const roots = { method: "roots/list", params: {} };

// What is handed out is signed, so that it comes back unchanged.
const secret = randomBytes(32);
const signed = (state) => `${state}.${createHmac("sha256", secret).update(state).digest("hex")}`;
const stateOf = (params) => {
  if (params.requestState === undefined) return undefined;
  const state = String(params.requestState).split(".")[0];
  if (signed(state) !== params.requestState) throw new Refusal(INVALID_PARAMS, "the state was changed");
  return state;
};
const answered = (params, names) => names.every((name) => typeof params.inputResponses?.[name] === "object");
const asks = (inputRequests, state) => ({
  resultType: "input_required", inputRequests, ...(state && { requestState: signed(state) }),
});
/** A tool that asks once. */
const asking = (inputRequests, state) => ({ params }) => {
  if (answered(params, Object.keys(inputRequests)) && stateOf(params) === state) return { content: [text("state-ok")] };
  return asks(inputRequests, state);
};

const listeners = new Set();
const changed = (what) => () => {
  listeners.forEach((listener) => listener(what));
  return { content: [text("changed")] };
};
const tools = {
  test_missing_capability: ({ capabilities }) => {
    if (capabilities.sampling) return { content: [text("sampled")] };
    throw new Refusal(MISSING_CAPABILITY, "sampling is needed", { requiredCapabilities: { sampling: {} } });
  },
  test_streaming_elicitation: ({ stream }) => {
    stream();
    return asks({ user_name: form("What is your name?", "name") });
  },
  test_logging_tool: async ({ meta, notify }) => {
    if (meta[`${KEY}logLevel`]) await notify("notifications/message", { level: "info", data: "logged" });
    return { content: [text("logged")] };
  },
  test_trigger_tool_change: changed("tools"),
  test_trigger_prompt_change: changed("prompts"),
  test_custom_header: () => ({ content: [text("taken")] }),
  test_input_required_result_elicitation: asking({ user_name: form("What is your name?", "name") }),
  test_input_required_result_sampling: asking({ capital_question: sampling("What is the capital of France?") }),
  test_input_required_result_list_roots: asking({ client_roots: roots }),
  test_input_required_result_request_state: asking({ confirm: form("Please confirm", "ok", "boolean") }, "confirm"),
  test_input_required_result_tampered_state: asking({ confirm: form("Please confirm", "ok", "boolean") }, "tampered"),
  test_input_required_result_multiple_inputs: asking({
    user_name: form("What is your name?", "name"), greeting: sampling("Generate a greeting"), client_roots: roots,
  }, "many"),
  test_input_required_result_multi_round: ({ params }) => {
    const state = stateOf(params);
    if (state === "two" && answered(params, ["step2"])) return { content: [text("done")] };
    if (state && answered(params, ["step1"])) return asks({ step2: form("What is your favorite color?", "color") }, "two");
    return asks({ step1: form("What is your name?", "name") }, "one");
  },
  test_input_required_result_capabilities: ({ params, capabilities }) => {
    const all = { elicitation: form("What is your name?", "name"), sampling: sampling("Say something"), roots };
    const known = Object.fromEntries(Object.entries(all).filter(([name]) => capabilities[name]));
    return answered(params, Object.keys(known)) ? { content: [text("done")] } : asks(known);
  },
};
const prompt = asking({ user_context: form("What context should the prompt use?", "context") });
const region = { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } };

/** The value of a header: as it is, or as Base64 says it. */
const decoded = (value) => {
  const packed = /^=\?base64\?(.*)\?=$/.exec(value)?.[1];
  if (packed === undefined) return value;
  const bytes = Buffer.from(packed, "base64");
  if (bytes.toString("base64") !== packed) throw new Refusal(HEADER_MISMATCH, "a header is not Base64");
  return bytes.toString();
};

const held = (headers, name, value) => {
  const said = headers[name] === undefined ? undefined : decoded(headers[name]);
  if (said !== value) throw new Refusal(HEADER_MISMATCH, `the header ${name} is not what the body says`);
};

const checked = ({ headers }, { method, params }) => {
  const meta = params?._meta;
  const version = meta?.[`${KEY}protocolVersion`];
  const capabilities = meta?.[`${KEY}clientCapabilities`];
  if (version === undefined || typeof capabilities !== "object") {
    throw new Refusal(INVALID_PARAMS, "`_meta` is not complete", undefined, 400);
  }
  held(headers, "mcp-protocol-version", version);
  if (version !== REVISION) {
    throw new Refusal(UNSUPPORTED_VERSION, "unsupported version", { supported: [REVISION, ...OLDER], requested: version });
  }
  held(headers, "mcp-method", method);
  if (["tools/call", "prompts/get"].includes(method)) held(headers, "mcp-name", params.name);
  if (method === "resources/read") held(headers, "mcp-name", params.uri);
  if (method === "tools/call") held(headers, "mcp-param-region", params.arguments?.region);
  return { meta, capabilities };
};

/** Whether a request is of this revision, or of one that nobody knows. */
export const isStateless = ({ headers }) => {
  const version = headers["mcp-protocol-version"];
  return version !== undefined && !OLDER.includes(version);
};

/** Answers a request; `shared` has what the server is in all revisions. */
export const answer = async (request, response, shared) => {
  if (request.method !== "POST") return response.writeHead(405).end();
  let body = "";
  for await (const part of request) body += part;
  const message = JSON.parse(body);
  if (message.id === undefined) return response.writeHead(202).end();
  const stream = () => {
    if (!response.headersSent) response.writeHead(200, { "Content-Type": "text/event-stream" });
  };
  const event = (message) => response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  const notify = (method, params) => {
    stream();
    event({ jsonrpc: "2.0", method, params });
  };
  const end = (status, rest) => {
    const answer = { jsonrpc: "2.0", id: message.id, ...rest };
    if (response.headersSent) {
      event(answer);
      return response.end();
    }
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(answer));
  };
  try {
    const { meta, capabilities } = checked(request, message);
    const params = message.params;
    if (message.method === "subscriptions/listen") return listen(message, response, notify);
    const result = await done(message.method, { params, meta, capabilities, notify, stream }, shared);
    const info = { [`${KEY}serverInfo`]: { name: "conformance", version: "1" } };
    end(200, { result: { resultType: "complete", ...result, _meta: info } });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { code, message, data, status } = error;
    end(status, { error: { code, message, ...(data && { data }) } });
  }
};

const listen = ({ id, params }, response, notify) => {
  const of = { _meta: { [`${KEY}subscriptionId`]: String(id) } };
  const wants = params.notifications ?? {};
  notify("notifications/subscriptions/acknowledged", { ...of, notifications: wants });
  const listener = (what) => {
    if (wants[`${what}ListChanged`]) notify(`notifications/${what}/list_changed`, of);
  };
  listeners.add(listener);
  response.on("close", () => listeners.delete(listener));
};

const done = async (method, { params, meta, capabilities, notify, stream }, shared) => {
  const unknown = (what) => new Refusal(INVALID_PARAMS, `unknown ${what}`);
  switch (method) {
    case "server/discover":
      return { supportedVersions: [REVISION, ...OLDER], capabilities: CAPABILITIES, ...CACHED };
    case "tools/list": {
      const own = Object.keys(tools).map((name) => ({
        name, description: name, inputSchema: name === "test_custom_header" ? region : { type: "object", properties: {} },
      }));
      return { tools: [...shared.tools(), ...own], ...CACHED };
    }
    case "tools/call": {
      const context = { params, meta, capabilities, notify, stream };
      if (tools[params.name]) return tools[params.name](context);
      const sendNotification = async ({ method, params }) => {
        if (method !== "notifications/message" || meta[`${KEY}logLevel`]) notify(method, params);
      };
      const called = shared.call(params, { _meta: meta, sendNotification });
      if (!called) throw unknown("tool");
      return called;
    }
    case "resources/list":
      return { resources: shared.resources(), ...CACHED };
    case "resources/templates/list":
      return { resourceTemplates: shared.templates(), ...CACHED };
    case "resources/read": {
      const contents = shared.read(params.uri);
      if (!contents) throw new Refusal(INVALID_PARAMS, "Resource not found", { uri: params.uri });
      return { contents, ...CACHED };
    }
    case "prompts/list": {
      const own = { name: "test_input_required_result_prompt", description: "asks" };
      return { prompts: [...shared.prompts(), own], ...CACHED };
    }
    case "prompts/get": {
      if (params.name === "test_input_required_result_prompt") {
        const result = prompt({ params });
        return result.content ? { messages: [{ role: "user", content: result.content[0] }] } : result;
      }
      const messages = shared.prompt(params);
      if (!messages) throw unknown("prompt");
      return { messages };
    }
    case "completion/complete":
      return { completion: { values: [], total: 0, hasMore: false } };
    default:
      throw new Refusal(METHOD_NOT_FOUND, "method not found");
  }
};
