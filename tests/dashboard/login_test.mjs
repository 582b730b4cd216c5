// Who may look, and who may do what.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {picture, seriousFindings} from './support/browser.mjs';
import {until} from './support/patience.mjs';
import {descending} from './support/specs.mjs';
import {world} from './support/world.mjs';

const tokens = {};
const here = world({workers: 1, slots: 1, flags: ['--require-tokens']}, async ({site}) => {
  for (const role of ['viewer', 'submitter', 'admin']) tokens[role] = await site.token(role);
  const keyed = descending('keyed', {limits: {maxTrials: 1}, steps: 1});
  await site.submit({...keyed, trainer: {...keyed.trainer, environment: {API_KEY: 'a secret'}}});
  await site.end('keyed');
  await site.submit(descending('guarded', {limits: {maxTrials: 1}}));
});

async function visit() {
  const page = await here.browser.visit(here.site.url);
  page.expected.push(/status of 401/);
  return page;
}

async function logIn(page, role) {
  await page.getByLabel('Token', {exact: true}).fill(tokens[role]);
  await page.getByRole('button', {name: 'Log in'}).click();
}

test('Dashboard: without a token every page leads to the login, and from there back', async () => {
  const page = await visit();
  await page.goto('/jobs/guarded');
  await page.waitForURL('**/login?to=*');
  await page.getByRole('heading', {name: 'Log in to Winnow'}).waitFor();
  assert.deepEqual(await seriousFindings(page), []);
  await picture(page, 'login');
  await page.getByLabel('Token', {exact: true}).fill('wnw_00000000_' + 'x'.repeat(43));
  await page.getByRole('button', {name: 'Log in'}).click();
  await page.getByText('The server rejects this token').waitFor();
  await logIn(page, 'viewer');
  await page.waitForURL('**/jobs/guarded');
  await page.getByRole('heading', {name: 'guarded'}).waitFor();

  const [cookie] = await page.context().cookies();
  assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, 'Strict']);
  await page.reload();
  await page.getByRole('heading', {name: 'guarded'}).waitFor();
  assert.deepEqual(page.faults, []);
});

test('Dashboard: a viewer is offered nothing that would be refused', async () => {
  const page = await visit();
  await page.goto('/login?to=/jobs/guarded');
  await logIn(page, 'viewer');
  await page.getByRole('heading', {name: 'guarded'}).waitFor();
  await page.getByRole('heading', {name: 'The sieve'}).waitFor();
  assert.equal(await page.getByRole('button', {name: 'Stop'}).count(), 0);
  assert.equal(await page.getByRole('link', {name: 'New job'}).count(), 0);
  await page.goto('/workers');
  await page.getByRole('listitem', {name: 'local-1'}).waitFor();
  assert.equal(await page.getByRole('button', {name: /Cordon/}).count(), 0);
  assert.deepEqual(page.faults, []);
});

test('Dashboard: a job of somebody else is run again once the values that only its owner sees are written', async () => {
  const page = await visit();
  page.expected.push(/status of 400/);
  await page.goto('/login?to=/new?from=keyed');
  await logIn(page, 'submitter');
  await page.getByRole('button', {name: /trainer\.environment\.API_KEY\s*is "\(hidden\)".*expected its value/}).waitFor();
  assert.ok(await page.getByRole('button', {name: 'Submit the job'}).isDisabled());
  const text = page.getByRole('textbox', {name: 'Job file'});
  await text.fill((await text.inputValue()).replace('(hidden)', 'my own'));
  await page.getByText(/^The job file is valid\./).waitFor();
  assert.ok(await page.getByRole('button', {name: 'Submit the job'}).isEnabled());
  assert.deepEqual(page.faults, []);
});

test('Dashboard: an admin stops a job by the cookie alone, and logs out', async () => {
  const page = await visit();
  await page.goto('/login?to=/jobs/guarded');
  await logIn(page, 'admin');
  await page.getByRole('button', {name: 'Stop'}).click();
  await page.getByRole('dialog').getByRole('button', {name: 'Stop the job'}).click();
  await page.getByRole('button', {name: 'Delete'}).waitFor();
  assert.equal((await here.site.describe('guarded')).state, 'STOPPED');

  await page.getByRole('button', {name: /^Account/}).click();
  await page.getByRole('menuitem', {name: 'Log out'}).click();
  await page.waitForURL('**/login');
  await page.getByRole('heading', {name: 'Log in to Winnow'}).waitFor();
  assert.deepEqual(await page.context().cookies(), []);
  await page.goto('/jobs/guarded');
  await page.waitForURL('**/login?to=*');
  assert.deepEqual(page.faults, []);
});

test('Dashboard: members see their project, and list its jobs alone; for others there are none', async () => {
  await here.site.winnow('projects', 'create', 'vision');
  await here.site.winnow('projects', 'add-member', 'vision', 'the submitter', '--leads');
  const id = await here.site.submit(descending('private', {limits: {maxTrials: 1}}), '--project', 'vision');
  assert.equal(id, 'private@vision');
  const page = await visit();
  await page.goto('/login');
  await logIn(page, 'submitter');
  await page.getByRole('link', {name: 'private@vision'}).waitFor();
  await page.getByText('project vision').waitFor();
  await page.getByRole('link', {name: 'guarded', exact: true}).waitFor();
  // Of a job of somebody else the menu offers nothing that would be refused.
  await page.getByRole('button', {name: 'Actions on guarded'}).click();
  await page.getByRole('menuitem', {name: 'Run again with changes'}).waitFor();
  assert.equal(await page.getByRole('menuitem').count(), 1);
  await page.keyboard.press('Escape');
  await page.getByRole('button', {name: 'Actions on private@vision'}).click();
  await page.getByRole('menuitem', {name: /^(Stop|Delete)…$/}).waitFor();
  await page.keyboard.press('Escape');
  await page.getByLabel('Project', {exact: true}).selectOption('vision');
  await page.getByRole('link', {name: 'guarded', exact: true}).waitFor({state: 'detached'});
  assert.deepEqual(await seriousFindings(page), []);
  await page.getByRole('link', {name: 'private@vision'}).click();
  await page.getByRole('heading', {name: 'private@vision'}).waitFor();
  await page.getByRole('button', {name: /Stop|Delete/}).first().waitFor();  // who leads the project may

  const other = await visit();
  other.expected.push(/status of 404/);
  await other.goto('/login?to=/');
  await logIn(other, 'viewer');
  await other.getByRole('link', {name: 'guarded', exact: true}).waitFor();
  assert.equal(await other.getByText('vision').count(), 0);
  await other.goto('/jobs/private@vision');
  await other.getByText('There is no job private@vision').first().waitFor();
});

test('Dashboard: an admin creates and deletes a project, and changes its members; others change nothing', async () => {
  const page = await visit();
  page.expected.push(/status of 409/, /status of 400/);
  await page.goto('/login');
  await logIn(page, 'admin');
  await page.getByRole('button', {name: /^Account/}).click();
  await page.getByRole('menuitem', {name: 'Projects'}).click();
  await page.getByLabel(/^Name:/).fill('Speech!');
  await page.getByRole('button', {name: 'Create the project'}).click();
  await page.getByRole('alert').getByText(/expected/).waitFor();
  await page.getByLabel(/^Name:/).fill('speech');
  await page.getByRole('button', {name: 'Create the project'}).click();
  const speech = page.getByRole('region', {name: 'speech'});
  await speech.getByLabel('Name of their tokens').fill('the viewer');
  await speech.getByLabel('leads the project').check();
  await speech.getByRole('button', {name: 'Add the member'}).click();
  await speech.getByRole('row', {name: 'the viewer', exact: true}).getByText('change all its jobs').waitFor();
  await speech.getByLabel('Slots at once').fill('4');
  await speech.getByLabel('Stored GiB').fill('0.5');
  await speech.getByRole('button', {name: 'Change the quota'}).click();
  const all = speech.getByRole('row', {name: 'Quota of all'});
  await all.getByText('0 of 4').waitFor();
  await all.getByText('0 of 0.5').waitFor();
  await speech.getByRole('form', {name: 'Quota in speech'}).getByRole('combobox').selectOption('the viewer');
  await speech.getByLabel('Running jobs').fill('2');
  await speech.getByRole('button', {name: 'Change the quota'}).click();
  await speech.getByRole('row', {name: 'Quota of the viewer'}).getByText('0 of 2').waitFor();
  assert.deepEqual(await seriousFindings(page), []);
  await picture(page, 'projects');

  const other = await visit();
  await other.goto('/login?to=/projects');
  await logIn(other, 'viewer');
  await other.getByRole('region', {name: 'speech'}).waitFor();
  assert.equal(await other.getByRole('button', {name: 'Create the project'}).count(), 0);
  assert.equal(await other.getByRole('button', {name: /Delete|Add the member/}).count(), 0);

  await speech.getByRole('button', {name: 'Remove the viewer from speech'}).click();
  await page.getByRole('dialog').getByRole('button', {name: 'Remove the member'}).click();
  await speech.getByRole('row', {name: 'the viewer', exact: true}).waitFor({state: 'detached'});
  await speech.getByRole('button', {name: 'Delete project speech'}).click();
  await page.getByRole('dialog').getByRole('button', {name: 'Delete the project'}).click();
  await speech.waitFor({state: 'detached'});
  assert.deepEqual(page.faults, []);
});

test('Dashboard: an admin makes a token, whose secret is shown once, and revokes it', async () => {
  const page = await visit();
  await page.goto('/login');
  await logIn(page, 'admin');
  await page.getByRole('button', {name: /^Account/}).click();
  await page.getByRole('menuitem', {name: 'Tokens'}).click();
  await page.getByLabel('Name').fill('a guest');
  await page.getByRole('button', {name: 'Create the token'}).click();
  const secret = await page.getByLabel('Secret').textContent();
  assert.match(secret, /^wnw_[0-9a-f]{8}_.{43}$/);
  const asGuest = () => fetch(`${here.site.url}/v1/tuning-jobs`, {headers: {authorization: `Bearer ${secret}`}});
  assert.equal((await asGuest()).status, 200);
  assert.deepEqual(await seriousFindings(page), []);
  await picture(page, 'tokens');
  await page.reload();
  await page.getByRole('row', {name: 'a guest'}).waitFor();
  assert.equal(await page.getByLabel('Secret').count(), 0);

  await page.getByLabel('Name', {exact: true}).fill('gpu hosts');
  await page.getByLabel('Role').selectOption('WORKER');
  await page.getByLabel(/^Projects whose jobs/).fill('default');
  await page.getByLabel(/^Pattern of the workers/).fill('gpu-*');
  // Clicked again before the server has answered, it makes no second one.
  const posted = [];
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await page.route('**/v1/tokens', async (route) => {
    if (route.request().method() === 'POST') {
      posted.push(route);
      await held;
    }
    await route.continue();
  });
  await page.getByRole('button', {name: 'Create the token'}).click();
  await until(() => posted.length, 'it is asked for');
  await page.getByRole('button', {name: 'Create the token'}).click();
  release();
  await page.getByRole('row', {name: 'gpu hosts'}).getByText('jobs of default; workers gpu-*').waitFor();
  assert.equal(posted.length, 1);

  await page.getByRole('button', {name: 'Revoke a guest'}).click();
  await page.getByRole('dialog').getByRole('button', {name: 'Revoke the token'}).click();
  await page.getByRole('row', {name: 'a guest'}).getByText('revoked').waitFor();
  assert.equal((await asGuest()).status, 401);
});

test('Dashboard: whose token is revoked while they look is asked to log in, and comes back', async () => {
  const secret = /wnw_\S+/.exec(await here.site.winnow('token', 'create', '--role', 'submitter', '--name', 'a leaver'))[0];
  const page = await visit();
  await page.goto('/login?to=/workers');
  await page.getByLabel('Token', {exact: true}).fill(secret);
  await page.getByRole('button', {name: 'Log in'}).click();
  await page.getByRole('listitem', {name: 'local-1'}).waitFor();
  await page.getByRole('button', {name: 'Account a leaver'}).waitFor();
  await here.site.winnow('token', 'revoke', secret.split('_')[1]);
  await page.waitForURL('**/login?to=*');
  await page.getByRole('heading', {name: 'Log in to Winnow'}).waitFor();
  assert.equal(await page.getByRole('button', {name: /^Account/}).count(), 0);
  await logIn(page, 'viewer');
  await page.waitForURL('**/workers');
  await page.getByRole('button', {name: 'Account the viewer'}).waitFor();
  assert.deepEqual(page.faults, []);
});

test('Dashboard: the login leads nowhere but to this server', async () => {
  const page = await visit();
  await page.goto('/login?to=//example.org/');
  await logIn(page, 'submitter');
  await page.waitForURL(here.site.url + '/');
  await page.getByRole('link', {name: 'New job'}).waitFor();
});
