// The search box of the documentation's site.
import assert from 'node:assert/strict';

async function ask(tab, question) {
  await tab.page.goto('/reference/cost.html');
  await tab.page.getByRole('textbox', { name: 'Search' }).click();
  // The theme listens to keys.
  await tab.page.getByRole('textbox', { name: 'Search' }).pressSequentially(question);
}

// Asks with the keyboard, and follows the first link.
export async function askTheSite(open, { question, page }) {
  const tab = await open();
  await ask(tab, question);
  const answers = tab.page.locator('[role=status]:visible + ol a');
  await answers.first().waitFor();
  assert.equal(await tab.page.locator('.md-search-result__list:visible').count(), 1);
  await tab.page.evaluate(await tab.axe);
  const { violations } = await tab.page.evaluate(() => axe.run('[data-md-component="search-result"]'));
  assert.deepEqual(violations.map(({ id, nodes }) => `${id} ${nodes[0].html}`), []);
  const address = await answers.first().getAttribute('href');
  assert.ok(new URL(address).pathname.endsWith(page), address);
  await tab.page.keyboard.press('ArrowDown');
  await tab.page.keyboard.press('Enter');
  await tab.page.waitForURL(address);
  assert.ok(await tab.page.locator(decodeURIComponent(new URL(address).hash)).isVisible());
  assert.deepEqual(tab.problems.filter((problem) => !problem.startsWith('another origin')), []);
}

// The library does not answer: what the theme found is shown.
export async function askTheSiteWithoutLibrary(open, { question, failure }) {
  const tab = await open();
  await tab.page.route('**/public/v1/search', (route) => (failure === 'busy' ? route.fulfill({ status: 429 }) : route.abort()));
  await ask(tab, question);
  await tab.page.locator('.md-search-result__list:visible a[href*="erase.html"]').first().waitFor();
  assert.equal(await tab.page.getByRole('status').filter({ visible: true }).count(), 0);
}
