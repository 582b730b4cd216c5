// What people add to jobs and take from the page: tags and notes, forms, downloads, trials side by side.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdirSync, readdirSync, readFileSync} from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';

import {picture} from './support/browser.mjs';
import {until} from './support/patience.mjs';
import {boosting, writeTable} from './support/specs.mjs';
import {world} from './support/world.mjs';

const here = world({}, async ({site}) => {
  const table = writeTable(site.folder, {rows: 500});
  const small = {hyperband: {minResource: 1, maxResource: 9, reductionFactor: 3}};
  await site.submit({...boosting(table, 'first', small), tags: ['nightly'], note: 'of the night'});
  await site.submit({...boosting(table, 'second', {...small, seed: 8})});
  await site.end('first');
  await site.end('second');
});

async function saved(page, action) {
  const [download] = await Promise.all([page.waitForEvent('download'), action()]);
  return {name: download.suggestedFilename(), file: await download.path()};
}

test('Dashboard: tags and notes are edited in place, and jobs are found by them', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  await page.goto('/jobs/second');
  await page.getByRole('button', {name: 'Add tags or a note'}).click();
  const form = page.getByRole('form', {name: 'Tags and note'});
  await form.getByLabel('Tags').fill('baseline no*');
  await form.getByText('"no*" is no tag').waitFor();
  assert.ok(await form.getByRole('button', {name: 'Save'}).isDisabled());
  await form.getByLabel('Tags').fill('baseline v1.2');
  await form.getByLabel('Note').fill('Uses Adam, <b>not</b> SGD');
  await form.getByRole('button', {name: 'Save'}).click();
  await page.getByText('Uses Adam, <b>not</b> SGD').waitFor();
  assert.deepEqual((await site.describe('second')).annotation.tags, ['baseline', 'v1.2']);

  await page.getByRole('link', {name: 'baseline', exact: true}).click();
  await page.waitForURL('**/?tag=baseline');
  const jobs = page.getByRole('list', {name: 'Tuning jobs'});
  await jobs.getByRole('link', {name: 'second', exact: true}).waitFor();
  await until(async () => (await jobs.getByRole('link', {name: 'first', exact: true}).count()) === 0, 'only that job is listed');
  await page.getByRole('button', {name: 'Remove the filter on the tag baseline'}).click();
  await jobs.getByRole('link', {name: 'first', exact: true}).waitFor();
  await page.getByRole('searchbox', {name: 'Search jobs'}).fill('adam');
  await until(async () => (await jobs.getByRole('listitem').count()) === 1, 'the search finds one job');
  await page.getByRole('combobox', {name: 'Which jobs'}).selectOption('failed');
  await page.getByRole('heading', {name: 'No matching jobs'}).waitFor();
  // The address is the view.
  const other = await browser.visit(site.url);
  await other.goto(page.url());
  await other.getByRole('heading', {name: 'No matching jobs'}).waitFor();
  await other.getByRole('button', {name: 'Show all'}).click();
  await other.getByRole('link', {name: 'first', exact: true}).waitFor();

  await other.getByRole('button', {name: 'Actions on second'}).click();
  await other.getByRole('menuitem', {name: 'Add to favourites'}).click();
  await until(async () => (await site.describe('second')).annotation.tags.includes('favourite'), 'it is a favourite');
  assert.equal((await site.describe('second')).annotation.note, 'Uses Adam, <b>not</b> SGD');
  await other.getByRole('combobox', {name: 'Which jobs'}).selectOption('favourites');
  await until(async () => (await other.getByRole('list', {name: 'Tuning jobs'}).getByRole('listitem').count()) === 1, 'only the favourite is listed');
  await other.getByRole('button', {name: 'Actions on second'}).click();
  await other.getByRole('menuitem', {name: 'Remove from favourites'}).click();
  await other.getByRole('heading', {name: 'No matching jobs'}).waitFor();

  await page.goto('/jobs/second/trials/2');
  await page.getByRole('button', {name: 'Add tags or a note'}).click();
  await form.getByLabel('Tags').fill('odd');
  await form.getByRole('button', {name: 'Save'}).click();
  await page.getByRole('link', {name: 'odd', exact: true}).click();
  await page.waitForURL('**/jobs/second?f=*');
  await page.getByText('1 trial match').waitFor();
  assert.deepEqual([...page.faults, ...other.faults], []);
});

test('Dashboard: what others write meanwhile is not overwritten', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  await page.goto('/jobs/second');
  await page.getByRole('button', {name: /tags (or|and) (a )?note/}).click();
  const form = page.getByRole('form', {name: 'Tags and note'});
  await form.getByLabel('Tags').fill('mine');
  await site.winnow('annotate', 'second', '--tag', 'theirs', '--note', 'diverges');
  await form.getByRole('button', {name: 'Save'}).click();
  await form.getByText(/has changed them meanwhile: .*theirs.*, note "diverges"/).waitFor();
  assert.equal((await site.describe('second')).annotation.note, 'diverges');
  await form.getByLabel('Note').fill('diverges, says ben');
  await form.getByRole('button', {name: 'Save'}).click();
  await form.waitFor({state: 'detached'});
  assert.deepEqual((await site.describe('second')).annotation.tags, ['mine']);
  assert.equal((await site.describe('second')).annotation.note, 'diverges, says ben');

  // From a list that is not up to date.
  await page.goto('/');
  await page.getByRole('button', {name: 'Actions on second'}).waitFor();
  await page.route('**/v1/tuning-jobs?*', () => {});
  await site.winnow('annotate', 'second', '--tag', 'late', '--note', 'does not diverge');
  await page.getByRole('button', {name: 'Actions on second'}).click();
  await page.getByRole('menuitem', {name: 'Add to favourites'}).click();
  await until(async () => (await site.describe('second')).annotation.tags.includes('favourite'), 'it is a favourite');
  const {tags, note} = (await site.describe('second')).annotation;
  assert.deepEqual([tags, note], [['favourite', 'late', 'mine'], 'does not diverge']);
  assert.deepEqual(page.faults, []);
});

test('Dashboard: a trial that gets a tag passes the filter on it, also after the job has ended', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  await page.goto('/jobs/first?f=%23tag:late');
  const passing = page.getByRole('region', {name: 'Parallel coordinates'}).getByRole('status').first();
  await passing.getByText(/^0 of \d+ trials$/).waitFor();
  await page.getByRole('region', {name: 'Best configuration'}).getByRole('link', {name: /^Trial/}).click();
  await page.getByRole('button', {name: 'Add tags or a note'}).click();
  const form = page.getByRole('form', {name: 'Tags and note'});
  await form.getByLabel('Tags').fill('late');
  await form.getByRole('button', {name: 'Save'}).click();
  await page.getByRole('link', {name: 'late', exact: true}).waitFor();
  await page.goBack();
  await passing.getByText(/^1 of \d+ trials$/).waitFor();
  assert.deepEqual(page.faults, []);
});

test('Dashboard: any two columns, and two hyperparameters, are drawn and saved', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  await page.goto('/jobs/first?sx=eta&sy=%23training_seconds&sc=max_depth&cx=eta&cy=max_depth#scatter');
  const scatter = page.getByRole('region', {name: 'Scatter'});
  await scatter.getByRole('img', {name: /^training seconds against eta of \d+ trials/}).waitFor();
  await scatter.getByLabel('Vertical of the scatter').selectOption('#objective');
  await scatter.getByRole('img', {name: /^validation:auc .* against eta/}).waitFor();
  assert.match(page.url(), /sy=%23objective/);
  await scatter.getByRole('button', {name: 'Swap axes'}).click();
  await scatter.getByRole('img', {name: /^eta against validation:auc/}).waitFor();
  await scatter.getByRole('button', {name: /Download the data/}).click();
  const csv = await saved(page, () => scatter.getByRole('menuitem', {name: 'Data as CSV'}).click());
  assert.equal(csv.name, 'first-scatter.csv');
  const lines = readFileSync(csv.file, 'utf8').trim().split('\r\n');
  assert.match(lines[0], /^trial,state,/);
  const scored = (await site.json('trials', 'first')).trials.filter((trial) => trial.value !== undefined && trial.state !== 'FAILED');
  assert.equal(lines.length - 1, scored.length);

  const contour = page.getByRole('region', {name: 'Contour'});
  await contour.getByRole('img', {name: /expected over eta and max_depth/}).waitFor();
  await contour.getByRole('button', {name: 'Swap axes'}).click();
  await contour.getByRole('img', {name: /expected over max_depth and eta/}).waitFor();
  assert.match(page.url(), /cx=max_depth&cy=eta/);
  await picture(page, 'contour');

  const trials = page.getByRole('region', {name: 'Trials'});
  await trials.getByRole('button', {name: /Download the data/}).click();
  const json = await saved(page, () => trials.getByRole('menuitem', {name: 'Data as JSON'}).click());
  const rows = JSON.parse(readFileSync(json.file, 'utf8'));
  assert.equal(rows.length, (await site.json('trials', 'first')).trials.length);
  assert.equal(typeof rows[0].eta, 'number');
  assert.deepEqual(page.faults, []);
});

// In the opened page: cards of a chart or a table that offer no download.
const kWithoutDownload = () =>
  [...document.querySelectorAll('main .card:not(.job-row)')]
    .filter((card) => card.querySelector('canvas, table, svg[role="img"]') && !card.querySelector('[title^="Download the data"]'))
    .map((card) => card.getAttribute('aria-label') ?? card.textContent.slice(0, 60));

test('Dashboard: every chart and every table can be saved, as CSV and as JSON', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  // What each page has to offer; a page may offer more, of charts that not every run of a job has.
  const pages = {
    '/': ['jobs'],
    '/jobs/first': ['first sieve', 'first best', 'first parallel coordinates', 'first curves', 'first importance', 'first slices', 'first trials'],
    '/jobs/first/trials/2': ['first trial 2 curve', 'first trial 2 configuration', 'first trial 2 attempts', 'first trial 2 events'],
    '/compare?jobs=first,second': ['comparison by job', 'elapsed time by job', 'node time by job', 'best so far'],
    '/workers': ['workers'],
  };
  let saves = 0;
  for (const [path, expected] of Object.entries(pages)) {
    await page.goto(path);
    const buttons = page.getByRole('button', {name: /^Download the data of/});
    await buttons.first().waitFor();
    for (const card of await page.locator('main .card').all()) await card.scrollIntoViewIfNeeded();  // charts are drawn when they are seen
    await until(async () => (await page.getByRole('status', {name: 'Loading'}).count()) === 0, `${path} is drawn`);
    assert.deepEqual(await page.evaluate(kWithoutDownload), [], path);
    const offered = [];
    for (const button of await buttons.all()) {
      const of = (await button.getAttribute('title')).replace('Download the data of ', '');
      offered.push(of);
      const json = saves++ % 2 === 1;  // each in one of the formats, which all share
      await button.click();
      const {name, file} = await saved(page, () => page.getByRole('menuitem', {name: `Data as ${json ? 'JSON' : 'CSV'}`}).click());
      assert.equal(name, `${of.replace(/[^\w.-]+/g, '-')}.${json ? 'json' : 'csv'}`);
      const text = readFileSync(file, 'utf8');
      const rows = json ? JSON.parse(text).length : text.trim().split('\r\n').length - 1;
      assert.ok(rows > 0, `${path}: ${name} has no rows`);
    }
    assert.deepEqual(expected.filter((each) => !offered.includes(each)), [], `${path} offers ${offered}`);
  }
  assert.deepEqual(page.faults, []);
});

test('Dashboard: trials are chosen in the table and put side by side', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  await page.goto('/jobs/first?sort=number#trials');
  await page.getByRole('checkbox', {name: 'Choose trial 1 to compare'}).check();
  await page.getByRole('checkbox', {name: 'Choose trial 3 to compare'}).check();
  await page.getByRole('button', {name: 'Compare 2 trials'}).click();
  await page.waitForURL('**/jobs/first/compare?trials=1,3');
  const table = page.getByRole('group', {name: 'Trials side by side'});
  const trial = (await site.json('trials', 'first')).trials[2];
  const depth = trial.hyperparameters.find((each) => each.name === 'max_depth').integer;
  const row = table.getByRole('row', {name: /^max_depth/});
  await row.waitFor();
  assert.equal(await row.getByRole('cell').nth(1).innerText(), String(depth));
  await page.getByRole('img', {name: 'Learning curves of 2 trials'}).waitFor();
  assert.deepEqual(page.faults, []);
});

test('Dashboard: the best model is downloaded as one archive, byte for byte', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  await page.goto('/jobs/first');
  const {name, file} = await saved(page, () => page.getByRole('button', {name: 'Best model'}).click());
  const best = (await site.describe('first')).best.trial;
  assert.equal(name, `first-trial-${best}-model.tar`);
  const folder = path.join(site.folder, 'model');
  await site.winnow('best', 'first', '--download', folder);
  const unpacked = path.join(site.folder, 'unpacked');
  mkdirSync(unpacked);
  execFileSync('tar', ['-x', '-f', file, '-C', unpacked]);
  execFileSync('diff', ['-r', folder, unpacked]);
  assert.ok(readdirSync(unpacked).length > 0);
  assert.deepEqual(page.faults, []);
});

test('Dashboard: a job is written by form, from a dropped file, and ended ones are deleted together', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  page.expected.push(/status of 400/);
  await page.goto('/new?from=first&as=form');
  await page.getByRole('textbox', {name: 'Name'}).first().fill('by-form');
  await page.getByRole('textbox', {name: 'Tags'}).fill('made by-form');
  await page.getByRole('textbox', {name: 'Maximum trials'}).fill('-3');
  const finding = page.getByRole('button', {name: /limits\.max_trials/});
  await finding.click();
  assert.equal(await page.evaluate(() => document.activeElement.dataset.field), 'limits.max_trials');
  await page.getByRole('textbox', {name: 'Maximum trials'}).fill('');
  await page.getByText(/^The job file is valid\./).waitFor();
  await page.getByRole('button', {name: 'JSON', exact: true}).click();
  const text = page.getByRole('textbox', {name: 'Job file'});
  const spec = JSON.parse(await text.inputValue());
  assert.deepEqual([spec.name, spec.tags, spec.note], ['by-form', ['by-form', 'made'], 'of the night']);
  await page.getByRole('button', {name: 'Submit the job'}).click();
  await page.waitForURL('**/jobs/by-form');
  await site.end('by-form');

  await page.goto('/new');
  const dropped = await page.evaluateHandle((content) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([content], 'job.json', {type: 'application/json'}));
    return transfer;
  }, `// With a comment.\n${JSON.stringify({...spec, name: 'dropped', limits: {max_trials: -3}}, null, 1)}`);
  await page.locator('.drop').dispatchEvent('drop', {dataTransfer: dropped});
  await until(async () => (await text.inputValue()).includes('"dropped"'), 'the file is in the editor');
  await page.getByRole('button', {name: /limits\.max_trials/}).click();
  assert.equal(await text.evaluate((area) => area.value.slice(area.selectionStart, area.selectionEnd)), '-3');
  await text.fill((await text.inputValue()).replace('-3', '3'));
  await page.getByText(/^The job file is valid\./).waitFor();
  const written = await text.inputValue();
  await page.getByRole('button', {name: 'Form', exact: true}).click();
  await page.getByRole('textbox', {name: 'Name'}).first().fill('renamed');
  await page.getByRole('button', {name: 'JSON', exact: true}).click();
  assert.equal(await text.inputValue(), written.replace('"dropped"', '"renamed"'));
  assert.match(written, /^\/\/ With a comment\.\n/);

  await page.goto('/');
  await page.getByRole('checkbox', {name: 'Choose by-form to compare'}).check();
  await page.getByRole('checkbox', {name: 'Choose second to compare'}).check();
  // One was deleted elsewhere meanwhile: the other one goes all the same.
  page.expected.push(/status of 404/);
  await page.getByRole('button', {name: 'Delete 2 ended'}).click();
  await site.winnow('delete', 'second');
  await page.getByRole('dialog').getByRole('button', {name: 'Delete 2 jobs'}).click();
  await page.getByText(/^1 job deleted, 1 was not\. second: /).waitFor();
  await until(async () => (await page.getByRole('list', {name: 'Tuning jobs'}).getByRole('link', {name: 'second', exact: true}).count()) === 0, 'they are gone');
  assert.deepEqual((await site.json('list')).jobs.map((job) => job.id), ['first']);
  assert.deepEqual(page.faults, []);
});
