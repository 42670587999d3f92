// The official TypeScript client over Streamable HTTP: prints what a server says to it. Its arguments are the folder of its
// packages and the URL.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [modules, url] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(createRequire(`${modules}/`).resolve(`${modules}/@modelcontextprotocol/sdk/dist/esm/${path}`)));
const { Client } = await load('client/index.js');
const { StreamableHTTPClientTransport } = await load('client/streamableHttp.js');
const { ElicitRequestSchema, CreateMessageRequestSchema, ListRootsRequestSchema } = await load('types.js');

const client = new Client({ name: 'test', version: '1' }, { capabilities: { sampling: {}, elicitation: {}, roots: {} } });
client.setRequestHandler(CreateMessageRequestSchema, () => ({ model: 'm', role: 'assistant', content: { type: 'text', text: 'sampled' } }));
client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'decline' }));
client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///r', name: 'r' }] }));
const transport = new StreamableHTTPClientTransport(new URL(url));
await client.connect(transport);

const heard = [];
const tell = async (what, ask) => {
  try {
    console.log(what, JSON.stringify(await ask()).slice(0, 3000));
  } catch (error) {
    console.log(what, String(error));
  }
};
const call = (name, args, options) => tell(name, () => client.callTool({ name, arguments: args }, undefined, options));
console.log(JSON.stringify(client.getServerVersion()), JSON.stringify(client.getServerCapabilities()), client.getInstructions());
await tell('tools', () => client.listTools());
await call('echo', { message: 'ä\u2028 1.0' });
await call('get-sum', { a: 1, b: 2 });
await call('get-structured-content', { location: 'Chicago' });
await call('get-tiny-image', {});
await call('get-annotated-message', { messageType: 'error', includeImage: false });
await call('get-resource-links', { count: 3 });
await call('trigger-long-running-operation', { duration: 0.4, steps: 4 }, { onprogress: (step) => heard.push(step) });
console.log(JSON.stringify(heard));
await call('trigger-sampling-request', { prompt: 'Say something.', maxTokens: 10 });
await call('trigger-elicitation-request', {});
await tell('prompts', () => client.listPrompts());
await tell('prompt', () => client.getPrompt({ name: 'simple-prompt' }));
await tell('templates', () => client.listResourceTemplates());
await tell('read', () => client.readResource({ uri: 'demo://resource/dynamic/text/1' }).then(({ contents }) => contents[0].mimeType));
const many = await Promise.all(Array.from({ length: 30 }, (_, n) => client.callTool({ name: 'echo', arguments: { message: `${n}` } })));
console.log(many.map((result) => result.content[0].text).join());
await transport.terminateSession();
await client.close();
