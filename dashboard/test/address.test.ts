import assert from 'node:assert/strict';
import {test} from 'node:test';
import {match, withParams} from '../src/app/address';
import {askedFilters, fieldName, filterOf, filterText, parseFilter, withFilter} from '../src/pages/job/filters';

test('Address: a pattern gives its values, decoded', () => {
  assert.deepEqual(match('/jobs/:id/trials/:trial', '/jobs/a%2Fb/trials/7'), {id: 'a/b', trial: '7'});
  assert.deepEqual(match('/', '/'), {});
  assert.equal(match('/jobs/:id', '/jobs/a/trials/7'), null);
  assert.equal(match('/jobs/:id', '/jobs/%E0%A4%A'), null);
});

test('Address: parameters are set, repeated and taken away', () => {
  assert.equal(withParams('?a=1&b=2', {a: null, c: 'x'}), '?b=2&c=x');
  assert.equal(withParams('', {f: ['eta:0.1..0.3', 'booster:a|b']}), '?f=eta:0.1..0.3&f=booster:a|b');
  assert.equal(withParams('?f=1&f=2', {f: []}), '');
});

test('Filter: ranges and values are written and read again', () => {
  for (const filter of [{field: 'eta', min: 0.1, max: 0.3}, {field: '#objective', min: undefined, max: -1e-7}, {field: 'booster', oneOf: ['a', 'b']}, {field: 'odd:na|me\\', oneOf: ['x|y', 'a:b', '..', 'c\\']}]) {
    assert.deepEqual(parseFilter(filterText(filter)), filter);
  }
});

test('Filter: a number keeps all its digits', () => {
  assert.equal(filterText({field: 'width', min: 1048576, max: 1048576}), 'width:1048576..1048576');
  assert.equal(filterText({field: 'rate', min: 0.123456789}), 'rate:0.123456789..');
  assert.deepEqual(askedFilters(['#rung:1234568..1234568']), ['#rung:1234567..1234567']);
});

test('Filter: texts that are none are none', () => {
  assert.equal(parseFilter('eta'), null);
  assert.equal(parseFilter(':1..2'), null);
});

test('Filter: one a field, in the order in which they came', () => {
  const texts = withFilter(['a:1..2', 'b:x'], 'a', {field: 'a', min: 3});
  assert.deepEqual(texts, ['b:x', 'a:3..']);
  assert.deepEqual(withFilter(texts, 'b', null), ['a:3..']);
  assert.deepEqual(filterOf(texts, 'a'), {field: 'a', min: 3, max: undefined});
  assert.equal(fieldName('#objective', 'auc'), 'auc');
});

test('Filter: brackets and rungs count from 1 in the address, from 0 in a request', () => {
  assert.deepEqual(askedFilters(['#bracket:1..3', '#rung:..2', '#bracket:1|5', 'eta:0.1..', '#number:1..1']), ['#bracket:0..2', '#rung:..1', '#bracket:0|4', 'eta:0.1..', '#number:1..1']);
  assert.deepEqual(askedFilters(['#bracket:first', 'no filter']), ['#bracket:first', 'no filter']);
});
