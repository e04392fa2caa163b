// A tab that notes everything a page of the console may not do: errors, violations of its Content-Security-Policy,
// failed and foreign requests, and, after each navigation, what axe finds and whether a phone scrolls sideways.
import assert from 'node:assert/strict';

const PHONE = { width: 360, height: 740 };

export class Tab {
  static async open(context, origin, scheme, installed) {
    const page = await context.newPage();
    const tab = new Tab();
    Object.assign(tab, { context, page, origin, scheme, problems: [], expected: 200 });
    tab.Axe = installed('@axe-core/playwright').AxeBuilder;
    await context.addInitScript(() =>
      addEventListener('securitypolicyviolation', (event) =>
        console.error(`violation of ${event.violatedDirective} by ${event.blockedURI || 'inline'}`),
      ),
    );
    page.on('pageerror', (error) => tab.problems.push(`error of the page: ${error.message}`));
    page.on('console', (message) => tab.#note(message));
    page.on('requestfailed', (request) => tab.problems.push(`failed: ${request.url()} ${request.failure()?.errorText}`));
    page.on('request', (request) => {
      if (new URL(request.url()).origin !== origin) tab.problems.push(`another origin: ${request.url()}`);
    });
    page.on('response', (response) => {
      const status = response.status();
      const isPage = response.request().isNavigationRequest();
      if (isPage) tab.status = status;
      if (status >= 400 && !(isPage && status === tab.expected)) tab.problems.push(`${status}: ${response.url()}`);
    });
    return tab;
  }

  // A status of 400 or more is a problem of its own, unless it was expected.
  #note(message) {
    if (['error', 'warning'].includes(message.type()) && !message.text().startsWith('Failed to load resource'))
      this.problems.push(`console: ${message.text()}`);
  }

  // Opens a page and checks it. `status` is the expected one.
  visit(path, options) {
    return this.go(() => this.page.goto(path), options);
  }

  press(name, options) {
    return this.go(() => this.page.getByRole('button', { name, exact: true }).click(), options);
  }

  follow(name, options) {
    return this.go(() => this.page.getByRole('link', { name, exact: true }).first().click(), options);
  }

  // Does something that leads to another page, and checks that page.
  async go(action, { status = 200 } = {}) {
    this.expected = status;
    await Promise.all([this.page.waitForEvent('load'), action()]);
    assert.equal(this.status, status, `${this.page.url()} answers ${this.status}`);
    await this.check();
  }

  // Fails if this page did what it may not do, cannot be used by everybody, or scrolls sideways on a phone.
  async check() {
    await this.#checkAxe((axe) => axe);
    if (this.checksBothSchemes) {
      await this.page.emulateMedia({ colorScheme: this.scheme === 'dark' ? 'light' : 'dark' });
      await this.#checkAxe((axe) => axe.withRules('color-contrast'));
      await this.page.emulateMedia({ colorScheme: this.scheme });
    }
    await this.#checkWidth();
    assert.equal(this.problems.length, 0, `${this.page.url()}: ${this.problems.join("\n")}`);
  }

  // There are no frames, so axe needs no second tab to join what it found in each.
  async #checkAxe(chooseRules) {
    const { violations } = await chooseRules(new this.Axe({ page: this.page }).setLegacyMode()).analyze();
    for (const { id, help, nodes } of violations)
      this.problems.push(`axe ${id}: ${help}: ${nodes.map((node) => node.html).slice(0, 3).join(' ')}`);
  }

  async #checkWidth() {
    const before = this.page.viewportSize();
    await this.page.setViewportSize(PHONE);
    const wide = await this.page.evaluate(() => {
      const { clientWidth, scrollWidth } = document.documentElement;
      if (scrollWidth <= clientWidth) return null;
      const outside = [...document.body.querySelectorAll('*')].find(
        (each) => each.getBoundingClientRect().right > clientWidth + 1,
      );
      return `${scrollWidth} > ${clientWidth}: ${outside?.outerHTML.slice(0, 200)}`;
    });
    await this.page.setViewportSize(before);
    if (wide) this.problems.push(`wider than a phone: ${wide}`);
  }
}
