// A client of the AI SDK subscribes to events and receives them at an address of its own:
//   node events.mjs <url> <event>, with the key in SAKUIN_API_KEY
// It writes a line of JSON for each thing that happens. Each line that it reads is a command: refresh or end.
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { createRequire } from 'node:module';

// The packages are where the tests run, not beside this file.
const installed = createRequire(`${process.cwd()}/`);
const { createMCPClient, experimental_createMCPEventWebhook: createWebhook } = installed('@ai-sdk/mcp');
const [url, name] = process.argv.slice(2);
const say = (what) => console.log(JSON.stringify(what));

const rows = new Map();
const store = {
  get: async (key) => rows.get(key),
  getById: async (id) => [...rows.values()].find((row) => row.id === id),
  set: async (row) => void rows.set(row.key, row),
  update: async (key, patch) => void rows.set(key, { ...rows.get(key), ...patch }),
  delete: async (key) => void rows.delete(key),
};
const webhook = createWebhook({ store, onEvent: async ({ event }) => say({ event }), onError: (error) => say({ error: String(error) }) });
const server = createServer(async (asked, answer) => {
  const body = await new Response(asked).arrayBuffer();
  const request = new Request(`http://${asked.headers.host}${asked.url}`, { method: asked.method, headers: asked.headers, body });
  const response = await webhook(request);
  answer.writeHead(response.status, Object.fromEntries(response.headers));
  answer.end(Buffer.from(await response.arrayBuffer()));
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));

const headers = { Authorization: `Bearer ${process.env.SAKUIN_API_KEY}` };
const client = await createMCPClient({ transport: { type: 'http', url, headers }, experimental_events: { store } });
const events = client.experimental_events;
const callback = `http://127.0.0.1:${server.address().port}/hook`;
const granted = await events.subscribe({ name, delivery: { mode: 'webhook', url: callback, allowInsecureLocalhost: true } });
say({ subscribed: granted });
for await (const command of createInterface({ input: process.stdin })) {
  if (command === 'refresh') say({ refreshed: await events.refresh({ id: granted.id }) });
  if (command === 'end') {
    await events.unsubscribe({ id: granted.id });
    say({ ended: rows.size });
    break;
  }
}
await client.close();
server.close();
process.exit(0);
