// The search playground.
import assert from 'node:assert/strict';

// Asks a question with the keyboard alone, and looks at everything that is shown about the answer.
export async function askInPlayground(open, { session, question, title, expected }) {
  const tab = await open({ session });
  await tab.visit('/console/playground');
  await tab.page.getByLabel('Question', { exact: true }).fill(question);
  await tab.go(() => tab.page.keyboard.press('Enter'));
  const results = tab.page.getByRole('region', { name: 'Answer' });
  await results.getByRole('link', { name: title }).first().waitFor();
  assert.ok(await results.getByRole('meter', { name: 'Similarity' }).first().isVisible());
  const inspected = tab.page.getByRole('article');
  await inspected.getByRole('heading', { name: 'Why it is first' }).waitFor();
  assert.ok(await inspected.locator('math').first().isVisible());
  await tab.page.locator('body').press('j');
  await inspected.getByRole('heading', { name: 'Why it is in place 2' }).waitFor();
  assert.equal(new URL(tab.page.url()).hash, '#result-2');
  await tab.page.locator('body').press('/');
  assert.equal(await tab.page.evaluate(() => document.activeElement.name), 'q');

  await tab.page.getByRole('button', { name: 'Expected result' }).click();
  await tab.page.getByRole('dialog').getByRole('textbox', { name: 'Expected result' }).fill(expected);
  await tab.go(() => tab.page.getByRole('dialog').getByRole('button', { name: 'Ask' }).click());
  assert.equal(await tab.page.getByLabel('Question', { exact: true }).inputValue(), question);
  await tab.page.getByRole('region', { name: 'Expected result' }).waitFor();
  for (const view of ['As the agent gets it', 'How it was read', 'Page']) {
    await tab.page.getByRole('radio', { name: view, exact: true }).check({ force: true });
    await tab.check();
  }
}

export async function askForNothing(open, { session, question }) {
  const tab = await open({ session });
  await tab.visit('/console/playground');
  await tab.page.getByLabel('Question', { exact: true }).fill(question);
  await tab.press('Ask');
  await tab.page.getByRole('status').getByText('No good match').waitFor();
}
