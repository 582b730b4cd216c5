// Runs the unit tests with node --test: node run.mjs [folder of npm packages]. Exit code 77: what they need is not there.
import {spawnSync} from 'node:child_process';
import {mkdtempSync, readdirSync, rmSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {dirname, join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';

const kSkipped = 77;
const here = dirname(fileURLToPath(import.meta.url));
const modules = resolve(process.argv[2] ?? join(here, '..', 'node_modules'));
let esbuild;
try {
  esbuild = createRequire(join(modules, 'run.js'))('esbuild');
} catch {
  console.log(`SKIPPED: there are no packages in ${modules}; build the page first, or run npm ci in dashboard`);
  process.exit(kSkipped);
}
const out = mkdtempSync(join(tmpdir(), 'winnow-dashboard-'));
try {
  const tests = readdirSync(here).filter((name) => name.endsWith('.test.ts'));
  await esbuild.build({entryPoints: tests.map((name) => join(here, name)), outdir: out, outExtension: {'.js': '.mjs'}, bundle: true, loader: {'.proto': 'text'}, format: 'esm', platform: 'node', target: 'node18', logLevel: 'warning'});
  const files = readdirSync(out).map((name) => join(out, name));
  process.exitCode = spawnSync(process.execPath, ['--test', ...files], {stdio: 'inherit', cwd: here}).status ?? 1;
} finally {
  rmSync(out, {recursive: true});
}
