// Signing in with an OpenID Connect provider that is not ours, from the page and from the command line.
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync, statSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {after, test} from 'node:test';

import {picture, seriousFindings} from './support/browser.mjs';
import {binaries} from './support/environment.mjs';
import {until} from './support/patience.mjs';
import {agree, Provider, secret, Visitor} from './support/provider.mjs';
import {Site} from './support/site.mjs';
import {world} from './support/world.mjs';

const person = (email, groups = ['research'], verified = true) => ({email, email_verified: verified, groups});
const provider = await new Provider({
  ana: person('ana@lab.example', ['research', 'vision-people']),
  root: person('root@lab.example', ['research', 'winnow-admins']),
  stranger: person('stranger@lab.example', ['others']),
  outsider: person('ana@elsewhere.example'),
  unverified: person('ben@lab.example', ['research'], false),
  usurper: person('The.Admin@lab.example'),
  namesake: person('ana@lab.example'),
  granted: person('robot@lab.example'),
}).listen();
const folder = mkdtempSync(path.join(os.tmpdir(), 'winnow-sign-in-'));
const secretFile = path.join(folder, 'secret');
writeFileSync(secretFile, secret + '\n', {mode: 0o600});
after(async () => {
  await provider.stop();
  rmSync(folder, {recursive: true});
});

const flags = [
  '--require-tokens', '--oidc-issuer', provider.issuer, '--oidc-client-id', 'winnow', '--oidc-client-secret-file', secretFile,
  '--oidc-scopes', 'openid email groups', '--oidc-domain', 'lab.example', '--oidc-role', 'submitter=research',
  '--oidc-role', 'admin=winnow-admins', '--oidc-project', 'vision=vision-people', '--oidc-person', 'robot=granted',
];
const here = world({workers: 0, flags}, async ({site}) => {
  await site.winnow('token', 'create', '--role', 'admin', '--name', 'the.admin@lab.example');
  await site.winnow('token', 'create', '--role', 'submitter', '--name', 'robot');
  await site.winnow('projects', 'create', 'vision');
});

const caller = async (token) => {
  const answer = await fetch(`${here.site.url}/v1/caller`, {headers: {authorization: `Bearer ${token}`}});
  return answer.status === 200 ? answer.json() : answer.status;
};
const audit = async (...words) => (await here.site.json('audit', ...words)).entries;

// A browser's page; what the provider's own pages say in the console does not matter.
async function visit() {
  const page = await here.browser.visit(here.site.url);
  page.expected.push(/status of 401/);
  await page.route(/fonts\.googleapis/, (route) => route.abort());
  return page;
}

// Until the callback of this server; its URL.
async function toCallback(account, to = '/') {
  const visitor = new Visitor();
  const callback = await visitor.signIn(`${here.site.url}/sign-in?to=${encodeURIComponent(to)}`, account, `${here.site.url}/sign-in/callback`);
  return {visitor, callback};
}

// Where it leads, and the token that it gives.
async function signIn(account, to) {
  const {visitor, callback} = await toCallback(account, to);
  const {status, to: led} = await visitor.ask(callback);
  assert.equal(status, 303);
  return {led: led.slice(here.site.url.length), token: visitor.cookies.get(here.site.url).get('winnow_token')};
}

test('Sign-in: a provider that does not answer is told, and does not keep the server from starting', async () => {
  await until(() => here.site.log().includes(`nobody can sign in with ${provider.issuer} now`), 'the log says so');
  const page = await visit();
  await page.goto('/workers');
  await page.getByRole('link', {name: `Sign in with 127.0.0.1:${provider.port}`}).click();
  await page.waitForURL('**/login?refused=provider*');
  await page.getByText('The provider does not answer as it should').waitFor();
  await page.getByText('Log in with a token').click();
  await page.getByLabel('Token', {exact: true}).waitFor();
  assert.deepEqual(await seriousFindings(page), []);
  await provider.serve(here.site.url);
});

test('Sign-in: the page leads to the provider and back, with a session that the logout ends', async () => {
  const page = await visit();
  await page.goto('/workers');
  await page.getByRole('link', {name: /^Sign in with/}).waitFor();
  assert.deepEqual(await seriousFindings(page), []);
  await picture(page, 'sign-in');
  await page.getByRole('link', {name: /^Sign in with/}).click();
  await agree(page, 'ana');
  await page.waitForURL('**/workers');
  page.faults.length = 0;
  await page.getByRole('button', {name: /^Account/}).click();
  await page.getByText('ana@lab.example').first().waitFor();

  const cookies = (await page.context().cookies(here.site.url)).filter(({name}) => name.startsWith('winnow'));
  assert.deepEqual(cookies.map(({name, httpOnly, sameSite}) => [name, httpOnly, sameSite]), [['winnow_token', true, 'Strict']]);
  const token = cookies[0].value;
  const {name, role, projects} = await caller(token);
  assert.deepEqual([name, role, projects], ['ana@lab.example', 'SUBMITTER', ['vision']]);
  await page.getByRole('menuitem', {name: 'Log out'}).click();
  await page.waitForURL('**/login');
  assert.equal(await caller(token), 401);
  const [out, into] = await audit('--person', 'ana@lab.example');
  assert.deepEqual([out.method, into.method, into.address, into.outcome, into.subject],
                   ['SignOut', 'SignIn', '127.0.0.1', 'OK', `ana ${provider.issuer}`]);
  assert.deepEqual(page.faults, []);
});

test('Sign-in: groups give roles; who has none, or no verified address of the domain, is refused', async () => {
  const {token} = await signIn('root');
  assert.deepEqual([(await caller(token)).role, (await caller(token)).projects ?? []], ['ADMIN', []]);
  for (const account of ['stranger', 'outsider', 'unverified']) {
    const {led, token} = await signIn(account, '/workers');
    assert.equal(led, '/login?refused=not-allowed&to=%2Fworkers', account);
    assert.equal(token, undefined);
    const [entry] = await audit('--method', 'SignIn');
    assert.deepEqual([entry.outcome, entry.subject], ['PERMISSION_DENIED', `${account} ${provider.issuer}`]);
  }
});

test('Sign-in: nobody gets the name of a token, nor of another person, unless an admin grants it', async () => {
  for (const account of ['usurper', 'namesake']) {
    const {led, token} = await signIn(account);
    assert.equal(led, '/login?refused=name-taken&to=%2F', account);
    assert.equal(token, undefined);
  }
  assert.equal((await audit('--method', 'SignIn'))[0].outcome, 'ALREADY_EXISTS');
  assert.equal((await caller((await signIn('granted')).token)).name, 'robot');
  // The person stays who they were when the provider says another address.
  const before = provider.accounts.ana;
  provider.accounts.ana = person('ana.married@lab.example', ['research']);
  const {name, projects} = await caller((await signIn('ana')).token);
  assert.deepEqual([name, projects ?? []], ['ana@lab.example', []]);
  provider.accounts.ana = before;
});

test('Sign-in: it leads back to this server alone', async () => {
  for (const [to, led] of [['/workers?a=b%20c', '/workers?a=b%20c'], ['//evil.example/', '/'], ['https://evil.example/', '/'],
                           ['/\\evil.example', '/'], ['/\t/evil.example', '/'], ['/x\r\nSet-Cookie: a=b', '/'], ['/sign-in', '/']]) {
    assert.equal((await signIn('ana', to)).led, led, JSON.stringify(to));
  }
});

test('Sign-in: a state, a code and a browser belong together, once', async () => {
  const refused = async (visitor, url) => {
    const {to} = await visitor.ask(url);
    assert.match(to, /\/login\?refused=/);
    assert.equal(visitor.cookies.get(here.site.url)?.has('winnow_token') ?? false, false);
    return new URL(to).searchParams.get('refused');
  };
  const one = await toCallback('ana');
  // Another browser, with a sign-in of its own, is led to the callback of the first one.
  const other = await toCallback('root');
  assert.equal(await refused(other.visitor, one.callback), 'expired');
  assert.equal(await refused(new Visitor(), other.callback), 'expired');
  // That used up both states.
  assert.equal(await refused(one.visitor, one.callback), 'expired');

  const two = await toCallback('ana');
  assert.equal((await two.visitor.ask(two.callback)).status, 303);
  two.visitor.cookies.get(here.site.url).delete('winnow_token');
  assert.equal(await refused(two.visitor, two.callback), 'expired');

  // A code that was used already, in a sign-in of its own.
  const three = await toCallback('ana');
  const replayed = new URL(three.callback);
  replayed.searchParams.set('code', new URL(two.callback).searchParams.get('code'));
  assert.equal(await refused(three.visitor, replayed.href), 'not-allowed');
  // The code of another's sign-in, which was bound to their verifier.
  const [four, five] = [await toCallback('ana'), await toCallback('root')];
  const stolen = new URL(four.callback);
  stolen.searchParams.set('code', new URL(five.callback).searchParams.get('code'));
  assert.equal(await refused(four.visitor, stolen.href), 'not-allowed');
  // Of another provider, and without the issuer that this one always says.
  for (const issuer of ['https://evil.example', null]) {
    const six = await toCallback('ana');
    const mixed = new URL(six.callback);
    if (issuer) mixed.searchParams.set('iss', issuer);
    else mixed.searchParams.delete('iss');
    assert.equal(await refused(six.visitor, mixed.href), 'not-allowed');
  }
  const seven = new Visitor();
  const {to} = await seven.ask(`${here.site.url}/sign-in`);
  const state = new URL(to).searchParams.get('state');
  assert.equal(await refused(seven, `${here.site.url}/sign-in/callback?error=access_denied&state=${state}`), 'declined');
});

test('Sign-in: a provider that changes its keys and their algorithm is trusted with its new keys', async () => {
  await signIn('ana');
  await provider.serve(here.site.url, {alg: 'ES256'});
  const asked = provider.asked.filter((url) => url === '/jwks').length;
  assert.equal((await caller((await signIn('ana')).token)).name, 'ana@lab.example');
  assert.equal(provider.asked.filter((url) => url === '/jwks').length, asked + 1);
});

test('Sign-in: behind a proxy the provider leads to the address for browsers, and cookies go over TLS alone', async () => {
  const site = new Site({workers: 0, flags: [...flags, '--http-url', 'https://tuner.example/']});
  try {
    await site.start();
    const answer = await fetch(`${site.url}/sign-in`, {redirect: 'manual'});
    assert.equal(new URL(answer.headers.get('location')).searchParams.get('redirect_uri'), 'https://tuner.example/sign-in/callback');
    assert.match(answer.headers.get('set-cookie'), /^winnow_sign_in=.*; HttpOnly; SameSite=Lax; Path=\/sign-in; .*; Secure$/);
  } finally {
    await site.stop();
  }
});

// `winnow login` as far as it has come.
function login(...flags) {
  const environment = {...process.env, XDG_CONFIG_HOME: folder};
  delete environment.WINNOW_SERVER;
  const winnow = spawn(path.join(binaries, 'winnow'), flags, {env: environment});
  const run = {out: '', err: ''};
  winnow.stdout.on('data', (bytes) => (run.out += bytes));
  winnow.stderr.on('data', (bytes) => (run.err += bytes));
  run.ended = new Promise((resolve) => winnow.once('close', (code) => resolve(code)));
  run.ended.then((code) => (run.code = code));
  return run;
}

// The URL that it names.
async function urlOf(run) {
  await until(() => run.code !== undefined || /Open \S+ in a browser/.test(run.out), 'winnow login names a URL');
  assert.equal(run.code, undefined, run.err);
  return /Open (\S+) in a browser/.exec(run.out)[1];
}

test('winnow login: a code confirmed in a browser gives a token, kept for this user alone, which the logout revokes', async () => {
  const run = login('login', '--server', `127.0.0.1:${here.site.port}`, '--http', here.site.url, '--save-as', 'lab');
  const url = await urlOf(run);
  const page = await visit();
  await page.goto(url);
  const code = /confirm the code (\S+)/.exec(run.out)[1];
  await page.getByText(code).waitFor();
  await page.getByRole('button', {name: 'Continue'}).click();
  await agree(page, 'ana');
  assert.equal(await run.ended, 0, run.err);
  assert.match(run.out, /You are signed in as ana@lab\.example \(role submitter\) until /);
  const file = path.join(folder, 'winnow/contexts.json');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const {lab} = JSON.parse(readFileSync(file, 'utf8')).contexts;
  assert.equal((await caller(lab.token)).name, 'ana@lab.example');
  assert.ok(!run.out.includes(lab.token));
  const list = login('list', '--context', 'lab');
  assert.equal(await list.ended, 0, list.err);
  const out = login('logout', '--context', 'lab');
  assert.equal(await out.ended, 0, out.err);
  assert.equal(await caller(lab.token), 401);
  assert.equal(JSON.parse(readFileSync(file, 'utf8')).contexts.lab.token, undefined);
});

test('winnow login: what is declined at the provider gives no token', async () => {
  const run = login('login', '--server', `127.0.0.1:${here.site.port}`, '--http', here.site.url, '--save-as', 'lab');
  const url = await urlOf(run);
  const page = await visit();
  await page.goto(url);
  await page.getByRole('button', {name: '[ Abort ]'}).click();
  assert.equal(await run.ended, 1);
  assert.match(run.err, /declined/);
});

// The last one, because it leaves hardly any sign-in to the others.
test('Sign-in: a host begins only so many', async () => {
  const begin = async () => (await fetch(`${here.site.url}/sign-in`, {redirect: 'manual'})).headers.get('location');
  const led = await Promise.all(Array.from({length: 200}, begin));
  assert.ok(led.some((to) => to.startsWith('/login?refused=busy')));
  await until(async () => (await begin()).startsWith(provider.issuer), 'it may begin again');
});
