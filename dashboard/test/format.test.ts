import assert from 'node:assert/strict';
import {test} from 'node:test';
import {bytes, count, counted, duration, hyperparameter, number, percent, secondsOf, shortCount, word} from '../src/format';
import {csvLine} from '../src/csv';

test('Format: numbers have six digits, and an exponent where they are very small or large', () => {
  assert.equal(number(0.77592665), '0.775927');
  assert.equal(number(0.5), '0.5');
  assert.equal(number(-1.25), '−1.25');
  assert.equal(number(123456), '123456');
  assert.equal(number(1234567), '1234567');
  assert.equal(number(12345678), '1.235e7');
  assert.equal(number(0.00001234), '1.234e−5');
  assert.equal(number(0), '0');
});

test('Format: what is no number is said', () => {
  assert.equal(number(undefined), '–');
  assert.equal(number(Number.NaN), '–');
  assert.equal(number(-Infinity), '−∞');
  assert.equal(percent(Number.NaN), '–');
  assert.equal(duration(undefined), '–');
});

test('Format: counts have separators, short ones a letter', () => {
  assert.equal(count(1234567), '1,234,567');
  assert.equal(counted(1, 'trial'), '1 trial');
  assert.equal(counted(2000, 'trial'), '2,000 trials');
  assert.equal(shortCount(950), '950');
  assert.equal(shortCount(12345), '12.3k');
  assert.equal(shortCount(999_999), '1M');
  assert.equal(shortCount(0.25), '0.25');
});

test('Format: durations take the two units that tell', () => {
  assert.equal(duration(0), '0 s');
  assert.equal(duration(0.0352), '0.035 s');
  assert.equal(duration(12.34), '12.3 s');
  assert.equal(duration(59.97), '1 min');
  assert.equal(duration(200), '3 min 20 s');
  assert.equal(duration(3600 * 5 + 12 * 60), '5 h 12 min');
  assert.equal(duration(3600 * 24 * 3), '3 d');
});

test('Format: bytes, words, durations of JSON and hyperparameters', () => {
  assert.equal(bytes(512), '512 B');
  assert.equal(bytes(1536), '1.5 KiB');
  assert.equal(bytes(1024 * 1024 - 1), '1 MiB');
  assert.equal(word('STATE_UNSPECIFIED'), 'state unspecified');
  assert.equal(secondsOf('3.5s'), 3.5);
  assert.equal(hyperparameter({integer: -3}), '−3');
  assert.equal(hyperparameter({categorical: 'relu'}), 'relu');
  assert.equal(hyperparameter(undefined), '–');
});

test('Csv: a text that a spreadsheet would run as a formula is disarmed, a number is left alone', () => {
  assert.equal(csvLine(['=1+1', '+x', '-x', '@sum', '\tx', '\rx']), `'=1+1,'+x,'-x,'@sum,'\tx,"'\rx"\r\n`);
  assert.equal(csvLine([-1.5, '-1.5e-3', '+2', '.5', 'a=b']), '-1.5,-1.5e-3,+2,.5,a=b\r\n');
});

test('Csv: commas, quotes and lines are quoted, nothing is nothing', () => {
  assert.equal(csvLine([1, 'a,b', 'say "x"', undefined, 'two\nlines']), '1,"a,b","say ""x""",,"two\nlines"\r\n');
});
