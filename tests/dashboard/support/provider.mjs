// A real OpenID Connect provider, oidc-provider from npm, on a port of this machine that the system chooses.
import {generateKeyPairSync} from 'node:crypto';
import {once} from 'node:events';
import {createServer} from 'node:http';
import {createRequire} from 'node:module';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

import {packages} from './environment.mjs';

export const secret = 'a-secret+of/the client%';

function newKey(kid, alg) {
  const {privateKey} = alg === 'ES256' ? generateKeyPairSync('ec', {namedCurve: 'P-256'}) : generateKeyPairSync('rsa', {modulusLength: 2048});
  return {...privateKey.export({format: 'jwk'}), kid, alg, use: 'sig'};
}

export class Provider {
  // `accounts`: the claims of each, by its subject.
  constructor(accounts) {
    this.accounts = accounts;
    this.keys = 0;
    this.asked = [];  // the paths of all requests
    this.server = createServer((request, response) => {
      this.asked.push(request.url);
      if (!this.handle) return response.writeHead(503).end();
      return this.handle(request, response);
    });
  }

  // Listens, on the same port as before if it did already; answers nothing until `serve`.
  async listen() {
    this.server.listen(this.port ?? 0, '127.0.0.1');
    await once(this.server, 'listening');
    this.port = this.server.address().port;
    this.issuer = `http://127.0.0.1:${this.port}`;
    return this;
  }

  // Answers from now on, with new keys. `site`: the URL of the server whose users sign in.
  async serve(site, {alg = 'RS256', interval} = {}) {
    const file = createRequire(path.join(packages, 'package.json')).resolve('oidc-provider');
    const {default: Oidc} = await import(pathToFileURL(file));
    const quiet = [console.warn, console.info];
    console.warn = console.info = () => {};  // it says that a development set-up is none for production
    const oidc = new Oidc(this.issuer, {
      clients: [{
        client_id: 'winnow',
        client_secret: secret,
        redirect_uris: [`${site}/sign-in/callback`],
        grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'],
        response_types: ['code'],
        id_token_signed_response_alg: alg,
      }],
      claims: {openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups']},
      cookies: {keys: ['of a test']},
      features: {deviceFlow: {enabled: true}, devInteractions: {enabled: true}},
      findAccount: (_, sub) => this.accounts[sub] && {accountId: sub, claims: () => ({sub, ...this.accounts[sub]})},
      jwks: {keys: [newKey(`key-${++this.keys}`, alg)].concat(alg === 'RS256' ? [] : [newKey('for-all-else', 'RS256')])},
      pkce: {required: () => true},
      scopes: ['openid', 'email', 'groups'],
      ttl: {AccessToken: 600, AuthorizationCode: 60, DeviceCode: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600},
    });
    [console.warn, console.info] = quiet;
    oidc.on('server_error', (_, error) => console.error(error));
    this.handle = oidc.callback();
  }

  async stop() {
    if (!this.server.listening) return;
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }
}

// Signs in and agrees on the provider's pages, which a browser's page shows.
export async function agree(page, account) {
  await page.locator('input[name=login]').fill(account);
  await page.locator('input[name=password]').fill('any');
  await page.getByRole('button', {name: 'Sign-in'}).click();
  await page.getByRole('button', {name: 'Continue'}).click();
}

// A client of HTTP with the cookies of a browser, which follows no redirection by itself.
export class Visitor {
  constructor() {
    this.cookies = new Map();  // by origin
  }

  async ask(url, {form} = {}) {
    const {origin} = new URL(url);
    if (!this.cookies.has(origin)) this.cookies.set(origin, new Map());
    const jar = this.cookies.get(origin);
    const answer = await fetch(url, {
      redirect: 'manual',
      headers: {cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ')},
      ...(form && {method: 'POST', body: new URLSearchParams(form)}),
    });
    for (const cookie of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie);
      if (value === '' || /max-age=0/i.test(cookie)) jar.delete(name);
      else jar.set(name, value);
    }
    const location = answer.headers.get('location');
    return {status: answer.status, to: location && new URL(location, url).href, text: await answer.text()};
  }

  // Follows redirections, signs in and agrees, until it is to be led to a URL that begins with `end`; that URL.
  async signIn(url, account, end) {
    for (let hops = 0, form; hops < 20; ++hops) {
      const {to, text} = await this.ask(url, {form});
      if (to?.startsWith(end)) return to;
      form = undefined;
      if (to) {
        url = to;
        continue;
      }
      const action = /<form[^>]* action="([^"]+)"/.exec(text);
      if (!action) throw new Error(`${url} has no form:\n${text}`);
      url = new URL(action[1], url).href;
      form = text.includes('name="login"') ? {prompt: 'login', login: account, password: 'any'} : {prompt: 'consent'};
    }
    throw new Error(`no way from ${url} to ${end}`);
  }
}
