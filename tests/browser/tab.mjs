// A tab that notes everything a page of the console may not do: errors, violations of its Content-Security-Policy,
// failed and foreign requests, and, after each navigation, what axe finds and whether a phone scrolls sideways.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';

const PHONE = { width: 360, height: 740 };
// What was checked already: the same page in the same look has the same faults.
const checked = new Set();

export class Tab {
  static async open(context, origin, scheme, installed) {
    const page = await context.newPage();
    const tab = new Tab();
    Object.assign(tab, { context, page, origin, scheme, problems: [], expected: 200 });
    tab.axe = readFile(installed.resolve('axe-core/axe.min.js'), 'utf8');
    await context.addInitScript(() =>
      addEventListener('securitypolicyviolation', (event) =>
        console.error(`violation of ${event.violatedDirective} by ${event.blockedURI || 'inline'}`),
      ),
    );
    page.on('pageerror', (error) => tab.problems.push(`error of the page: ${error.message}`));
    page.on('console', (message) => tab.#note(message));
    page.on('requestfailed', (request) => {
      // Who leaves a page ends what its script has asked for.
      const isLeft = request.resourceType() === 'fetch' && request.failure()?.errorText === 'net::ERR_ABORTED';
      if (request.frame() === page.mainFrame() && !isLeft) tab.problems.push(`failed: ${request.url()} ${request.failure()?.errorText}`);
    });
    page.on('request', (request) => {
      // The original in a frame has its own scripts.
      if (request.frame() === page.mainFrame() && new URL(request.url()).origin !== origin) tab.problems.push(`another origin: ${request.url()}`);
    });
    page.on('response', (response) => {
      const status = response.status();
      const isPage = response.request().isNavigationRequest() && response.frame() === page.mainFrame();
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
    await this.#once('axe', () => this.#checkAxe({}));
    if (this.checksBothSchemes) await this.#once('other colours', () => this.#checkOtherColours());
    await this.#once('width', () => this.#checkWidth());
    assert.equal(this.problems.length, 0, `${this.page.url()}: ${this.problems.join("\n")}`);
  }

  // Numbers and the values of hidden fields, such as tokens, change nothing.
  async #once(kind, check) {
    const markup = await this.page.evaluate(() => document.documentElement.outerHTML);
    const same = markup.replace(/<input[^>]*type="hidden"[^>]*>/g, '').replace(/\d+/g, '0');
    const { width } = this.page.viewportSize();
    const key = createHash('sha256').update([kind, this.origin, this.scheme, width, same].join('\n')).digest('hex');
    if (!checked.has(key)) await check();
    checked.add(key);
  }

  async #checkOtherColours() {
    await this.page.emulateMedia({ colorScheme: this.scheme === 'dark' ? 'light' : 'dark' });
    await this.#checkAxe({ runOnly: ['color-contrast'] });
    await this.page.emulateMedia({ colorScheme: this.scheme });
  }

  // Only what is wrong crosses from the page: of the rest axe would describe each element.
  async #checkAxe(options) {
    if (!(await this.page.evaluate(() => 'axe' in window))) await this.page.evaluate(await this.axe);
    const violations = await this.page.evaluate(async (given) => {
      const found = await axe.run({ ...given, iframes: false, resultTypes: ['violations'] });
      const described = ({ nodes }) => nodes.map((node) => node.html).slice(0, 3).join(' ');
      return found.violations.map((each) => `axe ${each.id}: ${each.help}: ${described(each)}`);
    }, options);
    this.problems.push(...violations);
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
