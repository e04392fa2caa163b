// Signing in and out.
import assert from 'node:assert/strict';

async function sendKey(tab, key, options) {
  const closed = tab.page.locator('details:not([open]) > summary');
  if (await closed.count()) await closed.click();
  await tab.page.getByLabel('Admin key').fill(key);
  await tab.go(() => tab.page.keyboard.press('Enter'), options);
}

export async function signInByLink(open, { link }) {
  const tab = await open();
  await tab.page.goto(link);
  await tab.page.waitForURL('**/console/');
  await tab.check();
  await tab.press('Sign out');
  await tab.page.getByText('You are signed out').waitFor();
  tab.expected = 401;
  await tab.page.goto(link);
  await tab.page.getByText('was used already').waitFor();
  await tab.check();
}

// A page that needs a session leads to the page that signs in, and from there back.
export async function signInByKey(open, { key, wanted }) {
  const tab = await open();
  await tab.visit(wanted);
  assert.equal(new URL(tab.page.url()).pathname, '/console/sign-in');
  await sendKey(tab, `${key}x`, { status: 401 });
  assert.match(await tab.page.getByRole('alert').textContent(), /not valid/);
  await sendKey(tab, key);
  assert.equal(tab.page.url(), new URL(wanted, tab.origin).href);
  const stored = await tab.page.evaluate(() => JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }]));
  assert.equal(stored, '["",{},{}]');
  return (await tab.context.cookies()).find(({ name }) => name === 'sakuin_console').value;
}

export async function sessionEnds(open, { session, key, wanted }) {
  const tab = await open({ session });
  await tab.visit(wanted);
  await tab.page.getByLabel('E-mail address').waitFor();
  await sendKey(tab, key);
  assert.equal(tab.page.url(), new URL(wanted, tab.origin).href);
}

export async function switchLanguage(open, { session }) {
  const tab = await open({ session });
  await tab.visit('/console/');
  await tab.follow('日本語');
  assert.equal(await tab.page.locator('html').getAttribute('lang'), 'ja');
  await tab.visit('/console/sign-in');
  await tab.page.getByRole('heading', { name: 'サインイン', exact: true }).waitFor();
  await tab.follow('English');
  assert.equal(await tab.page.locator('html').getAttribute('lang'), 'en');
}
