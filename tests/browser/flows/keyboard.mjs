// The console with the keyboard alone.
import assert from 'node:assert/strict';

// Presses Tab until the element with this name has the focus, which must be visible at each step.
async function tabTo(page, name, most = 40) {
  for (let step = 0; step < most; step += 1) {
    await page.keyboard.press('Tab');
    const [label, visible] = await page.evaluate(() => {
      const one = document.activeElement;
      // After the last element the focus leaves the page, and begins again.
      if (one === document.body) return ['', true];
      // The box around a question has the ring of its field.
      const { outlineStyle, outlineWidth } = getComputedStyle(one.matches('.ask input') ? one.parentElement : one);
      const { width, height, top } = one.getBoundingClientRect();
      const shown = outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2 && width > 0 && height > 0 && top >= 0;
      return [(one.labels?.[0] ?? one).textContent.trim(), shown];
    });
    assert.ok(visible, `nobody sees that ${label} has the focus`);
    if (label === name) return;
  }
  assert.fail(`Tab does not reach ${name}`);
}

export async function signInWithKeyboard(open, { key }) {
  const tab = await open();
  const { page } = tab;
  await tab.visit('/console/sign-in');
  await tabTo(page, 'Skip to the content', 1);
  await page.keyboard.press('Enter');
  await tabTo(page, 'E-mail address', 1);
  await tabTo(page, 'Or with an admin key', 3);
  await page.keyboard.press('Enter');
  await tabTo(page, 'Admin key', 1);
  await page.keyboard.type(key);
  await tabTo(page, 'Sign in', 1);
  await tab.go(() => page.keyboard.press('Enter'));
  await tabTo(page, 'Skip to the content', 1);
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'content');
  await tabTo(page, 'Sign out', 99);
  await tab.go(() => page.keyboard.press('Enter'));
}
