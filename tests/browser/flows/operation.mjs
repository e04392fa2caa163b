// What an operator does.
import assert from 'node:assert/strict';

// A key of the library is made once, whatever is loaded again, and revoked. Returns it.
export async function makeKey(open, { session, key }) {
  const tab = await open({ session });
  const { page } = tab;
  await tab.visit('/console/keys');
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
