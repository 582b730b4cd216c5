import assert from 'node:assert/strict';
import {readdirSync, readFileSync} from 'node:fs';
import {test} from 'node:test';
import {ApiError} from '../src/api/client';
import {byQuality, front} from '../src/pages/compare/front';
import {durationTicks} from '../src/pages/duration_ticks';
import {firstThatVaries} from '../src/pages/job/scatter_columns';
import {destination} from '../src/pages/login/destination';
import {codeProblem, sourceFor} from '../src/pages/submit/code';
import {marksOf, parse} from '../src/pages/submit/marks';
import {parseExactly, placeOf, steps, syntaxPlace, withoutComments} from '../src/pages/submit/places';
import {bytesOf, kBlockLines, LogText} from '../src/pages/trial/log_text';
import {placeIn, placeOfPrior} from '../src/pages/trial/places_in_range';
import {summary} from '../src/pages/workers/heat';
import {runsOf} from '../src/pages/workers/runs';

const kFile = `{
  "name": "a, {b}",
  "parameters": [
    {"name": "x", "continuous": {"min": 1, "max": 0}},
    {"name": "y \\"z\\"", "integer": {"min": 5}}
  ],
  "limits": {"max_trials": -3}
}`;
const text = (field: string) => {
  const {start, end} = placeOf(kFile, field);
  return kFile.slice(start, end);
};

test('Job file: comments become blanks, so that all else stays where it is', () => {
  const text = '{"a": "http://x/*", // of "a"\n /* two\n lines */ "b": "\\"//"}';
  assert.deepEqual(JSON.parse(withoutComments(text)), {a: 'http://x/*', b: '"//'});
  assert.equal(withoutComments(text).length, text.length);
  assert.equal(withoutComments(text).indexOf('"b"'), text.indexOf('"b"'));
  assert.throws(() => JSON.parse(withoutComments('{"a": 1 /* no end')));
});

test('Job file: a whole number keeps all its digits', () => {
  assert.deepEqual(parseExactly('{"seed": 9007199254740993, "a": [-12345678901234567890, 1.5, 0.12345678901234567, 2e20, 3], "b": "\\"9007199254740993"}'), {
    seed: '9007199254740993', a: ['-12345678901234567890', 1.5, 0.12345678901234567, 2e20, 3], b: '"9007199254740993',
  });
  assert.deepEqual(parseExactly('{"a": 1e999}'), {a: '1e999'});
  assert.throws(() => parseExactly('{"seed": 9007199254740993,}'), /JSON/);
});

test('Job file: numbers and truths are texts where the server has texts, as they are written', () => {
  assert.deepEqual(parseExactly('{"static_hyperparameters":{"v":3.10,"n":27,"b":true,"t":"x\\"","e":1e3,"o":null}}'), {
    static_hyperparameters: {v: '3.10', n: '27', b: 'true', t: 'x"', e: '1e3', o: null},
  });
  assert.deepEqual(parseExactly(`{
    "trainer": {"environment": {"THREADS": 4}, "secrets": {"A": 1}, "resumes": false},
    "cluster": {"nodes": 2, "labels": {"zone": 7}},
    "parameters": [{"name": "x", "integer": {"min": 1, "max": 3}, "prior": {"value": 2.0}}, {"condition": {"parameter": "x", "values": [1, 2]}, "discrete": {"values": [1, 2.5]}}],
    "initialConfigurations": [{"hyperparameters": {"x": 1}}],
    "channels": {"environment": {"validation_fraction": 0.3}},
    "use_portfolio": true
  }`), {
    trainer: {environment: {THREADS: '4'}, secrets: {A: '1'}, resumes: false},
    cluster: {nodes: 2, labels: {zone: '7'}},
    parameters: [{name: 'x', integer: {min: 1, max: 3}, prior: {value: '2.0'}}, {condition: {parameter: 'x', values: ['1', '2']}, discrete: {values: [1, 2.5]}}],
    initialConfigurations: [{hyperparameters: {x: '1'}}],
    channels: {environment: {validation_fraction: 0.3}},
    use_portfolio: true,
  });
});

test('Job file: the examples are read, and their fixed hyperparameters are texts', () => {
  const folder = '../../examples';
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
  assert.ok(names.includes('mnist.json'));
  for (const name of names) {
    const {spec, marks} = parse(readFileSync(`${folder}/${name}`, 'utf8'), undefined);
    assert.deepEqual(marks.map((mark) => mark.field).filter((field) => field !== 'working_directory' && field !== 'trainer.source'), [], name);
    const fixed = (spec as {static_hyperparameters?: object}).static_hyperparameters ?? {};
    assert.ok(Object.values(fixed).every((value) => typeof value === 'string'), name);
  }
});

test('Job file: a name that is given twice is said at the second, and a map has both spellings of one', () => {
  const written = '{\n  "limits": {"max_trials": 5,\n    "maxTrials": 7},  // "limits": 1\n  "static_hyperparameters": {"max_depth": 1, "maxDepth": 2}, "channels": {"a_b": {}, "aB": {}}\n}';
  const {spec, marks} = parse(written, undefined);
  assert.equal(spec, undefined);
  const at = written.indexOf('7');
  assert.deepEqual(marks, [{field: 'limits.maxTrials', text: 'is given twice; expected once', place: {line: 3, start: at, end: at + 1}}]);
  const twice = (text: string) => parse(text, undefined).marks.map((mark) => mark.field);
  assert.deepEqual(twice('{"seed": 1, "seed": 1}'), ['seed']);
  assert.deepEqual(twice('{"parameters": [{"name": "x"}, {"name": "x", "name": {"a": [1, "}"]}}]}'), ['parameters[1].name']);
  assert.deepEqual(twice('{"static_hyperparameters": {"a": 1, "a": 2}}'), ['static_hyperparameters.a']);
});

test('Job file: what the server says of the field spec of the request stands at its line', () => {
  const error = new ApiError(400, 'INVALID_ARGUMENT', '', [{field: 'spec.limits.max_trial', description: 'unknown field in limits'}, {field: 'parameters[1].integer.min', description: 'is 5'}]);
  const [first, second] = marksOf(kFile.replace('max_trials', 'max_trial'), error);
  assert.deepEqual([first.field, first.place.line, first.text], ['limits.max_trial', 7, 'unknown field in limits']);
  assert.deepEqual([second.field, second.place.line], ['parameters[1].integer.min', 5]);
});

test('Places: a field of the job file is found, in either spelling of its name', () => {
  assert.equal(text('parameters[0].continuous.max'), '0');
  assert.equal(text('parameters[1].name'), '"y \\"z\\""');
  assert.equal(text('limits.max_trials'), '-3');
  assert.equal(text('limits.maxTrials'), '-3');
  assert.equal(placeOf(kFile, 'parameters[1].integer.min').line, 5);
});

test('Places: a field that is not there is shown at what should hold it', () => {
  assert.equal(text('parameters[1].integer.max'), '{"min": 5}');
  assert.equal(text('limits.max_wall_time'), '{"max_trials": -3}');
  assert.equal(placeOf(kFile, 'objective.metric').line, 1);
  assert.deepEqual(steps('channels["a.b"].path'), ['channels', 'a.b', 'path']);
});

test('Places: what JSON.parse says leads to its line', () => {
  assert.equal(syntaxPlace('{\n  "a": oops}', 'Unexpected token o in JSON at position 9')?.line, 2);
  assert.deepEqual(syntaxPlace('{\n  "a": oops}', 'JSON.parse: unexpected character at line 2 column 8 of the JSON data'), {line: 2, start: 9, end: 10});
  assert.equal(syntaxPlace('', 'Unexpected end of JSON input'), null);
});

test('Code: a new job gets that of the earlier job, and the page sends no other', () => {
  const spec = (source?: string) => ({trainer: {command: ['sh', 'run.sh'], source}});
  const code = {job: 'first', folder: '.', source: {digest: 'abc'}};
  assert.equal(codeProblem(spec('.'), code), null);
  assert.deepEqual(sourceFor(spec('.'), code), {digest: 'abc'});
  for (const none of [undefined, '']) {
    assert.equal(codeProblem(spec(none), undefined), null);
    assert.equal(sourceFor(spec(none), code), undefined);
  }
  assert.match(codeProblem(spec('.'), undefined)!.text, /^is "."; expected none/);
  assert.match(codeProblem(spec('src'), code)!.text, /^is "src"; expected "."/);
  assert.match(codeProblem(spec('.'), {job: 'first', folder: '.', problem: 'the source is lost'})!.text, /from first: the source is lost$/);
});

test('Log: pieces that cut lines and letters are put together', () => {
  const log = new LogText();
  const bytes = new TextEncoder().encode('a\nÄb\r\nc');
  for (const byte of bytes) log.push(Uint8Array.of(byte));
  log.push(new Uint8Array());
  assert.equal(log.blocks.map((block) => block.text).join(''), 'a\nÄb\nc');
  assert.deepEqual([...bytesOf('w4Q=')], [0xc3, 0x84]);
});

test('Log: however much is printed, the newest is kept and what went is counted', () => {
  const log = new LogText();
  const lines = 60 * kBlockLines;
  for (let i = 0; i < lines; i++) log.push(new TextEncoder().encode(`line ${i}\n`));
  const kept = log.blocks.reduce((sum, block) => sum + block.lines, 0);
  assert.equal(kept + log.dropped, lines);
  assert.ok(log.dropped > 0 && kept >= 40 * kBlockLines);
  assert.match(log.blocks[log.blocks.length - 1].text, new RegExp(`line ${lines - 1}\n$`));
  log.push(new TextEncoder().encode('x'.repeat(20_000)));
  assert.ok(log.blocks[log.blocks.length - 1].text.split('\n').every((line) => line.length <= 4000));
});

test('Compare: the front is what nobody beats at less cost', () => {
  const points = [{cost: 4, quality: 0.9}, {cost: 1, quality: 0.7}, {cost: 2, quality: 0.6}, {cost: 1, quality: 0.8}, {cost: Number.NaN, quality: 1}];
  assert.deepEqual(front(points, false), [3, 0]);
  assert.deepEqual(front(points, true), [1, 2]);
  assert.deepEqual(byQuality([{best: 1}, {}, {best: 3}], false).map((row) => row.best), [3, 1, undefined]);
  assert.deepEqual(byQuality([{best: 1}, {}, {best: 3}], true).map((row) => row.best), [1, 3, undefined]);
});

test('Workers: an assignment leads to its trial, also of a job with dots in its name', () => {
  assert.deepEqual(runsOf('my.job-2.17.3.1.f4bbb6a3'), {job: 'my.job-2', trial: 17, attempt: 3, rank: 1});
  assert.equal(runsOf('something else'), null);
  assert.deepEqual(summary([Number.NaN, 0.2, 0.6, Number.NaN]), {now: 0.6, mean: 0.4, high: 0.6});
  assert.ok(Number.isNaN(summary([]).now));
});

test('Pages: times are marked at whole steps', () => {
  assert.deepEqual(durationTicks(200, 5).map((tick) => tick.text), ['0 s', '1 min', '2 min', '3 min']);
  assert.ok(durationTicks(1e9, 6).length <= 8);
  assert.deepEqual(durationTicks(0, 6), []);
});

test('Login: it leads to a view of this server only', () => {
  assert.equal(destination('/jobs/a?f=x'), '/jobs/a?f=x');
  assert.equal(destination('/?f=a%09b&tag=x|y'), '/?f=a%09b&tag=x|y');
  for (const to of [null, '', '//evil.example/', '/\\evil.example', 'https://evil.example/', '/login?to=/']) assert.equal(destination(to), '/');
  for (const to of ['/\t/evil.example/x', '/\n/evil.example', '/\r/evil.example', '/\t\\evil.example', '/a\n', '/a b']) assert.equal(destination(to), '/');
});

test('Configuration: a prior lies where its value would', () => {
  const rate = {name: 'rate', continuous: {min: 1e-4, max: 1, scaling: 'LOG' as const}, prior: {value: '0.01'}};
  assert.equal(placeOfPrior(rate), 0.5);
  assert.equal(placeOfPrior({...rate, prior: undefined}), Number.NaN);
  const depth = {name: 'depth', integer: {min: 1, max: 9}, prior: {value: '3', confidence: 'HIGH' as const}};
  assert.equal(placeOfPrior(depth), placeIn(depth, {name: 'depth', integer: 3}));
  assert.equal(placeOfPrior({name: 'kind', categorical: {values: ['a', 'b']}, prior: {value: 'b'}}), 0.75);
  assert.equal(placeOfPrior({name: 'width', discrete: {values: [16, 32]}, prior: {value: '16'}}), 0.25);
});

test('Scatter: begins with a hyperparameter of more than one value', () => {
  const fixed = {name: 'num_round', integer: {min: 81, max: 81}};
  const kind = {name: 'kind', categorical: {values: ['a', 'b']}};
  assert.equal(firstThatVaries([fixed, {name: 'one', categorical: {values: ['a']}}, {name: 'eta', continuous: {min: 0, max: 1}}, kind]), 'eta');
  assert.equal(firstThatVaries([fixed, kind]), 'kind');
  assert.equal(firstThatVaries([fixed]), '');
});
