// A user who signs in with a password, and allows an agent to act for him.
import assert from 'node:assert/strict';

export async function allowAgent(open, { asked, email, password, back }) {
  const tab = await open();
  await tab.visit(asked);
  await tab.page.getByLabel('E-mail').fill(email);
  await tab.page.getByLabel('Password').fill(`${password}x`);
  await tab.go(() => tab.page.keyboard.press('Enter'), { status: 401 });
  await tab.page.getByLabel('Password').fill(password);
  await tab.go(() => tab.page.keyboard.press('Enter'));
  await tab.page.getByRole('button', { name: 'Allow', exact: true }).click();
  await tab.page.waitForURL(`${back}?*`);
  const answer = new URL(tab.page.url()).searchParams;
  assert.equal(answer.get('state'), 's');
  assert.ok(answer.get('code'));

  await tab.visit('/console/agents');
  tab.page.on('dialog', (dialog) => dialog.accept());
  await tab.press('Revoke');
  await tab.page.getByText('You allow no agent').waitFor();
}
