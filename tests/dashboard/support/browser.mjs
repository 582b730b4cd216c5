// Chromium with an eye on what a page must not do.
import {mkdirSync, readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';

import {chromium, load, packages, screenshots} from './environment.mjs';
import {patience} from './patience.mjs';

const kArguments = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
                    '--disable-component-update', '--disable-sync'];
export const desktop = {width: 1440, height: 900};
export const phone = {width: 390, height: 844};

// What the page tells of itself, gathered from its first moment on.
function listen() {
  const seen = (window.__winnow = {violations: [], shift: 0, shifts: []});
  document.addEventListener('securitypolicyviolation', (event) => {
    seen.violations.push(`${event.violatedDirective}: ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`);
  });
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (entry.hadRecentInput) continue;
      seen.shift += entry.value;
      const moved = entry.sources.map(({node, previousRect: from, currentRect: to}) =>
        `${node?.className || node?.nodeName || '?'} from ${from.x | 0},${from.y | 0} ${from.width | 0}x${from.height | 0} to ${to.x | 0},${to.y | 0} ${to.width | 0}x${to.height | 0}`);
      seen.shifts.push(`${entry.value.toFixed(3)} ${moved.join(', ')}`);
    }
  }).observe({type: 'layout-shift', buffered: true});
}

export class Browser {
  static async start() {
    const browser = new Browser();
    browser.process = await load('playwright-core').chromium.launch({executablePath: chromium, args: kArguments});
    return browser;
  }

  async stop() {
    await this.process?.close();
  }

  // A page of a new visitor.
  async visit(url, {viewport = desktop, theme = 'light', scale = 1, reducedMotion = 'reduce'} = {}) {
    const context = await this.process.newContext({
      viewport, colorScheme: theme, deviceScaleFactor: scale, reducedMotion, baseURL: url, acceptDownloads: true,
      isMobile: viewport.width < 600, hasTouch: viewport.width < 600,
    });
    context.setDefaultTimeout(patience);
    await context.addInitScript(listen);
    const page = await context.newPage();
    page.faults = [];
    page.strangers = [];
    page.expected = [];
    page.on('console', (message) => {
      const text = message.text();
      if (message.type() === 'error' && !page.expected.some((one) => one.test(text))) page.faults.push(`${text} (${message.location().url})`);
    });
    page.on('pageerror', (error) => page.faults.push(String(error.stack ?? error)));
    page.on('request', (request) => {
      const target = new URL(request.url());
      if (!['data:', 'blob:'].includes(target.protocol) && target.origin !== url) page.strangers.push(request.url());
    });
    return page;
  }
}

// A picture of what is in view.
export async function picture(page, name, options = {}) {
  mkdirSync(screenshots, {recursive: true});
  await page.screenshot({path: path.join(screenshots, `${name}.png`), animations: 'disabled', ...options});
}

const axe = () => readFileSync(createRequire(path.join(packages, 'package.json')).resolve('axe-core/axe.min.js'), 'utf8');

// What axe finds serious or critical on the page as it stands, a line each.
export async function seriousFindings(page) {
  // Evaluated by the browser's own tools, which the page's content security policy does not bind.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe());
  const result = await page.evaluate(() => window.axe.run(document, {resultTypes: ['violations']}));
  return result.violations
      .filter((finding) => ['serious', 'critical'].includes(finding.impact))
      .map((finding) => `${finding.id}: ${finding.help}: ` +
          finding.nodes.slice(0, 3).map((node) => `${node.target.join(' ')} ${node.any[0]?.message ?? ''}`).join('; '));
}

// Errors told to the console, violations of the policy, requests to others, and how far things jumped.
export async function misdeeds(page) {
  const seen = await page.evaluate(() => window.__winnow);
  return {faults: page.faults, strangers: page.strangers, violations: seen.violations, shift: seen.shift, shifts: seen.shifts};
}
