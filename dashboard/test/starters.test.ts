import assert from 'node:assert/strict';
import {test} from 'node:test';
import {pretty} from '../src/pages/job/job_file';
import {kStarters} from '../src/pages/submit/starters';

const kEditorColumns = 92;  // of a window of 1440 px

test('Starters: every line can be read in the editor', () => {
  for (const {label, spec} of kStarters) {
    for (const line of pretty(spec).split('\n')) assert.ok(line.length <= kEditorColumns, `${label}: ${line.length} columns: ${line}`);
  }
});
