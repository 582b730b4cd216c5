import assert from 'node:assert/strict';
import {test} from 'node:test';
import {kindsOf, widestOf} from '../src/pages/submit/plan_brackets';

const kCycle = [[[9, 1], [3, 3], [1, 9]], [[5, 3], [1, 9]], [[3, 9]]].map((rungs) => rungs.map(([trials, resource]) => ({trials, resource})));

function cycles(count: number) {
  return Array.from({length: 3 * count}, (_, index) => ({index, s: 2 - (index % 3), rungs: kCycle[index % 3]}));
}

test('Plan: a few brackets are shown each', () => {
  const kinds = kindsOf(cycles(2));
  assert.deepEqual(kinds.map((kind) => [kind.bracket.index, kind.brackets]), [[0, 1], [1, 1], [2, 1], [3, 1], [4, 1], [5, 1]]);
  assert.equal(widestOf(kinds), 9);
  assert.equal(widestOf([]), 1);
});

test('Plan: many brackets are shown by kind, and do not exhaust the stack', () => {
  const narrow = {index: 180_000, s: 0, rungs: [{trials: 1, resource: 9}]};
  const kinds = kindsOf([...cycles(60_000), narrow]);
  assert.deepEqual(kinds.map((kind) => kind.brackets), [60_000, 60_000, 60_000, 1]);
  assert.deepEqual(kinds.map((kind) => kind.bracket.index), [0, 1, 2, 180_000]);
  assert.equal(widestOf(kinds), 9);
});
