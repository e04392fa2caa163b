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

  await tab.page.getByText('Filters, or a result that you expect').click();
  await tab.page.getByLabel('Expected result').fill(expected);
  await tab.press('Ask');
  assert.equal(await tab.page.getByLabel('Question', { exact: true }).inputValue(), question);
  await tab.page.getByRole('region', { name: 'Expected result' }).waitFor();
  await tab.page.locator('details').evaluateAll((all) => all.forEach((one) => (one.open = true)));
  await tab.page.getByRole('table', { name: 'Candidates that are not in the answer' }).waitFor();
  await tab.check();
}

export async function askForNothing(open, { session, question }) {
  const tab = await open({ session });
  await tab.visit('/console/playground');
  await tab.page.getByLabel('Question', { exact: true }).fill(question);
  await tab.press('Ask');
  await tab.page.getByRole('status').getByText('No good match').waitFor();
}
