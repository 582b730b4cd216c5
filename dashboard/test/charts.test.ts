import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {Axis} from '../src/api/types';
import {positionOf, valueAt} from '../src/charts/axis';
import {extent, linear, linearTicks, log, logTicks, quantile, ranksOf} from '../src/charts/scale';
import {filterFrom, passes, spansOf, toggled} from '../src/pages/job/brush';
import {bendAlong, densityField} from '../src/pages/job/parallel_density';

function axis(part: Partial<Axis>): Axis {
  return {name: 'x', kind: 'continuous', scaling: 'linear', min: 0, max: 1, values: [], tickPosition: [], tickText: [], ...part};
}

test('Scale: there and back', () => {
  for (const scale of [linear(-5, 20), log(0.001, 1000)]) {
    for (const place of [0, 0.25, 1]) assert.ok(Math.abs(scale.to(scale.from(place)) - place) < 1e-12);
  }
  assert.equal(log(1, 100).to(10), 0.5);
});

test('Scale: ticks are round and within', () => {
  assert.deepEqual(linearTicks(0, 1, 5), [0, 0.2, 0.4, 0.6, 0.8, 1]);
  assert.deepEqual(linearTicks(0.683, 0.791, 4), [0.7, 0.75]);
  assert.deepEqual(linearTicks(2, 2, 4), [2]);
  assert.deepEqual(logTicks(1, 1000, 4), [1, 10, 100, 1000]);
  assert.deepEqual(logTicks(1, 100, 9), [1, 2, 5, 10, 20, 50, 100]);
  assert.ok(logTicks(1e-12, 1e12, 5).length <= 6);
});

test('Scale: values that differ by their last digits have one tick', () => {
  for (const [min, max] of [[0.3, 0.30000000000000004], [0.9999999999999998, 1], [-1, -0.9999999999999999], [1e308, 1.0000000000000002e308], [0, 5e-324]]) {
    assert.deepEqual(linearTicks(min, max, 5), [min]);
    if (min > 0) assert.deepEqual(logTicks(min, max, 5), [min]);
  }
  assert.deepEqual(linearTicks(1, 1 + 1e-9, 3), [1, 1.0000000005, 1.000000001]);
});

test('Scale: extents and quantiles pass over what is no number', () => {
  assert.deepEqual(extent([3, Number.NaN, -1]), [-1, 3]);
  assert.equal(extent([Number.NaN]), null);
  assert.equal(quantile([1, 2, 3, 4], 0.5), 2.5);
  assert.ok(Number.isNaN(quantile([], 0.5)));
});

test('Ranks: the best is 1, the worst 0, equals are equal, an outlier takes nothing away', () => {
  assert.deepEqual([...ranksOf([1, 2, 3, -1000, 2], false)], [0.25, 0.5, 1, 0, 0.5]);
  assert.deepEqual([...ranksOf([1, 3], true)], [1, 0]);
  assert.ok(Number.isNaN(ranksOf([Number.NaN, 1], true)[0]));
});

test('Axis: positions of all scalings and back', () => {
  const axes = [axis({min: 2, max: 10}), axis({scaling: 'log', min: 0.001, max: 10}), axis({scaling: 'reverse_log', min: 0, max: 0.99}), axis({kind: 'integer', scaling: 'reverse_log', min: 1, max: 50})];
  for (const each of axes) {
    assert.equal(positionOf(each, each.min), 0);
    assert.equal(positionOf(each, each.max), 1);
    assert.ok(Math.abs(positionOf(each, valueAt(each, 0.3)) - 0.3) < 1e-9);
  }
  assert.ok(Math.abs(positionOf(axes[1], 0.1) - 0.5) < 1e-12);
});

test('Brush: a part of an axis is a range; its ends are no bounds', () => {
  assert.deepEqual(filterFrom(axis({min: 0, max: 2}), 0.5, 0.25), {field: 'x', min: 0.5, max: 1});
  assert.deepEqual(filterFrom(axis({}), 0.001, 0.5), {field: 'x', min: undefined, max: 0.5});
  assert.equal(filterFrom(axis({}), 0, 1), null);
  assert.equal(filterFrom(axis({name: '#objective', kind: 'objective'}), 0.5, 1)!.field, '#objective');
});

test('Brush: bounds have six digits, or as many more as the axis needs', () => {
  assert.deepEqual(filterFrom(axis({min: 0, max: 3}), 0.1, 1 / 3 + 0.1), {field: 'x', min: 0.3, max: 1.3});
  assert.deepEqual(filterFrom(axis({min: 0, max: 1}), 1 / 3, 2 / 3), {field: 'x', min: 0.333333, max: 0.666667});
  assert.deepEqual(filterFrom(axis({min: 1_000_000, max: 1_000_001}), 0.3, 0.7), {field: 'x', min: 1_000_000.3, max: 1_000_000.7});
  assert.deepEqual(filterFrom(axis({min: -1, max: 1}), 0.5, 0.75), {field: 'x', min: 0, max: 0.5});
});

test('Brush: integers are whole, and at least one is chosen', () => {
  const depth = axis({kind: 'integer', min: 1, max: 11});
  assert.deepEqual(filterFrom(depth, 0.15, 0.55), {field: 'x', min: 3, max: 6});
  assert.deepEqual(filterFrom(depth, 0.41, 0.44), {field: 'x', min: 5, max: 5});
});

test('Brush: values are chosen by what is within, and by clicking', () => {
  const booster = axis({kind: 'categorical', values: ['a', 'b', 'c', 'd']});
  assert.deepEqual(filterFrom(booster, 0.1, 0.5), {field: 'x', oneOf: ['a', 'b']});
  assert.deepEqual(spansOf(booster, {field: 'x', oneOf: ['a', 'b', 'd']}), [[0, 0.5], [0.75, 1]]);
  assert.deepEqual(toggled(booster, {field: 'x', oneOf: ['a']}, 0.9), {field: 'x', oneOf: ['a', 'd']});
  assert.equal(toggled(booster, {field: 'x', oneOf: ['a']}, 0.1), null);
});

test('Brush: a line passes where all its places are within, never where it has none', () => {
  assert.equal(passes([0.2, 0.8], [[[0, 0.5]], []]), true);
  assert.equal(passes([0.2, 0.8], [[[0, 0.5]], [[0, 0.5]]]), false);
  assert.equal(passes([Number.NaN], [[[0, 1]]]), false);
});

test('Density: lines bend from one axis to the next, evenly on both sides', () => {
  const bend = bendAlong(100);
  assert.ok(bend[0] < 1e-3 && bend[99] > 1 - 1e-3);
  for (let x = 0; x < 50; x++) {
    assert.ok(bend[x] < bend[x + 1]);
    assert.ok(Math.abs(bend[x] + bend[99 - x] - 1) < 1e-5);
  }
});

test('Density: where trials go is where they are counted, and how good they are there is their mean', () => {
  // Of 10 bins of 5 places each: 6 trials from the lowest bin to the highest one, 2 better ones stay in the lowest.
  const field = densityField({from: [0, 0], to: [9, 0], count: [6, 2], best: []}, [0.25, 1], 10, 40, 50);
  const at = (x: number, y: number) => [field.trials[y * 40 + x], field.good[y * 40 + x]];
  assert.equal(field.most, 8);
  assert.deepEqual(at(0, 47), [8, (6 * 0.25 + 2) / 8]);
  assert.deepEqual(at(39, 47), [2, 1]);
  assert.deepEqual(at(39, 2), [6, 0.25]);
  assert.deepEqual(at(39, 20), [0, 0]);
  for (let x = 0; x < 40; x++) assert.equal(Array.from({length: 50}, (_, y) => at(x, y)[0]).reduce((a, b) => a + b), 8 * 5);
});

test('Density: a cell without a value, and no cell at all', () => {
  const field = densityField({from: [3], to: [3], count: [1], best: [Number.NaN]}, [Number.NaN], 10, 4, 20);
  assert.deepEqual([field.trials[12 * 4], field.good[12 * 4], field.most], [1, 0, 1]);
  assert.equal(densityField({from: [], to: [], count: [], best: []}, [], 10, 4, 20).most, 0);
});
