// Workers, and trials that are clusters of ranks.
import assert from 'node:assert/strict';
import {writeFileSync} from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';

import {picture} from './support/browser.mjs';
import {until} from './support/patience.mjs';
import {Site} from './support/site.mjs';
import {descending} from './support/specs.mjs';
import {world} from './support/world.mjs';

const here = world({workers: 2, slots: 2, flags: ['--gpus', '0,1,2']});

test('Dashboard: ranks of a trial cluster have their hosts, logs and figures', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  await site.submit(descending('pair', {cluster: {nodes: 2}, limits: {maxTrials: 1, maxTrialResource: 4000}, steps: 4000, pause: 0.02}));
  await site.job('pair', (job) => job.best, 'has a value');
  await page.goto('/jobs/pair/trials/1');
  const attempts = page.getByRole('region', {name: 'Attempts'});
  await attempts.getByText('rank 1').waitFor();
  assert.match(await attempts.innerText(), /local-\d on 127\.0\.0\.1/);
  await page.getByRole('combobox', {name: 'Rank'}).selectOption('1');
  assert.match(page.url(), /rank=1/);
  await page.getByRole('log', {name: 'Output'}).getByText(/step \d+/).first().waitFor();
  await page.getByRole('img', {name: /^CPUs used by rank/}).waitFor();
  await picture(page, 'trial-cluster');
  assert.deepEqual(page.faults, []);
});

test('Dashboard: workers show what they run and how busy they are', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  await page.goto('/workers');
  await page.getByRole('img', {name: /^CPU in use by worker/}).waitFor();
  await page.getByRole('button', {name: 'Memory'}).click();
  await page.getByRole('img', {name: /^memory in use by worker/}).waitFor();
  assert.match(page.url(), /show=memory/);
  const figures = page.getByRole('table', {name: 'memory in use by worker'}).getByRole('row');
  await until(async () => /local-1 \d+ %/.test((await figures.allTextContents()).join(' ').replace(/(local-\d)(\d)/g, '$1 $2')), 'a worker has a figure');
  const map = page.getByRole('img', {name: /^memory in use by worker/});
  await map.focus();
  await page.keyboard.press('ArrowLeft');
  await page.locator('.heat .tip').getByText(/memory in use/).waitFor();
  // Three devices of two workers; a pair's trial has none.
  await page.getByRole('listitem', {name: 'local-2'}).getByText('GPUs', {exact: true}).waitFor();
  await page.getByText('all healthy').waitFor();
  await picture(page, 'workers');

  // Both ranks are on one worker if the other came late.
  await page.getByRole('listitem', {name: /^local-/}).getByRole('link', {name: /pair · trial 1/}).first().click();
  await page.waitForURL('**/jobs/pair/trials/1');
  assert.deepEqual(page.faults, []);
});

test('Dashboard: a worker is cordoned and uncordoned', async () => {
  const {site, browser} = here;
  const page = await browser.visit(site.url);
  await page.goto('/workers');
  await page.getByRole('button', {name: 'Cordon local-2', exact: true}).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox').fill('a new disk');
  await dialog.getByRole('button', {name: 'Cordon it'}).click();
  const worker = page.getByRole('listitem', {name: 'local-2'});
  await worker.getByText('cordoned').waitFor();
  await worker.getByText('a new disk').waitFor();
  const scheduling = async () => {
    const answer = await site.json('workers');
    return (answer.workers ?? answer).find((each) => each.name === 'local-2').scheduling;
  };
  assert.equal(await scheduling(), 'CORDONED');
  await page.getByRole('button', {name: 'Uncordon local-2'}).click();
  await page.getByRole('dialog').getByRole('button', {name: 'Uncordon it'}).click();
  await page.getByRole('button', {name: 'Cordon local-2', exact: true}).waitFor();
  assert.equal(await scheduling(), 'OPEN');
  assert.deepEqual(page.faults, []);
});

test('Dashboard: pools show their nodes and what their engines say', async () => {
  const site = new Site({workers: 0});
  const file = path.join(site.folder, 'pools.json');
  const command = {submit: ['sh', '-c', 'echo there is no such account >&2; exit 1'], list: ['true'], cancel: ['true']};
  writeFileSync(file, JSON.stringify({pools: [{name: 'mine', kind: 'COMMAND', max_nodes: 3, poll_seconds: 0.2, command}]}));
  site.arguments.push('--pools', file);
  try {
    await site.start();
    const page = await here.browser.visit(site.url);
    await site.submit(descending('waits'));
    await page.goto('/workers');
    const pool = page.getByRole('listitem', {name: 'Pool mine'});
    await pool.getByText('0 of 3').waitFor();
    await pool.getByText(/-mine-1 ended .*there is no such account/).waitFor();
    await pool.getByText(/pauses/).first().waitFor();
    assert.deepEqual(page.faults, []);
  } finally {
    await site.stop();
  }
});
