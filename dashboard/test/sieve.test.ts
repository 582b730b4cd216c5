import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {SieveCell, TrialState} from '../src/api/types';
import {columnsOf, hasRungs, layOut, levelsText, markAt, markBeside} from '../src/pages/job/sieve_layout';

// A cell of `states.length` trials, numbered from `first`.
function cell(bracket: number, rung: number, resource: number, first: number, states: TrialState[], passed: number, cutoff = Number.NaN): SieveCell {
  const counts = {pending: 0, running: 0, paused: 0, completed: 0, pruned: 0, failed: 0, cancelled: 0};
  for (const state of states) counts[state.toLowerCase() as keyof typeof counts]++;
  return {bracket, rung, resource, counts, passed, cutoff, trial: states.map((_, i) => first + i), best: states.map(() => 0.5), state: states, atResource: states.map(() => resource), why: states.map(() => '')};
}
const kCells = [
  cell(0, 0, 1, 1, ['PRUNED', 'CANCELLED', 'FAILED'], 2, 0.4),
  cell(0, 1, 3, 4, ['RUNNING', 'PAUSED'], 0),
  cell(1, 0, 3, 6, ['COMPLETED'], 0),
];

test('Sieve: brackets are columns, those that ended there hang below', () => {
  const columns = columnsOf(kCells, [], false);
  assert.deepEqual(columns.map((column) => column.brackets), [[0], [1]]);
  const [low, high] = columns[0].shelves;
  assert.deepEqual([low.entered, low.passed, low.up.length, low.down.length], [5, 2, 0, 3]);
  assert.deepEqual(low.cutoffs, [0.4]);
  assert.deepEqual([high.up.length, high.down.length], [2, 0]);
});

test('Sieve: a job without rungs has levels to which trials were trained, and nobody goes on between them', () => {
  const cells = [cell(-1, 0, 0, 1, ['FAILED'], 5), cell(-1, 1, 15, 2, ['CANCELLED', 'RUNNING'], 3), cell(-1, 2, 20, 4, ['COMPLETED', 'COMPLETED', 'COMPLETED'], 0)];
  cells[1].atResource = [15, 17];
  const [column] = columnsOf(cells, [], false);
  assert.equal(hasRungs(column), false);
  assert.deepEqual(column.shelves.map((shelf) => [shelf.entered, shelf.passed]), [[1, 0], [2, 0], [3, 0]]);
  assert.deepEqual(column.shelves.map(levelsText), ['0', '15 to 17', '20']);
  assert.equal(hasRungs(columnsOf(kCells, [], false)[0]), true);
});

test('Sieve: brackets of one kind can be one column', () => {
  const again = kCells.slice(0, 2).map((each) => ({...each, bracket: 7, cutoff: 0.3}));
  const columns = columnsOf([...kCells, ...again], [{index: 7, s: 4, rungs: [], endReason: 'behind'}], true);
  assert.deepEqual(columns.map((column) => column.brackets), [[0, 7], [1]]);
  assert.equal(columns[0].shelves[0].entered, 10);
  assert.deepEqual(columns[0].shelves[0].cutoffs, [0.3, 0.4]);
  assert.deepEqual(columns[0].endReasons, ['behind']);
});

test('Sieve: every trial has a place of its own, higher levels are higher', () => {
  const layout = layOut(columnsOf(kCells, [], false), 900);
  assert.equal(layout.marks.length, 6);
  assert.equal(new Set(layout.marks.map((mark) => `${mark.x},${mark.y}`)).size, 6);
  const yOf = (trial: number) => layout.marks.find((mark) => mark.trial === trial)!.y;
  assert.ok(yOf(4) < yOf(1));
  assert.equal(yOf(4), yOf(6));
  assert.ok(layout.marks.every((mark) => mark.x > 0 && mark.x < layout.width && mark.y > 0 && mark.y < layout.height));
});

test('Sieve: marks beyond what a shelf holds are counted', () => {
  const many = Array.from({length: 3000}, (): TrialState => 'PRUNED');
  const layout = layOut(columnsOf([cell(0, 0, 1, 1, many, 0)], [], false), 400);
  assert.equal(layout.marks.length + layout.columns[0].shelves[0].more, 3000);
  assert.ok(layout.height < 1000);
});

test('Sieve: the pointer finds the nearest mark, arrow keys the next one that way', () => {
  const layout = layOut(columnsOf(kCells, [], false), 900);
  const index = layout.marks.findIndex((mark) => mark.trial === 4);
  const {x, y} = layout.marks[index];
  assert.equal(markAt(layout, x + 2, y - 2, 9), index);
  assert.equal(markAt(layout, x, y - 400, 9), -1);
  assert.equal(layout.marks[markBeside(layout, index, 'ArrowRight')].trial, 5);
  assert.equal(markBeside(layout, index, 'ArrowUp'), index);
});
