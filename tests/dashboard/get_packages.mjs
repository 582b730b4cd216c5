// Puts the packages of a package-lock.json, by default of the one beside this file, into a folder, unless they are there:
// node get_packages.mjs FOLDER [SOURCE]. Exit code 77: npm could not get them, not within four minutes.
import {spawnSync} from 'node:child_process';
import {copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

const kSkipped = 77;

const source = path.resolve(process.argv[3] ?? path.dirname(fileURLToPath(import.meta.url)));
const target = path.resolve(process.argv[2]);
const lock = readFileSync(path.join(source, 'package-lock.json'), 'utf8');
const stamp = path.join(target, 'node_modules', '.got');
if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) process.exit(0);

mkdirSync(target, {recursive: true});
for (const name of ['package.json', 'package-lock.json']) copyFileSync(path.join(source, name), path.join(target, name));
const npm = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {cwd: target, encoding: 'utf8', timeout: 240_000});
if (npm.status !== 0) {
  console.log(`skipped: npm ci: ${(npm.stderr || npm.error?.message || '').trim().slice(-2000)}`);
  process.exit(kSkipped);
}
writeFileSync(stamp, lock);
