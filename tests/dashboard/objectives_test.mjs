// The page of a job with several objectives and a metric constraint.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {desktop, misdeeds, phone, picture, seriousFindings} from './support/browser.mjs';
import {until} from './support/patience.mjs';
import {boosting, writeTable} from './support/specs.mjs';
import {world} from './support/world.mjs';

const kMostLeaves = 60;

// Accuracy against the model's size, which is the same in every run.
function frontJob(table, more = {}) {
  const {objective, hyperband, strategy, ...job} = boosting(table, 'front');
  return {
    ...job,
    staticHyperparameters: {...job.staticHyperparameters, num_round: '9', model_size: 'true'},
    parameters: job.parameters.filter(({name}) => name !== 'num_round'),
    objectives: [
      {metric: 'validation:auc', goal: 'MAXIMIZE', threshold: 0.5},
      {metric: 'model:leaves', goal: 'MINIMIZE', threshold: 400},
    ],
    metricConstraints: [{metric: 'model:leaves', atMost: kMostLeaves}],
    limits: {maxTrials: 40},
    ...more,
  };
}

const here = world({}, async ({site}) => {
  const table = writeTable(site.folder, {rows: 700});
  await site.submit(frontJob(table));
  await site.submit(boosting(table, 'single', {hyperband: {minResource: 1, maxResource: 9, reductionFactor: 3}, parameters: boosting(table, '').parameters.map((each) => (each.name === 'num_round' ? {name: 'num_round', integer: {min: 9, max: 9}} : each))}));
  await site.end('front');
  await site.end('single');
});

const frontOf = (site) => site.json('best', 'front', '--front');

test('Dashboard: a front is drawn, listed and linked; objectives and constraints are named', async () => {
  const {site, browser} = here;
  const front = await frontOf(site);
  const page = await browser.visit(site.url);
  await page.goto('/jobs/front');
  await page.getByText('validation:auc (highest, above 0.5); model:leaves (lowest, below 400)').waitFor();
  await page.getByText(`model:leaves at most ${kMostLeaves}`).waitFor();
  await page.getByRole('img', {name: `validation:auc against model:leaves: ${front.trials.length} trials on the Pareto front`}).waitFor();
  await page.getByRole('img', {name: /^Hypervolume of the Pareto front/}).waitFor();
  const rows = page.getByRole('group', {name: 'Pareto front'}).getByRole('row');
  await rows.nth(1).waitFor();
  assert.equal(await rows.count(), front.trials.length + 1);
  assert.equal(await rows.nth(1).getByRole('link').innerText(), String(front.trials[0].trial.number));
  await page.locator('#front').getByText(`${front.infeasible_trials} infeasible`).waitFor();

  // What the server answers is what is drawn, every trial of the front among it.
  const answer = await (await fetch(`${site.url}/v1/tuning-jobs/front/objectives?x_metric=model:leaves&y_metric=validation:auc`)).json();
  assert.deepEqual(answer.trial.filter((_, i) => answer.front[i]).map(Number).sort((a, b) => a - b),
                   front.trials.map(({trial}) => Number(trial.number)).sort((a, b) => a - b));
  assert.ok(answer.violation.some((each) => Number(each) > 0), 'no trial violates the constraint');

  // The table of trials has a column for each objective and one for the violation.
  const table = page.getByRole('table', {name: 'Trials'});
  await page.locator('#trials').scrollIntoViewIfNeeded();
  for (const name of ['validation:auc', 'model:leaves', 'violation']) await table.getByRole('columnheader', {name, exact: true}).waitFor();
  assert.deepEqual(await seriousFindings(page), []);
  assert.deepEqual(page.faults, []);
});

test('Dashboard: the list of jobs and the choice of jobs tell the front in place of a best value', async () => {
  const {site, browser} = here;
  const {trials} = await frontOf(site);
  const page = await browser.visit(site.url);
  await page.goto('/');
  const row = page.locator('[data-job="front"]');
  await row.getByText('validation:auc, model:leaves').waitFor();
  assert.match(await row.locator('.job-best').innerText(), new RegExp(`\\b${trials.length}\\s+on the Pareto front`));
  await page.goto('/compare');
  await page.getByText(`front of ${trials.length}`).waitFor();
  page.expected.push(/400/);
  await page.goto('/compare?jobs=front,single');
  await page.getByRole('heading', {name: 'This is not possible'}).waitFor();
  assert.deepEqual(page.faults, []);
});

test('Dashboard: the axes of the objectives can be exchanged, and a point leads to its trial', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  await page.goto('/jobs/front');
  const plot = page.getByRole('img', {name: /on the Pareto front$/});
  await plot.waitFor();
  await page.getByLabel('Horizontal axis').selectOption('validation:auc');
  await page.getByRole('img', {name: /^model:leaves against validation:auc/}).waitFor();
  assert.match(page.url(), /x=validation(:|%3A)auc/);
  await plot.focus();
  await page.keyboard.press('ArrowRight');
  const told = page.locator('#objectives .tip').getByText(/^Trial \d+$/);
  const number = /\d+/.exec(await told.innerText())[0];
  await page.keyboard.press('Enter');
  await page.waitForURL(`**/trials/${number}`);
  assert.deepEqual(page.faults, []);
});

test('Dashboard: the best of one objective has what is expected of it', async () => {
  const {site, browser} = here;
  const {best} = await site.describe('single');
  const page = await browser.visit(site.url);
  await page.goto('/jobs/single');
  await until(async () => (await page.locator('.expected').innerText()).startsWith('expected 0.'), 'the page tells what is expected');
  assert.ok(best.expected > 0.5 && best.expected_error > 0);
  assert.deepEqual(page.faults, []);
});

for (const [theme, viewport, size] of [['light', desktop, ''], ['dark', desktop, ''], ['light', phone, '-phone'], ['dark', phone, '-phone']]) {
  test(`Dashboard: the page of several objectives is sound in the ${theme}${size ? ' on a phone' : ''}`, async () => {
    const page = await here.browser.visit(here.site.url, {theme, viewport});
    await page.goto('/jobs/front');
    await page.getByRole('img', {name: /on the Pareto front$/}).waitFor();
    await page.getByRole('group', {name: 'Pareto front'}).getByRole('link').first().waitFor();
    const {faults, strangers, violations, shift, shifts} = await misdeeds(page);
    assert.deepEqual({faults, strangers, violations}, {faults: [], strangers: [], violations: []});
    assert.ok(shift <= 0.1, `things jump by ${shift}: ${shifts.join('; ')}`);
    assert.deepEqual(await seriousFindings(page), []);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wide <= 0, `${wide} px wider than the window`);
    await picture(page, `front-${theme}${size}`, {fullPage: true});
  });
}

test('Dashboard: a trial of several objectives is shown with each of them, alone and beside others', async () => {
  const {site, browser} = here;
  const {trials} = await frontOf(site);
  const first = trials[0].trial;
  const leaves = String(first.metrics.find(({metric}) => metric === 'model:leaves').value);
  const page = await browser.visit(site.url);
  await page.goto(`/jobs/front/trials/${first.number}`);
  const figure = (label) => page.locator('.stat').filter({has: page.getByText(label, {exact: true})});
  assert.match(await figure('model:leaves (lowest)').innerText(), new RegExp(`\\b${leaves}\\b[^]*its newest value`));
  await figure('validation:auc (highest)').waitFor();
  await figure('Rank by validation:auc').waitFor();
  const compared = page.getByRole('region', {name: 'Configuration compared with others'});
  await compared.getByRole('columnheader', {name: /the best in validation:auc|^Best in validation:auc: /}).waitFor();
  await compared.getByRole('rowheader', {name: 'model:leaves'}).waitFor();
  assert.equal(await page.getByText(/best validation:auc/i).count(), 0);

  await page.goto(`/jobs/front/compare?trials=${trials.slice(0, 2).map(({trial}) => trial.number).join(',')}`);
  const row = page.getByRole('group', {name: 'Trials side by side'}).getByRole('row', {name: /^model:leaves /});
  await row.waitFor();
  assert.equal(await row.getByRole('cell').first().innerText(), leaves);
  assert.deepEqual(page.faults, []);
});
