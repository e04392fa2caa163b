// The console with JavaScript switched off. Checks run scripts, so there are none; other tests do them.
import assert from 'node:assert/strict';

export async function signInWithoutScripts(open, { link, start }) {
  const { page, problems } = await open({ javaScriptEnabled: false });
  await page.goto(link);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`**${start}`);
  await page.getByRole('link', { name: '日本語' }).click();
  await page.getByRole('button', { name: 'サインアウト' }).click();
  await page.waitForURL('**/console/sign-in*');
  assert.deepEqual(problems, []);
}
