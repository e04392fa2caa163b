// Every page that links lead to.
const PHONE = { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2 };

// Follows links from the page `start`, and checks of each route the first page that is found. `routes` are regular
// expressions by the name of a page; `more` are addresses of other pages by their names.  Returns addresses by these names.
export async function everyPage(open, { session, start, routes, language, scheme, phone, more }) {
  const tab = await open({ session, locale: language, colorScheme: scheme, ...(phone && PHONE) });
  // The colours are the same on a phone.
  tab.checksBothSchemes = !phone;
  const visited = {};
  const faults = [];
  const visit = async (name, address) => {
    visited[name] = address;
    await tab.visit(address).catch((error) => {
      faults.push(error.message);
      tab.problems = [];
    });
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

// Takes a picture of the upper part of a page, for the documents.
export async function picture(open, { session, language, address, path }) {
  const { page } = await open({ session, locale: language, viewport: { width: 1280, height: 800 } });
  await page.goto(address);
  await page.screenshot({ path });
}
