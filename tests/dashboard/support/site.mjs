// A real winnow-server with real workers in a folder of its own, and what it is asked without a browser.
import {execFile, spawn} from 'node:child_process';
import {existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {promisify} from 'node:util';

import {binaries} from './environment.mjs';
import {until} from './patience.mjs';

const run = promisify(execFile);
// After so long a second signal tells the server to wait no longer for the trials of its workers; after three times as
// long it is killed.
const kLeaveMs = 5000;

export class Site {
  // `flags` go to winnow-server. `database`: one that is there already, and stays. `shown`: a file that it only shows.
  constructor({workers = 2, slots = 2, flags = [], database, shown} = {}) {
    this.folder = mkdtempSync(path.join(os.tmpdir(), 'winnow-page-'));
    const at = (name) => path.join(this.folder, name);
    this.arguments = [
      ...(shown ? ['--read-only', '--db', shown] : ['--db', database ?? at('winnow.db'), '--state-dir', at('state')]),
      ...['--listen', '127.0.0.1:0', '--port-file', at('port'), '--http', '127.0.0.1:0', '--http-port-file', at('http-port')],
      ...(shown ? [] : ['--local-workers', String(workers), '--slots', String(slots)]),
      ...['--rate-limit', '0', ...flags],
    ];
  }

  async start() {
    const at = (name) => path.join(this.folder, name);
    const log = openSync(at('server.log'), 'a');
    this.process = spawn(path.join(binaries, 'winnow-server'), this.arguments, {stdio: ['ignore', log, log]});
    this.ended = new Promise((resolve) => this.process.once('exit', resolve));
    this.lastWords = () => this.process.kill('SIGTERM');
    process.once('exit', this.lastWords);
    const ready = () => ['port', 'http-port'].every((name) => existsSync(at(name)) && readFileSync(at(name), 'utf8').trim());
    await until(() => ready() || this.process.exitCode !== null, 'the server listens');
    if (this.process.exitCode !== null) throw new Error(`winnow-server did not start:\n${this.log()}`);
    this.port = Number(readFileSync(at('port'), 'utf8'));
    this.url = `http://127.0.0.1:${Number(readFileSync(at('http-port'), 'utf8'))}`;
    return this;
  }

  log() {
    return readFileSync(path.join(this.folder, 'server.log'), 'utf8').slice(-4000);
  }

  // The server, its workers and their trials end, and the folder goes.
  async stop() {
    if (this.process && this.process.exitCode === null) {
      this.process.kill('SIGTERM');
      const harder = setTimeout(() => this.process.kill('SIGTERM'), kLeaveMs);
      const hardest = setTimeout(() => this.process.kill('SIGKILL'), 3 * kLeaveMs);
      await this.ended;
      clearTimeout(harder);
      clearTimeout(hardest);
    }
    if (this.lastWords) process.removeListener('exit', this.lastWords);
    rmSync(this.folder, {recursive: true, force: true, maxRetries: 5});
  }

  // What the command line prints.
  async winnow(...words) {
    const socket = path.join(this.folder, 'state', 'server.sock');
    const address = existsSync(socket) ? `unix:${socket}` : `127.0.0.1:${this.port}`;
    return (await run(path.join(binaries, 'winnow'), [...words, '--server', address])).stdout;
  }

  async json(...words) {
    return JSON.parse(await this.winnow(...words, '-o', 'json'));
  }

  // Writes the jobs, which have ended, to a file in its folder; its path.
  async archive(...jobs) {
    const file = path.join(this.folder, 'archive.db');
    await run(path.join(binaries, 'winnow-server'), ['--db', path.join(this.folder, 'winnow.db'), '--archive', jobs.join(','), '--copy-to', file]);
    return file;
  }

  // The id of the new job. `flags`: of winnow submit.
  async submit(spec, ...flags) {
    const file = path.join(this.folder, `${spec.name}.json`);
    writeFileSync(file, JSON.stringify(spec));
    return (await this.json('submit', file, ...flags)).id;
  }

  describe(job) {
    return this.json('describe', job);
  }

  // The job, once `holds` of it.
  job(id, holds, what) {
    const described = async () => {
      const job = await this.describe(id);
      return holds(job) && job;
    };
    return until(described, `${id} ${what}`);
  }

  end(id) {
    return this.job(id, (job) => !['RUNNING', 'STOPPING'].includes(job.state), 'ends');
  }

  // A token's secret.
  async token(role) {
    return /wnw_\S+/.exec(await this.winnow('token', 'create', '--role', role, '--name', `the ${role}`))[0];
  }
}
