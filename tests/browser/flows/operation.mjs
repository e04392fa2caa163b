// What an operator does.
import assert from 'node:assert/strict';

// A key of the library is made once, whatever is loaded again, and revoked. Returns it.
export async function makeKey(open, { session, key }) {
  const tab = await open({ session });
  const { page } = tab;
  await tab.visit('/console/keys');
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Name').fill('Tutor');
  await page.getByLabel('Admin key').fill(key);
  await tab.press('Create the key and show it');
  const made = await page.locator('#key').textContent();
  await tab.go(() => page.reload());
  await page.getByText('This form was sent before').waitFor();
  assert.equal(await page.getByRole('rowheader', { name: 'Tutor' }).count(), 1);
  assert.ok(!(await page.content()).includes(made));
  page.on('dialog', (dialog) => dialog.accept());
  await tab.press('Revoke: Tutor');
  assert.equal(await page.getByRole('rowheader', { name: 'Tutor' }).count(), 0);
  return made;
}

// The key of an agent is made where it is connected, and the page waits for its first question. Returns the key.
export async function connectAgent(open, { session, key }) {
  const tab = await open({ session });
  const { page } = tab;
  await tab.visit('/console/connect');
  await page.getByLabel('Claude Code').check();
  await page.getByLabel('Name').fill('Desk');
  await page.getByLabel('Admin key').fill(key);
  await tab.press('Make the key and show the line');
  await page.getByText('Waiting for the first question').waitFor();
  const made = await page.locator('#key').textContent();
  assert.ok((await page.locator('#command-claude-code').textContent()).includes(`Bearer ${made}`));
  await page.getByText('Cursor', { exact: true }).click();
  assert.match(await page.getByRole('link', { name: 'Add to Cursor' }).getAttribute('href'), /^cursor:/);
  return made;
}
