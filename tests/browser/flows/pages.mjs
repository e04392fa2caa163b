// Every page that links lead to.
import { mkdirSync } from 'node:fs';

const PHONE = { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2 };
const DESKTOP = { viewport: { width: 1200, height: 800 } };

// Follows links from the page `start`, and checks of each route the first page that is found. `routes` are regular
// expressions by the name of a page. With `folder` it takes a picture of each. Returns the addresses by these names.
export async function everyPage(open, { session, start, routes, language, scheme, phone, folder }) {
  const tab = await open({ session, locale: language, colorScheme: scheme, ...(phone ? PHONE : DESKTOP) });
  const visited = {};
  const waiting = [start];
  if (folder) mkdirSync(folder, { recursive: true });
  while (waiting.length) {
    const address = waiting.shift();
    const path = new URL(address, tab.origin).pathname;
    const name = Object.keys(routes).find((each) => new RegExp(routes[each]).test(path));
    if (!name || name in visited) continue;
    await tab.visit(address);
    visited[name] = address;
    if (folder) await tab.page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
    waiting.push(...(await tab.page.locator('a[href]').evaluateAll((all) => all.map((one) => one.href))));
  }
  return visited;
}

// What a browser without a cache loads for each page, and how long that takes.
export async function weights(open, { session, pages }) {
  const measured = {};
  for (const [name, address] of Object.entries(pages)) {
    const { page } = await open({ session });
    await page.goto(address);
    measured[name] = await page.evaluate(() => {
      const [document] = performance.getEntriesByType('navigation');
      const loaded = [document, ...performance.getEntriesByType('resource')];
      const bytes = loaded.reduce((sum, each) => sum + each.transferSize, 0);
      return { bytes, document: document.transferSize, requests: loaded.length, ms: Math.round(document.loadEventEnd) };
    });
  }
  return measured;
}
