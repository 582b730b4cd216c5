// A server that only shows an archive: everything can be looked at, and nothing is offered that it would refuse.
import assert from 'node:assert/strict';
import {after, test} from 'node:test';

import {seriousFindings} from './support/browser.mjs';
import {Site} from './support/site.mjs';
import {descending} from './support/specs.mjs';
import {world} from './support/world.mjs';

let shown;
const here = world({workers: 1}, async ({site}) => {
  await site.submit(descending('kept', {pause: 0, steps: 20, limits: {maxTrials: 3, maxTrialResource: 20}}));
  await site.end('kept');
  await site.winnow('annotate', 'kept', '--tag', 'paper', '--note', 'of the first study');
  shown = await new Site({shown: await site.archive('kept')}).start();
});
after(() => shown?.stop());

// Names of what changes something, or needs files that an archive has not.
const kChanges = /^(Stop|Delete|Pause|Resume|Keep|Cordon|Best model|Model|Edit tags|Add tags|Actions on|Revoke|Create)/;

// The page says that nothing can be changed, and nothing that changes something can be pressed.
async function expectReadOnly(page) {
  await page.getByText('Read-only: this server shows an archive and changes nothing.').waitFor();
  assert.deepEqual(await page.getByRole('button', {name: kChanges, disabled: false}).allInnerTexts(), []);
  assert.deepEqual(await page.getByRole('link', {name: /^(New job|Run again|Write a job)/}).allInnerTexts(), []);
}

test('Dashboard: an archive is looked at like the jobs of any server, without what changes them', async () => {
  const page = await here.browser.visit(shown.url);
  await page.goto('/');
  await page.getByRole('link', {name: 'kept'}).first().waitFor();
  await expectReadOnly(page);
  assert.deepEqual(await seriousFindings(page), []);

  await page.goto('/jobs/kept');
  await page.getByRole('heading', {name: 'kept'}).waitFor();
  await page.getByText('of the first study').waitFor();
  await page.getByRole('heading', {name: 'The sieve'}).waitFor();
  await expectReadOnly(page);
  assert.deepEqual(await seriousFindings(page), []);

  await page.goto('/jobs/kept/trials/1');
  await page.getByText(/step 20 loss=/).first().waitFor();
  await expectReadOnly(page);

  await page.goto('/workers');
  await page.getByRole('heading', {name: 'Workers'}).first().waitFor();
  await expectReadOnly(page);
  assert.deepEqual(page.faults, []);
});

test('Dashboard: where the page could not be told, the server refuses', async () => {
  const page = await here.browser.visit(shown.url);
  await page.goto('/new');
  await page.getByText('This server is read-only and starts no jobs.').waitFor();
  assert.equal(await page.getByRole('button', {name: 'Submit the job'}).isDisabled(), true);
  const answer = await fetch(`${shown.url}/v1/tuning-jobs/kept`, {method: 'DELETE'});
  assert.equal(answer.ok, false);
  assert.match(await answer.text(), /this server only shows .*archive\.db; it changes nothing/);
  assert.equal((await shown.describe('kept')).id, 'kept');
});
