// A client of the TypeScript SDK lists the tools of an endpoint and calls one:
//   node conversation.mjs <client | sdk> <url> <tool> <arguments as JSON>, with the key in SAKUIN_API_KEY
import { createRequire } from 'node:module';

// The packages are where the tests run, not beside this file.
const installed = createRequire(`${process.cwd()}/`);
const [generation, url, name, args] = process.argv.slice(2);
const { Client, StreamableHTTPClientTransport } =
  generation === 'client'
    ? installed('@modelcontextprotocol/client')
    : {
        ...installed('@modelcontextprotocol/sdk/client/index.js'),
        ...installed('@modelcontextprotocol/sdk/client/streamableHttp.js'),
      };

const client = new Client({ name: 'sakuin-tests', version: '1' }, { versionNegotiation: { mode: 'auto' } });
const headers = { Authorization: `Bearer ${process.env.SAKUIN_API_KEY}` };
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
const { tools } = await client.listTools();
const result = await client.callTool({ name, arguments: JSON.parse(args) });
console.log(JSON.stringify({ instructions: client.getInstructions(), tools, result }));
await client.close();
