// Runs flows in one browser. Reads {"flow", "given"} from each line of its input and answers a line with {"result"} or
// {"error"}. A flow is a function of flows/*.mjs; it gets a function that opens a tab, and `given`.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { readdirSync } from 'node:fs';

import { Tab } from './tab.mjs';

// The packages are where the tests run, not beside this file.
const installed = createRequire(`${process.cwd()}/`);
const { chromium } = installed('playwright-core');
const unpacked = `${process.cwd()}/unpacked`;
const FLOW_MS = 300_000;
const DESKTOP = { width: 1200, height: 800 };
const WAIT_MS = 10_000;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_BIN ?? `${unpacked}/chromium`,
  // Containers have no user namespaces for the sandbox; the browser visits only the tests' own pages.
  args: ['--no-sandbox', '--font-render-hinting=none'],
  env: {
    HOME: unpacked,
    PATH: process.env.PATH,
    FONTCONFIG_FILE: `${process.cwd()}/fonts.conf`,
    LD_LIBRARY_PATH: process.env.CHROMIUM_BIN ? '' : `${unpacked}/al2023/lib`,
  },
});

const flows = {};
const folder = fileURLToPath(new URL('flows/', import.meta.url));
for (const file of readdirSync(folder)) Object.assign(flows, await import(`${folder}${file}`));

async function run({ flow, given }) {
  const contexts = [];
  // Opens a tab with cookies of its own. `session` is the id of a session of the console.
  const open = async ({ session, colorScheme = 'light', ...options } = {}) => {
    const look = { locale: 'en-GB', colorScheme, viewport: DESKTOP };
    const context = await browser.newContext({ baseURL: given.origin, ...look, ...options });
    contexts.push(context);
    context.setDefaultTimeout(WAIT_MS);
    const cookie = { name: 'sakuin_console', domain: '127.0.0.1', path: '/console', httpOnly: true, sameSite: 'Lax' };
    if (session) await context.addCookies([{ ...cookie, value: session }]);
    return Tab.open(context, given.origin, colorScheme, installed);
  };
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${flow} took more than ${FLOW_MS} ms`)), FLOW_MS);
  });
  try {
    return { result: (await Promise.race([flows[flow](open, given), late])) ?? null };
  } catch (error) {
    return { error: error.stack };
  } finally {
    clearTimeout(timer);
    await Promise.all(contexts.map((context) => context.close()));
  }
}

console.log(JSON.stringify({ result: browser.version() }));
for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(await run(JSON.parse(line))));
await browser.close();
