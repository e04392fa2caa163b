// The console with JavaScript switched off. Checks run scripts, so there are none; other tests do them.
import assert from 'node:assert/strict';

export async function workWithoutScripts(open, { link, question, title }) {
  const { page, problems } = await open({ javaScriptEnabled: false });
  await page.goto(link);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('link', { name: 'Ask' }).click();
  await page.getByLabel('Question', { exact: true }).fill(question);
  await page.getByRole('button', { name: 'Ask' }).click();
  await page.getByRole('region', { name: 'Answer' }).getByRole('link', { name: title }).first().waitFor();
  await page.getByRole('link', { name: '日本語' }).click();
  await page.getByRole('button', { name: 'サインアウト' }).click();
  await page.waitForURL('**/console/sign-in*');
  assert.deepEqual(problems, []);
}
