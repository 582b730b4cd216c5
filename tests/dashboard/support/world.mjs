// A server and a browser for the tests of one file; both are gone after them.
import {after, before} from 'node:test';

import {Browser} from './browser.mjs';
import {Site} from './site.mjs';

// Filled in before the first test. `prepare` is done last.
export function world(options = {}, prepare = async () => {}) {
  const made = {};
  before(async () => {
    made.site = new Site(options);
    await made.site.start();
    made.browser = await Browser.start();
    await prepare(made);
  });
  after(async () => {
    await made.browser?.stop();
    await made.site?.stop();
  });
  return made;
}
