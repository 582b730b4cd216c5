import {jobPath} from '../../api/calls';
import type {Query} from '../../api/client';
import {askedFilters} from './filters';

const kMarks = 1000;
const kMarksNarrow = 400;
const kNarrowPx = 720;

// Path and query of the sieve that is drawn in this window.
export function sieveQuestion(job: string, filters: readonly string[]): [string, Query] {
  return [`${jobPath(job)}/sieve`, {filters: askedFilters(filters), maxMarks: innerWidth < kNarrowPx ? kMarksNarrow : kMarks}];
}
