/** A server of Anthropic's Messages API, whose model calls one tool once. */

import { bodyOf, fake } from "../support.js";

const USAGE = { input_tokens: 1, output_tokens: 1 };

/** The address of the server, and what its model was told of the call. */
export async function anthropic(tool, args) {
  const told = [];
  const url = await fake(async (request, response) => {
    const asked = request.method === "POST" && request.url.startsWith("/v1/messages?") ? JSON.parse(await bodyOf(request)) : undefined;
    if (!asked?.stream) return response.writeHead(200, { "content-type": "application/json" }).end('{"input_tokens": 1}');
    const results = resultsOf(asked.messages);
    told.push(...results);
    // Hosts ask for titles and the like without tools.
    const calls = asked.tools?.length > 0 && results.length === 0;
    const events = calls ? called(tool, args) : said("done");
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(events.map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""));
  });
  return { url, told };
}

/** What messages say of calls. */
export function resultsOf(messages) {
  const results = messages.flatMap(({ content }) => content).filter(({ type }) => type === "tool_result");
  return results.map(({ content }) => typeof content === "string" ? content : content.map(({ text }) => text).join(" "));
}

const called = (name, args) => message({ type: "tool_use", id: "toolu_1", name, input: {} }, { type: "input_json_delta", partial_json: JSON.stringify(args) }, "tool_use");
const said = text => message({ type: "text", text: "" }, { type: "text_delta", text }, "end_turn");

function message(content_block, delta, stop_reason) {
  const message = {
    id: "msg_1", type: "message", role: "assistant", model: "claude-sonnet-4-5", content: [], stop_reason: null, stop_sequence: null, usage: USAGE,
  };
  return [
    { type: "message_start", message },
    { type: "content_block_start", index: 0, content_block },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: USAGE },
    { type: "message_stop" },
  ];
}
