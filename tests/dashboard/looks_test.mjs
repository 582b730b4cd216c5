// What must hold on every page: contrast and labels, no errors, nobody else asked, nothing that jumps, little to load.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {desktop, misdeeds, phone, picture, seriousFindings} from './support/browser.mjs';
import {boosting, writeTable} from './support/specs.mjs';
import {world} from './support/world.mjs';

const kMostShift = 0.1;             // of Core Web Vitals: "good"
const kMostBytes = 400 * 1024;      // compressed, of the page and all of its parts
const kPages = [
  {name: 'jobs', path: '/', shown: (page) => page.getByRole('link', {name: 'looks'})},
  {name: 'job', path: '/jobs/looks', shown: (page) => page.getByRole('application')},
  {name: 'job-filtered', path: '/jobs/looks?f=eta:0.05..&f=%23state:pruned', shown: (page) => page.getByRole('button', {name: 'Remove the filter on eta'})},
  {name: 'trial', path: '/jobs/looks/trials/1', shown: (page) => page.getByRole('log').getByText(/auc/).first()},
  {name: 'trials', path: '/jobs/looks/compare?trials=1,2,3', shown: (page) => page.getByRole('img', {name: 'Learning curves of 3 trials'})},
  {name: 'job-searched', path: '/?q=looks&show=ended', shown: (page) => page.getByRole('link', {name: 'looks'})},
  {name: 'compare', path: '/compare?jobs=looks,second', shown: (page) => page.getByRole('img', {name: /so far of/})},
  {name: 'compare-one', path: '/compare?jobs=looks&by=max_depth', shown: (page) => page.getByRole('heading', {name: 'Trials of looks by max_depth'})},
  {name: 'workers', path: '/workers', shown: (page) => page.getByRole('listitem', {name: 'local-1'})},
  {name: 'new', path: '/new?from=looks', shown: (page) => page.getByText(/^The job file is valid\./)},
  {name: 'new-form', path: '/new?from=looks&as=form', shown: (page) => page.getByText(/^The job file is valid\./)},
  {name: 'tokens', path: '/tokens', shown: (page) => page.getByRole('heading', {name: 'No tokens'})},
  {name: 'login', path: '/login', shown: (page) => page.getByRole('heading', {name: 'No login is needed'})},
  {name: 'nowhere', path: '/no/such/page', shown: (page) => page.getByRole('heading', {name: 'There is no such page'})},
];

const here = world({}, async ({site}) => {
  const table = writeTable(site.folder, {rows: 500});
  const small = {hyperband: {minResource: 1, maxResource: 27, reductionFactor: 3}};
  await site.submit(boosting(table, 'looks', small));
  await site.submit(boosting(table, 'second', {...small, seed: 8}));
  await site.end('looks');
  await site.end('second');
});

// What moves and what is asked for does not depend on the theme: it is waited for in one of them.
for (const [theme, viewport, size] of [['light', desktop, ''], ['dark', desktop, ''], ['light', phone, '-phone'], ['dark', phone, '-phone']]) {
  test(`Dashboard: every page is sound in the ${theme}${size ? ' on a phone' : ''}`, async () => {
    const page = await here.browser.visit(here.site.url, {theme, viewport});
    for (const {name, path, shown} of kPages) {
      await page.goto(path);
      await shown(page).waitFor();
      if (theme === 'light') await page.waitForLoadState('networkidle', {timeout: 3000}).catch(() => {});  // live pages are never idle
      const {faults, strangers, violations, shift, shifts} = await misdeeds(page);
      assert.deepEqual({name, faults, strangers, violations}, {name, faults: [], strangers: [], violations: []});
      assert.ok(shift <= kMostShift, `${name}: things jump by ${shift}: ${shifts.join('; ')}`);
      assert.deepEqual(await seriousFindings(page), [], name);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.ok(wide <= 0, `${name}: ${wide} px wider than the window`);
      await picture(page, `${name}-${theme}${size}`);
    }
  });
}

test('Dashboard: where motion is reduced, another theme is there at once and everywhere', async () => {
  const page = await here.browser.visit(here.site.url, {theme: 'light', reducedMotion: 'reduce'});
  await page.goto('/workers');
  await page.getByRole('listitem', {name: 'local-1'}).waitFor();
  const [body, name] = await page.evaluate(() => {
    document.documentElement.dataset.theme = 'dark';
    return [document.body, document.querySelector('.worker-who h3')].map((element) => getComputedStyle(element).color);
  });
  const ink = await page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue('--ink').trim());
  const channels = ink.match(/[0-9a-f]{2}/gi).map((digits) => parseInt(digits, 16));
  assert.deepEqual({body, name}, {body: `rgb(${channels.join(', ')})`, name: body});
});

test('Dashboard: menus and dialogs are labelled too', async () => {
  const page = await here.browser.visit(here.site.url, {theme: 'dark'});
  await page.goto('/jobs/looks');
  await page.getByRole('button', {name: 'Delete'}).click();
  await page.getByRole('dialog').waitFor();
  assert.deepEqual(await seriousFindings(page), []);
  await page.keyboard.press('Escape');
  assert.equal(await page.getByRole('dialog').count(), 0);
  await page.getByRole('button', {name: 'Theme'}).click();
  await page.getByRole('menu').waitFor();
  assert.deepEqual(await seriousFindings(page), []);
});

test('Dashboard: all that can be loaded is small, compressed and kept', async () => {
  const answers = new Map();
  const page = await here.browser.visit(here.site.url);
  page.on('response', (response) => answers.set(new URL(response.url()).pathname, response));
  for (const {path, shown} of kPages) {
    await page.goto(path);
    await shown(page).waitFor();
  }
  const files = [...answers].filter(([path]) => path === '/' || path.startsWith('/assets/'));
  let total = 0;
  for (const [path, response] of files) {
    const headers = await response.allHeaders();
    total += Number(headers['content-length']);
    assert.ok(headers['content-length'], path);
    assert.match(headers['cache-control'], path === '/' ? /no-cache/ : /immutable/, path);
    if (/\.(js|css)$/.test(path)) assert.match(headers['content-encoding'], /gzip|br|zstd/, path);
  }
  assert.ok(files.length > 5 && total < kMostBytes, `${files.length} files of ${total} bytes`);
  console.log(`the page and all its parts: ${files.length} files, ${(total / 1024).toFixed(1)} KiB compressed`);
  const policy = (await answers.get('/').allHeaders())['content-security-policy'];
  assert.match(policy, /default-src 'self'|default-src 'none'/);
  assert.doesNotMatch(policy, /unsafe-inline|unsafe-eval/);
});

test('Dashboard: the keyboard alone leads to a trial', async () => {
  const page = await here.browser.visit(here.site.url);
  await page.goto('/');
  await page.getByRole('link', {name: 'looks', exact: true}).waitFor();
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent.trim()), 'Skip to content');
  await page.getByRole('link', {name: 'looks', exact: true}).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('application').focus();
  await page.keyboard.press('ArrowRight');
  await page.locator('.tip').getByText(/Trial \d+/).waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL('**/trials/*');
  await page.getByRole('heading', {name: /^Trial \d+$/}).waitFor();
});
