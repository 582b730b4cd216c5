// Runs one file of tests, for ctest: node run.mjs FILE. Exit code 77: they cannot run here, and why is said.
import {spawn} from 'node:child_process';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

import {missing} from './support/environment.mjs';

const kSkipped = 77;

const why = missing();
if (why) {
  console.log(`skipped: ${why}`);
  process.exit(kSkipped);
}
const file = path.join(path.dirname(fileURLToPath(import.meta.url)), process.argv[2]);
const tests = spawn(process.execPath, ['--test', '--test-reporter=spec', file], {stdio: 'inherit'});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => tests.kill(signal));
tests.on('exit', (code) => process.exit(code ?? 1));
