// A project from its document to the key of an agent, and away again.
import assert from 'node:assert/strict';

export async function fromDocumentToKey(open, { session, document }) {
  const tab = await open({ session });
  const { page } = tab;
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await tab.visit('/console/projects');
  await page.getByRole('button', { name: 'New project' }).click();
  await page.getByLabel('Name').fill('Handbook');
  await tab.press('Create the project');
  const home = page.url().split('?')[0];

  await page.getByRole('button', { name: 'New Table' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('Articles');
  const file = dialog.getByLabel('JSON or CSV file');
  await file.setInputFiles({ name: 'large.json', mimeType: 'application/json', buffer: Buffer.alloc(4_000_001, '1') });
  assert.match(await file.evaluate((one) => one.validationMessage), /more than 4 MB/);
  await file.setInputFiles({ name: 'articles.json', mimeType: 'application/json', buffer: Buffer.from(document) });
  await tab.press('Store the Table');
  await page.getByRole('button', { name: 'New Search Tool' }).click();
  await dialog.getByLabel('Part of the document').fill('/articles');
  await dialog.getByLabel('Name for agents').fill('search_articles');
  await tab.press('Create the Search Tool');

  await tab.visit(home);
  await page.getByRole('button', { name: 'New endpoint' }).click();
  await dialog.getByLabel('Name').fill('Tutor');
  await dialog.getByLabel('search_articles').check();
  await tab.press('Create the endpoint and show its key');
  const key = await page.locator('#key').textContent();
  await page.getByRole('button', { name: 'Copy: Key' }).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), key);
  await page.getByText('Claude Desktop').click();
  assert.ok((await page.locator('#configuration-claude-desktop').textContent()).includes(key));
  await tab.follow('I have copied the key');
  assert.ok(!(await page.content()).includes(key));

  await tab.visit(home);
  await page.getByRole('button', { name: 'Delete the project' }).click();
  await page.getByLabel('Type the name').fill('Handbook');
  await tab.go(() => page.getByRole('dialog').getByRole('button', { name: 'Delete the project' }).click());
  return key;
}

// What cannot be undone is asked first.
export async function keepsWhatIsNotConfirmed(open, { session, table }) {
  const tab = await open({ session });
  await tab.visit(table);
  tab.page.once('dialog', (dialog) => dialog.dismiss());
  await tab.page.getByRole('button', { name: 'Delete the Table' }).click();
  assert.equal(tab.page.url(), new URL(table, tab.origin).href);
}

// What is searched of a Table is tried before it is saved.
export async function setEntries(open, { session, table, question, place }) {
  const tab = await open({ session });
  const { page } = tab;
  await tab.visit(table);
  await page.getByLabel('Filter: level', { exact: true }).setChecked(true);
  await page.getByLabel('Test question').fill(question);
  await tab.press('Test');
  assert.ok((await page.getByRole('region', { name: 'What the question finds by its words' }).textContent()).includes(place));
  assert.ok(await page.getByLabel('Filter: level', { exact: true }).isChecked());
  await tab.press('Save and index');
  assert.equal(await page.getByText('looks like a list of entries').count(), 0);
}
