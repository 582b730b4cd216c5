// Jobs: what is done to them from the page, and how they compare.
import assert from 'node:assert/strict';
import {mkdirSync, rmSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';

import {picture} from './support/browser.mjs';
import {until} from './support/patience.mjs';
import {boosting, descending, writeTable} from './support/specs.mjs';
import {world} from './support/world.mjs';

const here = world({}, async ({site}) => {
  const table = writeTable(site.folder, {rows: 1000});
  const small = {hyperband: {minResource: 1, maxResource: 9, reductionFactor: 3}};
  await site.submit(boosting(table, 'hyperband', small));
  await site.submit(boosting(table, 'random', {strategy: 'RANDOM', hyperband: undefined, limits: {maxTrials: 12, maxTrialResource: 9}}));
  await site.end('hyperband');
  await site.end('random');
});

test('Dashboard: a log grows while it is read, and stays where its reader is', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  await site.submit(descending('slow', {pause: 0.02, steps: 20_000}));  // longer than these tests need it
  await site.job('slow', (job) => job.best, 'has a value');
  await page.goto('/jobs/slow/trials/1');
  const log = page.getByRole('log', {name: 'Output'});
  const step = async () => Number([...(await log.innerText()).matchAll(/step (\d+) /g)].at(-1)?.[1] ?? 0);
  const first = await until(step, 'something is printed');
  await until(async () => (await step()) > first + 40, 'more is printed');
  await log.evaluate((box) => box.scrollTo(0, 0));
  await page.getByRole('button', {name: 'Follow'}).waitFor();
  const then = await step();
  await until(async () => (await step()) > then + 10, 'more is printed');
  assert.equal(await log.evaluate((box) => box.scrollTop), 0);
  await page.getByRole('button', {name: 'Follow'}).click();
  await until(() => log.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight < 30), 'the end is in view again');

  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', {name: 'Download the log'}).click()]);
  assert.equal(download.suggestedFilename(), 'slow-trial-1-attempt-1-rank-0.stdout.log');
  assert.deepEqual(page.faults, []);
});

test('Dashboard: a job is paused and resumed, and the page says by whom', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  await page.goto('/jobs/slow');
  await page.getByRole('button', {name: 'Pause', exact: true}).click();
  await page.getByRole('button', {name: 'Resume'}).waitFor();
  assert.equal((await site.describe('slow')).paused, true);
  await page.getByText('The job is paused').first().waitFor();
  await page.locator('.job-state .badge').getByText(/^paused$/i).waitFor();
  assert.equal(await page.locator('.job-state').getByText(/ left/).count(), 0);
  await page.getByRole('button', {name: 'Resume'}).click();
  await page.getByRole('button', {name: 'Pause', exact: true}).waitFor();
  assert.equal((await site.describe('slow')).paused ?? false, false);
  await page.getByText('The job is resumed').first().waitFor();
  assert.deepEqual(page.faults, []);
});

test('Dashboard: the trials of a running job are listed, however long an answer takes', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  // Longer than the page waits until it asks for news.
  const kAnswerMs = 2500;
  await page.route('**/v1/tuning-jobs/slow/table?*', async (route) => {
    await new Promise((resolve) => setTimeout(resolve, kAnswerMs));
    await route.continue().catch(() => {});  // the page may be gone
  });
  await page.goto('/jobs/slow#trials');
  await page.getByRole('table', {name: 'Trials'}).getByRole('row').nth(1).waitFor();
  assert.deepEqual(page.faults, []);
  await page.close();
});

test('Dashboard: what is compared stays up to date, also where a link led to it', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  const answered = (part) => page.waitForResponse((response) => new URL(response.url()).pathname === part);
  for (const [path, asked] of [['/compare?jobs=slow', '/v1/comparison'], ['/jobs/slow/compare?trials=1,2', '/v1/tuning-jobs/slow/table']]) {
    const first = answered(asked);
    await page.goto(path);
    await first;
    for (let i = 0; i < 3; ++i) await answered(asked);
  }
  assert.deepEqual(page.faults, []);
  await page.close();
});

test('Dashboard: a job that is older than the list goes back is compared as others are', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  await page.route('**/v1/tuning-jobs?*', (route) => {
    const url = new URL(route.request().url());
    url.searchParams.set('search', 'random');
    return route.continue({url: url.href});
  });
  const answered = () => page.waitForResponse((response) => new URL(response.url()).pathname === '/v1/comparison');
  const first = answered();
  await page.goto('/compare?jobs=slow');
  await first;
  await page.getByRole('checkbox', {name: 'random'}).waitFor();
  for (let i = 0; i < 3; ++i) await answered();
  await page.getByRole('combobox', {name: 'Compare by'}).selectOption('rate');
  await page.getByRole('heading', {name: 'Trials of slow by rate'}).waitFor();
  assert.deepEqual(page.faults, []);
  await page.close();
});

test('Dashboard: a notification tells of the end of a job at which nobody looks', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  await page.addInitScript(() => {
    window.told = [];
    window.Notification = class {
      static requestPermission = async () => 'granted';
      constructor(title) {
        window.told.push(title);
      }
    };
  });
  await site.submit(descending('awaited', {limits: {maxTrials: 1}}));
  await page.goto('/jobs/awaited');
  await page.getByRole('button', {name: 'Notify me'}).click();
  await page.getByRole('button', {name: 'Will notify'}).waitFor();
  await page.evaluate(() => {
    Object.defineProperty(document, 'hidden', {get: () => true});
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await site.winnow('stop', 'awaited');
  await site.end('awaited');
  await until(() => page.evaluate(() => window.told.length), 'it is told');
  assert.deepEqual(await page.evaluate(() => window.told), ['awaited stopped']);
  assert.deepEqual(page.faults, []);
  await page.close();
  await site.winnow('delete', 'awaited');
});

test('Dashboard: a job is stopped, but not before it was asked', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  await page.goto('/jobs/slow/trials/1');
  const keep = page.getByRole('button', {name: 'Keep'});
  await keep.click();
  const why = page.getByRole('heading', {name: 'Why it is kept'});
  await why.waitFor();
  assert.equal(await keep.getAttribute('aria-pressed'), 'true');
  await keep.click();
  await why.waitFor({state: 'detached'});

  await page.goto('/jobs/slow');
  await page.getByRole('button', {name: 'Stop'}).click();
  await page.getByRole('dialog', {name: 'Stop slow?'}).getByRole('button', {name: 'Cancel'}).click();
  assert.equal((await site.describe('slow')).state, 'RUNNING');
  // What was answered before the stop, and comes after what tells of it, does not count.
  const before = await (await fetch(`${site.url}/v1/tuning-jobs/slow`)).text();
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await page.route('**/v1/tuning-jobs/slow', async (route) => {
    await held;
    await route.fulfill({body: before, contentType: 'application/json'});
  }, {times: 1});
  await page.route('**/v1/tuning-jobs/slow/events*', (route) => route.abort());
  await page.getByRole('button', {name: 'Stop'}).click();
  await page.getByRole('dialog').getByRole('button', {name: 'Stop the job'}).click();
  await page.getByText('stopped', {exact: true}).first().waitFor();
  const late = page.waitForEvent('requestfinished', (request) => request.url().endsWith('/v1/tuning-jobs/slow'));
  release();
  await late;
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  await page.getByRole('button', {name: 'Delete'}).waitFor();
  assert.equal((await site.describe('slow')).state, 'STOPPED');

  await page.getByRole('button', {name: 'Delete'}).click();
  await page.getByRole('dialog').getByRole('button', {name: 'Delete the job'}).click();
  await page.waitForURL(site.url + '/');
  await page.getByRole('link', {name: 'hyperband'}).waitFor();
  await until(async () => (await page.getByRole('link', {name: 'slow', exact: true}).count()) === 0, 'it is not in the list');
  assert.deepEqual((await site.json('list')).map?.((job) => job.id) ?? (await site.json('list')).jobs.map((job) => job.id), ['random', 'hyperband']);
});

test('Dashboard: jobs are chosen in the list and compared', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  await page.goto('/');
  await page.getByRole('checkbox', {name: 'Choose hyperband to compare'}).check();
  await page.getByRole('checkbox', {name: 'Choose random to compare'}).check();
  await page.getByRole('button', {name: 'Compare 2 jobs'}).click();
  await page.waitForURL('**/compare?jobs=hyperband,random');
  const rows = page.getByRole('group', {name: 'Comparison'}).getByRole('row');
  await rows.nth(2).waitFor();
  const jobs = Object.fromEntries(await Promise.all(['hyperband', 'random'].map(async (id) => [id, await site.describe(id)])));
  const better = jobs.hyperband.best.objective >= jobs.random.best.objective ? 'hyperband' : 'random';
  assert.match(await rows.nth(1).innerText(), new RegExp(better));
  assert.match(await rows.nth(1).innerText(), /on it/);  // nothing dominates the best
  await page.getByRole('img', {name: /Best validation:auc so far of hyperband/}).waitFor();
  assert.equal(await page.getByRole('img', {name: /^validation:auc against/}).count(), 2);
  await page.getByRole('button', {name: 'Units'}).click();
  assert.match(page.url(), /x=resource/);
  await picture(page, 'compare');

  // The address is the view: another visitor sees the same.
  const other = await browser.visit(site.url);
  await other.goto(page.url());
  await other.getByRole('img', {name: /Best validation:auc so far of hyperband/}).waitFor();
  assert.ok(await other.getByRole('checkbox', {name: /random/}).isChecked());

  await page.getByRole('checkbox', {name: /random/}).uncheck();
  await page.getByRole('heading', {name: 'Trials of hyperband by nodes'}).waitFor();
  await page.getByRole('combobox', {name: 'Compare by'}).selectOption('max_depth');
  await page.getByRole('heading', {name: 'Trials of hyperband by max_depth'}).waitFor();
  await page.goBack();
  await page.getByRole('heading', {name: 'Trials of hyperband by nodes'}).waitFor();
  await page.goBack();
  await rows.nth(2).waitFor();
  assert.deepEqual([...page.faults, ...other.faults], []);
});

test('Dashboard: a job is run again with changes, and what is wrong with them is shown at its field', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  page.expected.push(/status of 400/, /ERR_FAILED/);
  await page.goto('/jobs/hyperband');
  // A plan that got no answer is asked for again.
  await page.route('**/v1/preview', (route) => route.abort(), {times: 1});
  await page.getByRole('link', {name: /Run again/}).first().click();
  await page.waitForURL('**/new?from=hyperband');
  const text = page.getByRole('textbox', {name: 'Job file'});
  const spec = JSON.parse(await text.inputValue());
  assert.equal(spec.name, 'hyperband');
  await page.getByText(/^The job file is valid\./).waitFor();

  await text.fill(JSON.stringify({...spec, limits: {max_trials: -3}}, null, 2));
  const finding = page.getByRole('button', {name: /limits\.max_trials/});
  await finding.waitFor();
  assert.ok(await page.getByRole('button', {name: 'Submit the job'}).isDisabled());
  await finding.click();
  assert.equal(await text.evaluate((field) => field.value.slice(field.selectionStart, field.selectionEnd)), '-3');
  await text.fill('{"name": oops}');
  await page.getByText('1 problem').waitFor();

  await text.fill(JSON.stringify({...spec, name: 'again', seed: 99}));
  await page.getByText(/^The job file is valid\./).waitFor();
  // An answer that is lost leaves nothing wrong with the job file. Submitted again as it is, it starts no second job.
  await page.route('**/v1/tuning-jobs', async (route) => {
    await route.fetch();
    await route.abort();
  }, {times: 1});
  await page.getByRole('button', {name: 'Submit the job'}).click();
  await page.getByText('winnow-server does not answer').waitFor();
  await page.getByRole('button', {name: 'Submit the job'}).click();
  await page.waitForURL('**/jobs/again');
  assert.equal((await site.json('list')).jobs.filter((job) => job.id.startsWith('again')).length, 1);
  assert.equal(Number((await site.end('again')).spec.seed), 99);
  assert.deepEqual(page.faults, []);
});

test('Dashboard: a job whose code travels is run again with the same code', async () => {
  const {site, browser} = here;
  const folder = path.join(site.folder, 'code');
  mkdirSync(folder);
  writeFileSync(path.join(folder, 'run.sh'), 'echo "step 1 loss=$1"\n');
  const whole = descending('packed', {steps: 1, limits: {maxTrials: 2, maxTrialResource: 1}, workingDirectory: folder});
  await site.submit({...whole, trainer: {...whole.trainer, source: '.', command: ['sh', 'run.sh', '{{rate}}']}});
  const first = await site.end('packed');
  const page = await browser.visit(site.url);
  await page.goto('/new?from=packed');
  const text = page.getByRole('textbox', {name: 'Job file'});
  const spec = JSON.parse(await text.inputValue());
  assert.equal(spec.trainer.source, '.');
  await text.fill(JSON.stringify({...spec, trainer: {...spec.trainer, source: 'other'}}));
  await page.getByRole('button', {name: /trainer\.source/}).waitFor();
  assert.ok(await page.getByRole('button', {name: 'Submit the job'}).isDisabled());
  // The folder need not be there any more.
  rmSync(folder, {recursive: true});
  await text.fill(JSON.stringify({...spec, name: 'packed-again', seed: 99}));
  await page.getByText(/It runs the code of packed\./).waitFor();
  await page.getByRole('button', {name: 'Submit the job'}).click();
  await page.waitForURL('**/jobs/packed-again');
  const again = await site.end('packed-again');
  assert.equal(again.source.digest, first.source.digest);
  assert.equal(Number(again.trial_counts.completed), 2);
  assert.deepEqual(page.faults, []);
});
