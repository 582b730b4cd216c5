// What the page says of trials that came to no good end, and of jobs that did not come to theirs.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {picture, seriousFindings} from './support/browser.mjs';
import {until} from './support/patience.mjs';
import {boosting, descending, writeTable} from './support/specs.mjs';
import {world} from './support/world.mjs';

// Descends four steps; where its rate is high it fails after the second.
const kFragile = 'for i in 1 2 3 4; do echo "step $i loss=$(awk "BEGIN {print 1 / ($i * {{rate}})}")"; ' +
  'if [ $i -eq 2 ] && awk "BEGIN {exit !({{rate}} > 0.6)}"; then echo "the rate {{rate}} is too high" >&2; echo "ValueError: it diverged" >&2; exit 3; fi; done';

const here = world({}, async ({site}) => {
  const rate = {name: 'rate', continuous: {min: 0.1, max: 1}};
  const whole = descending('fragile', {steps: 4, parameters: [rate], limits: {maxTrials: 12, maxTrialResource: 4, maxAttempts: 1}});
  whole.trainer.command = ['sh', '-c', kFragile];
  await site.submit(whole);
  await site.submit(boosting(writeTable(site.folder, {rows: 500}), 'pruned', {hyperband: {minResource: 1, maxResource: 27, reductionFactor: 3}}));
  // A job without a best trial in two ways, and one whose best is a mean.
  await site.submit(short('broken', {trainer: {...short('').trainer, command: ['sh', '-c', `echo "step 1 loss={{rate}}"; echo ${'Unbroken'.repeat(60)} >&2; exit 3`]}}));
  await site.submit(short('unmet', {metricConstraints: [{metric: 'loss', atMost: -1}]}));
  await site.submit(short('repeated', {repeats: {seeds: 3}, strategy: undefined, limits: {maxTrials: 2}}));
  for (const job of ['fragile', 'pruned', 'broken', 'unmet', 'repeated']) await site.end(job);
});

// One step, whose value is the rate and a little more in each repeat.
function short(name, more = {}) {
  const job = descending(name, {steps: 1, parameters: [{name: 'rate', continuous: {min: 0.1, max: 1}}], limits: {maxTrials: 3}, ...more});
  return {...job, trainer: {...job.trainer, command: ['sh', '-c', 'echo "step 1 loss=$(awk "BEGIN {print {{rate}} + ${WINNOW_REPEAT:-0} / 100}")"'], ...more.trainer}};
}

test('Dashboard: why a job has no best trial, which comes nearest, and how sure a mean is', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  await page.goto('/jobs/broken');
  await page.getByText('all trials failed', {exact: true}).waitFor();
  await page.getByText('All trials failed.', {exact: true}).waitFor();
  await page.getByText(/Unbroken/).first().waitFor();
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'a long word makes the page wider');

  await page.goto('/jobs/unmet');
  await page.getByText('no trial satisfies the constraints', {exact: true}).waitFor();
  const {trials} = await site.json('trials', 'unmet');
  const nearest = trials.reduce((least, trial) => (trial.violation < least.violation ? trial : least));
  const said = page.getByText(/^The nearest is trial \d: loss = [0-9.]+, expected at most −1$/);
  await said.waitFor();
  await said.getByRole('link', {name: `trial ${nearest.number}`}).click();
  await page.getByRole('heading', {name: 'Constraints that it violates'}).waitFor();

  const {best} = await site.describe('repeated');
  assert.ok(best.standard_error > 0, `the standard error is ${best.standard_error}`);
  await page.goto('/jobs/repeated');
  await page.getByText(/^[0-9.]+ ± [0-9.]+$/).first().waitFor();
  await page.getByText(`mean of ${best.resource} repeats`).first().waitFor();
  assert.deepEqual(page.faults, []);
});

test('Dashboard: failures are named with their reasons, and nothing is saved by them', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  const {trial_counts: counts} = await site.describe('fragile');
  const failed = Number(counts.failed);
  assert.ok(failed > 1 && failed < 12, `${failed} failed`);
  await page.goto('/');
  await page.getByRole('link', {name: `${failed} failed`}).waitFor();

  await page.goto('/jobs/fragile');
  const trouble = page.getByRole('region', {name: 'What needs attention'});
  await trouble.getByText(/ValueError: it diverged/).first().waitFor();
  await page.getByText('nothing was pruned').waitFor();
  assert.equal(await page.getByText(/saved by/).count(), 0);
  assert.deepEqual(await seriousFindings(page), []);
  await picture(page, 'job-failures');

  await trouble.getByRole('link', {name: `${failed} trials failed`}).click();
  assert.match(page.url(), /[?&]f=%23state:failed#trials$/);
  const table = page.getByRole('table', {name: 'Trials'});
  await until(async () => Number(await table.getAttribute('aria-rowcount')) === failed + 1, 'the table holds those alone');
  await table.getByRole('row').nth(1).getByRole('link').click();
  await page.waitForURL('**/trials/*');
  await page.getByRole('log', {name: 'Errors'}).getByText(/is too high/).waitFor();  // and not its output
  assert.ok(await page.getByRole('button', {name: 'Model'}).isDisabled(), 'it has no model');
  assert.deepEqual(page.faults, []);
});

test('Dashboard: the sieve of a job without rungs has no rungs', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  await page.goto('/jobs/fragile');
  await page.getByText(/this job has no rungs/).waitFor();
  await page.locator('#sieve').getByRole('button', {name: 'Table'}).click();
  const rows = page.locator('#sieve').getByRole('row');
  await rows.nth(2).waitFor();
  assert.doesNotMatch(await rows.nth(0).innerText(), /Promoted|Cut-off|Entered/);
  assert.deepEqual((await Promise.all([1, 2].map((row) => rows.nth(row).getByRole('cell').nth(1).innerText()))), ['2', '4']);
  assert.deepEqual(page.faults, []);
});

test('Dashboard: what was saved is what pruned trials were not trained', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  const job = await site.describe('pruned');
  assert.ok(Number(job.trial_counts.pruned) > 0);
  const saved = Number(job.spend.saved_resource);
  await page.goto('/jobs/pruned');
  const part = Math.round((100 * saved) / (saved + Number(job.spend.resource)));
  await page.getByText(`${part} % saved by pruning: ${saved.toLocaleString('en-US')} units`).waitFor();
  await page.getByRole('link', {name: `${job.trial_counts.pruned} pruned`}).click();
  await page.getByText('state is pruned').waitFor();
  await page.locator('#sieve').getByText('pruned', {exact: true}).waitFor();  // in the legend
  assert.deepEqual(page.faults, []);
});

test('Dashboard: importance and slices are of one level, which can be chosen', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  await page.goto('/jobs/pruned#importance');
  const chooser = page.getByRole('combobox', {name: 'Level at which trials are compared'});
  await chooser.waitFor();
  const offered = await chooser.locator('option').allInnerTexts();
  assert.match(offered[0], /^compared at 27 units \(\d+ trials\)$/);
  assert.equal(offered.at(-1), 'each at its own level');
  const slices = page.locator('#slices');
  await slices.scrollIntoViewIfNeeded();
  await slices.getByText(/compared at \d+ units?/).waitFor();
  await chooser.selectOption({label: offered.find((text) => text.startsWith('compared at 1 unit '))});
  await slices.getByText('compared at 1 unit', {exact: false}).waitFor();
  assert.match(page.url(), /[?&]level=1(&|#|$)/);
  await chooser.selectOption('own');
  await slices.getByText(/each trial at its own level/).waitFor();
  await page.locator('#importance').getByText(/Values at different levels are compared/).waitFor();
  assert.deepEqual(page.faults, []);
});

test('Dashboard: a job that was stopped is not through, and its trials are cancelled, not pruned', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  await site.submit(descending('halted', {pause: 0.02, limits: {maxTrials: 40, maxTrialResource: 1000}}));
  await site.job('halted', (job) => job.best, 'has a value');
  await page.goto('/jobs/halted');
  await page.getByText(/units saved so far|nothing pruned so far/).waitFor();
  await site.winnow('stop', 'halted');
  const {trial_counts: counts} = await site.end('halted');
  assert.ok(Number(counts.cancelled) > 0);
  assert.equal(Number(counts.pruned), 0);
  await page.getByRole('link', {name: `${counts.cancelled} cancelled`}).waitFor();
  await page.goto('/');
  const bar = page.getByRole('progressbar', {name: 'Progress of halted'});
  await bar.waitFor();
  assert.ok(Number(await bar.getAttribute('aria-valuenow')) < 100);
  await page.goto('/jobs/halted?f=%23state:cancelled');
  await page.locator('#sieve').getByText('cancelled with the job').waitFor();
  await page.getByText('nothing was pruned').waitFor();
  assert.deepEqual(page.faults, []);
});

test('Dashboard: a job that was deleted while nobody looked is not there any more', async () => {
  const {site, browser} = here;
  await site.submit(descending('unseen', {limits: {maxTrials: 1}}));
  await site.job('unseen', (job) => job.best, 'has a value');
  const seen = (page, isSeen) => page.evaluate((value) => {
    Object.defineProperty(document, 'hidden', {get: () => !value, configurable: true});
    document.dispatchEvent(new Event('visibilitychange'));
  }, isSeen);
  const pages = [];
  for (const [address, card] of [['/jobs/unseen', 'Job file'], ['/jobs/unseen/trials/1', 'Configuration']]) {
    const page = await browser.visit(site.url);
    page.expected.push(/status of 404/);
    const followed = page.waitForResponse((response) => new URL(response.url()).pathname.endsWith('/events'));
    await page.goto(address);
    await followed;
    await page.getByRole('heading', {name: card, exact: true}).waitFor();
    await seen(page, false);
    pages.push(page);
  }
  await site.winnow('stop', 'unseen');
  await site.end('unseen');
  await site.winnow('delete', 'unseen');
  for (const page of pages) await seen(page, true);
  await pages[0].getByText('It may have been deleted.').waitFor();
  await pages[1].getByRole('heading', {name: 'Configuration', exact: true}).waitFor({state: 'detached'});
  await pages[1].getByText('there is no job "unseen"').waitFor();
  for (const page of pages) {
    assert.deepEqual(page.faults, []);
    await page.close();
  }
});

test('Dashboard: the job to begin with runs as it stands', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  await page.goto('/new');
  await page.getByText(/^The job file is valid\./).waitFor();
  const text = page.getByRole('textbox', {name: 'Job file'});
  await page.getByRole('button', {name: 'Your own program'}).click();
  await page.getByRole('button', {name: /working_directory.*a placeholder/}).waitFor();
  assert.ok(await page.getByRole('button', {name: 'Submit the job'}).isDisabled());
  await page.getByRole('button', {name: 'To try out'}).click();
  await page.getByText(/^The job file is valid\./).waitFor();
  assert.equal(await text.evaluate((field) => field.scrollWidth - field.clientWidth), 0);
  await page.getByRole('button', {name: 'Submit the job'}).click();
  await page.waitForURL('**/jobs/first-job');
  const job = await site.end('first-job');
  assert.equal(job.state, 'COMPLETED');
  assert.equal(Number(job.trial_counts.failed), 0);
  assert.ok(job.best);
  assert.deepEqual(page.faults, []);
});
