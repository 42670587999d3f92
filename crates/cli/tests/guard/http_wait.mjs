// The official TypeScript client over Streamable HTTP: calls `read` once, and prints its progress and its result. Its arguments
// are the folder of its packages, the URL, and what its user answers when the guard asks; without that it takes no questions.
import { pathToFileURL } from 'node:url';

const [modules, url, action] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/sdk/dist/esm/${path}`));
const { Client } = await load('client/index.js');
const { StreamableHTTPClientTransport } = await load('client/streamableHttp.js');

const { ElicitRequestSchema } = await load('types.js');

const client = new Client({ name: 'test', version: '1' }, { capabilities: action ? { elicitation: {} } : {} });
if (action) {
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
    console.log('asked', params.message);
    return action === 'accept' ? { action, content: {} } : { action };
  });
}
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const onprogress = ({ message }) => console.log('progress', message);
const result = await client.callTool({ name: 'read', arguments: { path: 'a' } }, undefined, { onprogress });
console.log('result', result.content[0].text);
await client.close();
