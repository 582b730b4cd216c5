import assert from 'node:assert/strict';
import test from 'node:test';
import {freshParameter, joinWords, kindOf, listOf, listText, numberOf, splitWords, valueAt, withKind, withValue} from '../src/pages/submit/form_fields';
import {parseExactly, withoutComments} from '../src/pages/submit/places';
import {rewritten} from '../src/pages/submit/rewrite';

test('Form: a value is found and replaced under either spelling, and the rest stays', () => {
  const spec = {name: 'a', limits: {maxTrials: 5, max_wall_time: '9s'}, extra: [1]};
  assert.equal(valueAt(spec, ['limits', 'max_trials']), 5);
  assert.deepEqual(withValue(spec, ['limits', 'max_trials'], 7), {name: 'a', limits: {maxTrials: 7, max_wall_time: '9s'}, extra: [1]});
  assert.deepEqual(withValue({limits: {max_trials: 5}}, ['limits', 'max_trials'], undefined), {});
  assert.deepEqual(withValue({}, ['parameters', 0, 'name'], 'x'), {parameters: [{name: 'x'}]});
});

test('Form: a command is words as a shell has them', () => {
  const words = ['sh', '-c', `echo "it's" {{x}} $A`, '', 'a\\b'];
  assert.deepEqual(splitWords(joinWords(words)), words);
  assert.deepEqual(splitWords('python3  train.py --name="a b"'), ['python3', 'train.py', '--name=a b']);
  assert.equal(splitWords('echo "open'), null);
});

test('Form: a list of values reads back the same, with commas and blanks in them', () => {
  for (const values of [['64,64', 'a b'], [' a', 'b ', ''], ['"a"', "it's", 'a "b"', '\\', 'a\nb', '1'], []]) assert.deepEqual(listOf(listText(values), 'categorical'), values);
  assert.deepEqual(listOf(listText([1, 2.5, 1e21]), 'discrete'), [1, 2.5, 1e21]);
  assert.equal(listText(['64,64', 'a b']), '"64,64", a b');
  assert.deepEqual(listOf(' a ,, b c,"d,e" , f,', 'categorical'), ['a', 'b c', 'd,e', 'f']);
  for (const open of ['"a', 'a, "b', '"a" b', '"a\\"']) assert.equal(listOf(open, 'categorical'), null);
});

test('Form: another kind of range keeps the bounds where it can', () => {
  const number = {name: 'x', continuous: {min: 0.5, max: 3.2, scaling: 'LOG'}, condition: {parameter: 'k', values: ['a']}};
  assert.equal(kindOf(number), 'continuous');
  assert.deepEqual(withKind(number, 'integer'), {name: 'x', condition: {parameter: 'k', values: ['a']}, integer: {min: 0, max: 4}});
  assert.deepEqual(withKind(number, 'categorical'), {name: 'x', condition: {parameter: 'k', values: ['a']}, categorical: {values: ['a', 'b']}});
  assert.equal(freshParameter(['parameter_2']).name, 'parameter_3');
  assert.deepEqual(listOf('8, 16,x', 'discrete'), [8, 16, 'x']);
  assert.deepEqual(listOf('8, 16', 'categorical'), ['8', '16']);
  assert.equal(numberOf(''), undefined);
  assert.equal(numberOf('1e-3'), 0.001);
  assert.equal(numberOf('abc'), 'abc');
  assert.equal(numberOf(' 9007199254740993 '), '9007199254740993');
});

const kWritten = `// The job of every night.
{
  "name": "a",  // what it is called
  "static_hyperparameters": {"momentum": 0.90, "epochs": 27},
  "parameters": [
    // The first.
    {"name": "x", "continuous": {"min": 1.0, "max": 2e0}},
    {"name": "y", "integer": {"min": 1, "max": 3}}  // the second
  ],
  "limits": {"maxTrials": 5}, /* enough */
  "seed": 1  // the same each time
}
`;
// What the form makes of it.
function changed(path: (string | number)[], value: unknown): string {
  const after = withValue(parseExactly(withoutComments(kWritten)), path, value);
  const text = rewritten(kWritten, after as Record<string, unknown>);
  assert.deepEqual(parseExactly(withoutComments(text)), after);
  return text;
}

test('Form: what it does not change stays as it is written, comments and numbers too', () => {
  assert.equal(changed(['name'], 'a'), kWritten);
  assert.equal(changed(['name'], 'b'), kWritten.replace('"a"', '"b"'));
  assert.equal(changed(['limits', 'max_trials'], 7), kWritten.replace('5', '7'));
  assert.equal(changed(['parameters', 0, 'continuous', 'max'], 3), kWritten.replace('2e0', '3'));
  assert.equal(changed(['parameters', 1, 'name'], 'z'), kWritten.replace('"y"', '"z"'));
});

test('Form: what it adds and takes away leaves the rest as it is written', () => {
  assert.equal(changed(['note'], 'n'), kWritten.replace('"seed": 1  // the same each time', '"seed": 1,  // the same each time\n  "note": "n"'));
  assert.equal(changed(['limits', 'max_wall_time'], '9s'), kWritten.replace('5}', '5, "max_wall_time": "9s"}'));
  assert.equal(changed(['name'], ''), kWritten.replace('"name": "a",  ', ''));
  assert.equal(changed(['limits', 'max_trials'], undefined), kWritten.replace('"limits": {"maxTrials": 5}, ', ''));
  assert.equal(changed(['seed'], undefined), kWritten.replace(', /* enough */\n  "seed": 1 ', ' /* enough */\n   '));
  const [first, second] = valueAt(parseExactly(withoutComments(kWritten)), ['parameters']) as object[];
  assert.equal(changed(['parameters'], [first]), kWritten.replace(',\n    {"name": "y", "integer": {"min": 1, "max": 3}}', ''));
  assert.equal(changed(['parameters'], [second]), kWritten.replace('{"name": "x", "continuous": {"min": 1.0, "max": 2e0}},\n    ', ''));
  assert.equal(changed(['parameters'], [first, second, {name: 'z'}]), kWritten.replace('3}}  // the second', '3}},  // the second\n    {"name": "z"}'));
  assert.equal(changed(['parameters', 1], withKind(second, 'discrete')), kWritten.replace('{"name": "y", "integer": {"min": 1, "max": 3}}', '{"name": "y", "discrete": {"values": [1, 2]}}'));
});
