import {get, type Query} from '../../api/client';
import type {TuningJob} from '../../api/types';
import {type DataTable, tableOfItems} from '../../data_table';
import {countsText, savedOf, trialsOf} from '../job_words';

const kPageSize = 1000;

// All jobs that the filter shows, newest first, however many pages they fill.
export async function jobsTable(filter: Query): Promise<DataTable> {
  const jobs: TuningJob[] = [];
  let pageToken = '';
  do {
    const page: {jobs: TuningJob[]; nextPageToken: string} = await get('/v1/tuning-jobs', {pageSize: kPageSize, pageToken, ...filter});
    jobs.push(...page.jobs);
    pageToken = page.nextPageToken;
  } while (pageToken);
  return tableOf(jobs);
}

// Pure.
export function tableOf(jobs: readonly TuningJob[]): DataTable {
  return tableOfItems(jobs, {
    job: (job) => job.id,
    state: (job) => job.state,
    reason: (job) => job.stateReason,
    owner: (job) => job.owner,
    project: (job) => job.project,
    tags: (job) => job.annotation?.tags.join(' '),
    note: (job) => job.annotation?.note,
    strategy: (job) => job.strategyText,
    metric: (job) => job.spec.objective.metric,
    best: (job) => job.best?.objective,
    best_trial: (job) => job.best?.trial,
    trials: (job) => trialsOf(job.trialCounts),
    trial_states: (job) => countsText(job.trialCounts),
    units: (job) => job.spend.resource,
    units_saved: (job) => savedOf(job).units,
    node_seconds: (job) => job.spend.billableNodeSeconds,
    create_time: (job) => job.createTime,
    end_time: (job) => job.endTime,
  });
}
