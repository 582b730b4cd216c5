import assert from 'node:assert/strict';
import test from 'node:test';
import {csvText, jsonText, tableOf} from '../src/data_table';
import {changedText, parseTags} from '../src/pages/annotation/tags';
import {cellEdges, contourLines} from '../src/pages/job/contour_lines';
import {tarEnd, tarHead, tarPadding} from '../src/pages/model/tar';
import {chosenTrials, differs} from '../src/pages/trials/chosen';

test('Data table: CSV leaves out what is no number, JSON says null', () => {
  const table = tableOf({trial: [1, 2], 'a,b': [Number.NaN, 0.5], text: ['=1+1']});
  assert.equal(csvText(table), 'trial,"a,b",text\r\n1,,\'=1+1\r\n2,0.5,\r\n');
  assert.deepEqual(JSON.parse(jsonText(table)), [
    {trial: 1, 'a,b': null, text: '=1+1'},
    {trial: 2, 'a,b': 0.5, text: null},
  ]);
});

test('Tags: blanks and commas separate, each counts once, and a wrong one is named', () => {
  assert.deepEqual(parseTags(' b a,  b '), {tags: ['a', 'b'], problem: ''});
  assert.match(parseTags('ok no*').problem, /^"no\*" is no tag/);
  assert.match(parseTags(Array.from({length: 33}, (_, i) => `t${i}`).join(' ')).problem, /^33 tags/);
});

test('Tags and notes: what another has written meanwhile is said, and nothing else', () => {
  const mine = {tags: ['a'], note: '', author: 'me', time: '2026-01-01T00:00:00Z'};
  assert.equal(changedText(undefined, undefined), '');
  assert.equal(changedText({...mine, tags: []}, undefined), '');
  assert.equal(changedText(mine, {...mine, author: 'ben', time: '2026-01-02T00:00:00Z'}), '');
  assert.equal(changedText(mine, {...mine, note: 'diverges', author: 'ben'}), 'ben has changed them meanwhile: tags a, note "diverges". Save again to replace that.');
  assert.equal(changedText(mine, undefined), 'Somebody has changed them meanwhile: no tags, no note. Save again to replace that.');
});

test('Contour: lines cross the grid where it has the value', () => {
  const x = [0, 1, 2];
  // The values rise along x.
  const lines = contourLines(x, [0, 1], [0, 1, 2, 0, 1, 2], 0.5);
  assert.deepEqual(lines, [[0.5, 0, 0.5, 1]]);
  assert.deepEqual(contourLines(x, [0, 1], [0, 1, 2, 0, 1, 2], 5), []);
  assert.deepEqual(cellEdges([0.25, 0.75]), [0, 0.5, 1]);
});

test('Trials side by side: numbers of the address, each once', () => {
  assert.deepEqual(chosenTrials('3,1,3,x,-2'), [3, 1]);
  assert.deepEqual(chosenTrials(null), []);
  assert.equal(chosenTrials(Array.from({length: 50}, (_, i) => i + 1).join()).length, 20);
  assert.equal(differs(['a', 'a']), false);
  assert.equal(differs(['a', 'b']), true);
});

// Reads an archive as tar does.
function untar(bytes: Uint8Array): {name: string; size: number; mode: string; type: string; at: number}[] {
  const text = (from: number, length: number) => new TextDecoder().decode(bytes.subarray(from, from + length)).replace(/\0.*$/s, '');
  const files = [];
  for (let at = 0; bytes[at]; ) {
    const size = parseInt(text(at + 124, 12), 8);
    const sum = bytes.subarray(at, at + 512).reduce((all, byte, i) => all + (i >= 148 && i < 156 ? 32 : byte), 0);
    assert.equal(parseInt(text(at + 148, 8), 8), sum);
    files.push({name: text(at, 100), size, mode: text(at + 100, 8), type: text(at + 156, 1), at: at + 512});
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}

test('Tar: headers, padding and long names', () => {
  const long = `${'d'.repeat(90)}/${'ü'.repeat(30)}.json`;
  const parts = [...tarHead('model.bin', 3, true), new Uint8Array([1, 2, 3]), tarPadding(3), ...tarHead(long, 512, false), new Uint8Array(512), tarPadding(512), tarEnd()];
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((at, part) => (bytes.set(part, at), at + part.length), 0);
  assert.equal(bytes.length % 512, 0);
  const [model, pax, other] = untar(bytes);
  assert.deepEqual([model.name, model.size, model.mode, model.type], ['model.bin', 3, '0000755', '0']);
  assert.deepEqual([...bytes.subarray(model.at, model.at + 3)], [1, 2, 3]);
  assert.equal(pax.type, 'x');
  const record = new TextDecoder().decode(bytes.subarray(pax.at, pax.at + pax.size));
  assert.equal(record, `${pax.size} path=${long}\n`);
  assert.equal(other.size, 512);
});
