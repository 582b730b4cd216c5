// Where the programs, the packages and the pictures of these tests are. Each may be told by the environment:
//   WINNOW_BIN_DIR        folder with winnow-server, winnow-worker, winnow and winnow-gbdt   (default: build/bin)
//   WINNOW_TEST_PACKAGES  folder with the node_modules of package.json                       (default: this folder)
//   WINNOW_SCREENSHOTS    folder in which pictures are put                                   (default: beside the programs)
//   WINNOW_CHROMIUM       the browser                                                        (default: /usr/bin/chromium)
import {existsSync} from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

const here = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

export const binaries = process.env.WINNOW_BIN_DIR || path.resolve(here, '../../build/bin');
export const packages = process.env.WINNOW_TEST_PACKAGES || here;
export const screenshots = process.env.WINNOW_SCREENSHOTS || path.join(path.dirname(binaries), 'screenshots');
export const chromium = process.env.WINNOW_CHROMIUM || '/usr/bin/chromium';

// Of a package of package.json.
export const load = (name) => createRequire(path.join(packages, 'package.json'))(name);

// Why the tests cannot run here; "" if they can.
export function missing() {
  for (const name of ['winnow-server', 'winnow-worker', 'winnow', 'winnow-gbdt']) {
    if (!existsSync(path.join(binaries, name))) return `WINNOW_BIN_DIR names no folder with ${name}`;
  }
  if (!existsSync(chromium)) return `there is no ${chromium}; scripts/install-packages.sh --tests gets it`;
  for (const name of ['playwright-core', 'axe-core', 'oidc-provider']) {
    if (!existsSync(path.join(packages, 'node_modules', name))) {
      return `there is no ${name}; get it with: npm ci --prefix tests/dashboard`;
    }
  }
  return '';
}
