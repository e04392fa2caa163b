// What an operator does.
import assert from 'node:assert/strict';

// From the first page to a page of the library, and from there to an explanation on the site. Returns its address.
export async function findExplanation(open, { session, material }) {
  const tab = await open({ session });
  await tab.visit('/console/');
  await tab.follow('Pages');
  await tab.follow(material);
  const { page } = tab;
  await page.locator('a[href*="#rule-"]').first().click();
  await page.waitForURL('**/school/**');
  assert.ok(await page.evaluate(() => document.querySelector(decodeURI(location.hash))), 'the link leads to no element');
  return page.url();
}

export async function redrive(open, { session }) {
  const tab = await open({ session });
  await tab.visit('/console/');
  await tab.go(() => tab.page.getByRole('link', { name: 'Dead letters: Pages' }).click());
  await tab.page.getByRole('checkbox').check();
  await tab.press('Send again');
}
