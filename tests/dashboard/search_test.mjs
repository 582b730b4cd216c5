// A search, from its job file to its best trial's log.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {desktop, phone, picture} from './support/browser.mjs';
import {until} from './support/patience.mjs';
import {boosting, writeTable} from './support/specs.mjs';
import {world} from './support/world.mjs';

const kTrials = 143;  // of Hyperband with R = 81, eta = 3

const here = world();
let page;

test('Dashboard: a server without jobs says how the first is submitted, in full, on a phone too', async () => {
  const {site, browser} = here;
  for (const viewport of [desktop, phone]) {
    const visitor = await browser.visit(site.url, {viewport});
    await visitor.goto('/');
    await visitor.getByRole('heading', {name: 'No jobs yet'}).waitFor();
    const cut = await visitor.evaluate(() => [document.documentElement, document.querySelector('.first-job')].map((box) => box.scrollWidth - box.clientWidth));
    assert.ok(cut.every((pixels) => pixels <= 0), `${viewport.width} px wide: ${cut} px are cut off`);
    await visitor.context().close();
  }
});

test('Dashboard: a Hyperband job is watched live from its submission to its end', async () => {
  const {site, browser} = here;
  page = await browser.visit(site.url, {viewport: {width: 1440, height: 1060}});
  const spec = boosting(writeTable(site.folder, {rows: 32000}), 'trees');
  await page.goto('/');
  await page.getByRole('heading', {name: 'No jobs yet'}).waitFor();
  await page.getByRole('link', {name: 'New job'}).click();
  await page.getByRole('textbox', {name: 'Job file'}).fill(JSON.stringify(spec, null, 2));
  await page.getByText('SOBOL sampler under the HYPERBAND pruner').waitFor();
  await page.getByRole('button', {name: 'Submit the job'}).click();

  await page.waitForURL('**/jobs/trees');
  const trials = async () => Number(/(\d+) trial/.exec(await page.getByRole('application').getAttribute('aria-label'))[1]);
  await page.getByText('running', {exact: true}).first().waitFor();
  const seen = [await until(trials, 'the sieve holds trials')];
  while (seen.at(-1) < kTrials) {
    seen.push(await until(async () => (await trials()) > seen.at(-1) && (await trials()), 'more trials come into the sieve'));
    if (seen.length === 3) await picture(page, 'search-live');
  }
  assert.ok(seen.length >= 3, `the sieve filled in ${seen.length} steps: ${seen}`);
  await page.getByRole('button', {name: 'Delete'}).waitFor();  // which an ended job has in place of Stop

  const job = await site.describe('trees');
  assert.equal(job.state, 'COMPLETED');
  await page.getByText(`${job.best.objective.toFixed(3)}`).first().waitFor();
  await page.getByRole('link', {name: `trial ${job.best.trial}`}).first().waitFor();
  await picture(page, 'search-light');
});

test('Dashboard: what is brushed on an axis filters everything else', async () => {
  const most = page.getByRole('slider', {name: 'eta: maximum'});
  await page.locator('#parallel').scrollIntoViewIfNeeded();  // which is not asked for before it comes near
  await most.evaluate((end) => end.closest('.axis-brush').scrollIntoView({block: 'center'}));
  const passing = page.locator('#parallel').getByText(/of 143 trials/);
  const brush = await most.evaluate((end) => {
    const box = end.closest('.axis-brush').getBoundingClientRect();
    return {x: box.x + box.width / 2, top: box.y, height: box.height};
  });
  await page.mouse.move(brush.x, brush.top + brush.height * 0.1);
  await page.mouse.down();
  await page.mouse.move(brush.x, brush.top + brush.height * 0.5, {steps: 5});
  await page.mouse.up();
  const passed = async () => Number(/^(\d+) of/.exec(await passing.textContent())[1]);
  const count = await until(async () => (await passed()) < kTrials && (await passed()), 'some trials pass, and some do not');
  assert.match(page.url(), /[?&]f=eta:/);
  await until(async () => (await page.getByRole('application').getAttribute('aria-label')).includes(`${count} trials`), 'the sieve holds those alone');
  await page.locator('#trials').scrollIntoViewIfNeeded();  // which is not asked for before it comes near
  await page.getByRole('table', {name: 'Trials'}).waitFor();
  await until(async () => Number(await page.getByRole('table', {name: 'Trials'}).getAttribute('aria-rowcount')) === count + 1, 'the table too');

  await page.getByRole('button', {name: 'Remove the filter on eta'}).click();
  await until(async () => (await page.getByRole('application').getAttribute('aria-label')).includes(`${kTrials} trials`), 'all are back');
  await page.goBack();
  await passing.waitFor();
});

test('Dashboard: a trial says why it was stopped, what it printed and how it differs from the best', async () => {
  const before = page.url();
  await page.getByRole('button', {name: 'Remove the filter on eta'}).click();
  await page.getByRole('application').focus();
  await page.keyboard.press('ArrowRight');
  await page.getByText(/trained to/).first().waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL('**/jobs/trees/trials/*');
  const number = Number(page.url().split('/').pop());
  const told = (await here.site.json('describe', 'trees', String(number))).trial;
  await page.getByRole('heading', {name: `Trial ${number}`}).waitFor();
  await page.getByText(told.state_reason).first().waitFor();
  await page.getByText(told.choice_reason, {exact: true}).waitFor();
  await page.getByRole('log', {name: 'Output'}).getByText(/validation-auc:0\.\d+/).first().waitFor();
  await page.getByText('Ended', {exact: true}).waitFor();
  const own = page.getByRole('region', {name: 'Configuration compared with others'}).getByRole('row');
  assert.equal(await own.count(), 1 + 6 + 2);  // a head, the hyperparameters, objective and state
  await page.getByRole('button', {name: 'Errors'}).click();
  await page.getByRole('log', {name: 'Errors'}).waitFor();
  assert.match(page.url(), /log=stderr/);
  await picture(page, 'trial');

  await page.goBack();
  await page.getByRole('application').waitFor();
  await page.goBack();
  assert.equal(page.url(), before);
});

test('Dashboard: a link to a bracket shows the bracket that is called so', async () => {
  await page.goto('/jobs/trees?f=%23bracket:2');
  await page.getByRole('group', {name: 'Filters'}).getByText('bracket is 2').waitFor();
  const second = (await here.site.describe('trees')).brackets[1];
  const sieve = page.getByRole('application');
  await until(async () => (await sieve.getAttribute('aria-label')).includes(`${second.rungs[0].width} trials drawn in 1 column`), 'the sieve holds its trials');
  await page.getByText('Bracket 2', {exact: true}).waitFor();
});

test('Dashboard: the job reads as well in the dark', async () => {
  await page.getByRole('button', {name: 'Theme'}).click();
  await page.getByRole('menuitemradio', {name: 'Dark'}).click();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  await page.goto('/jobs/trees');
  await page.getByRole('application').waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');  // remembered
  await page.mouse.move(0, 0);
  await picture(page, 'search-dark');
  assert.deepEqual(page.faults, []);
});
