// Every page that links lead to.
import { mkdirSync } from 'node:fs';

const PHONE = { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2 };

// Follows links from the page `start`, and checks of each route the first page that is found. `routes` are regular
// expressions by the name of a page; `more` are addresses of other pages by their names. With `folder` it takes a picture of each. Returns addresses by these names.
export async function everyPage(open, { session, start, routes, language, scheme, phone, folder, more }) {
  const tab = await open({ session, locale: language, colorScheme: scheme, ...(phone && PHONE) });
  // The colours are the same on a phone.
  tab.checksBothSchemes = !phone;
  const visited = {};
  const faults = [];
  if (folder) mkdirSync(folder, { recursive: true });
  const visit = async (name, address) => {
    visited[name] = address;
    await tab.visit(address).catch((error) => {
      faults.push(error.message);
      tab.problems = [];
    });
    if (folder) await tab.page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
  };

  const waiting = [start];
  while (waiting.length) {
    const address = waiting.shift();
    const { origin, pathname } = new URL(address, tab.origin);
    const name = Object.keys(routes).find((each) => new RegExp(routes[each]).test(pathname));
    if (origin !== tab.origin || !name || name in visited) continue;
    await visit(name, address);
    waiting.push(...(await tab.page.locator('a[href]').evaluateAll((all) => all.map((one) => one.href))));
  }
  for (const [name, address] of Object.entries(more)) await visit(name, address);
  return { visited, faults };
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

// Takes a picture of the upper part of a page, for the documents.
export async function picture(open, { session, language, address, path }) {
  const { page } = await open({ session, locale: language, viewport: { width: 1280, height: 800 } });
  await page.goto(address);
  await page.screenshot({ path });
}

// Asks, and follows the link of the first result to a page with this HTML. Returns the pictures, as base64.
export async function questionToElement(open, { session, question, html }) {
  const { page } = await open({ session, viewport: { width: 1200, height: 640 } });
  const pictures = [];
  const take = async () => pictures.push((await page.screenshot({ type: 'jpeg', quality: 70 })).toString('base64'));
  await page.goto('/console/playground');
  await page.getByLabel('Question', { exact: true }).fill(question);
  await take();
  await page.keyboard.press('Enter');
  const link = page.getByRole('region', { name: 'Answer' }).getByRole('link').first();
  await link.waitFor();
  await take();
  const address = await link.getAttribute('href');
  await page.route(address.split('#')[0], (route) => route.fulfill({ contentType: 'text/html; charset=utf-8', body: html }));
  await page.goto(address);
  await take();
  return pictures;
}
