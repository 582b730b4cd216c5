import type {TrialCounts, TuningJob} from '../api/types';

export function trialsOf(counts: TrialCounts): number {
  return counts.pending + counts.running + counts.paused + counts.completed + counts.stopped + counts.failed;
}
export function endedOf(counts: TrialCounts): number {
  return counts.completed + counts.stopped + counts.failed;
}

// How far a job is, 0 to 1; NaN where its end is not known beforehand. A job that has ended is through.
export function progressOf(job: TuningJob): number {
  if (job.state === 'COMPLETED' || job.state === 'STOPPED' || job.state === 'FAILED') return 1;
  const parts = [];
  if (job.plannedResource > 0) parts.push(job.spend.resource / job.plannedResource);
  const limits = job.spec.limits;
  if (limits?.maxTotalResource) parts.push(job.spend.resource / limits.maxTotalResource);
  if (parts.length === 0 && job.plannedTrials > 0) parts.push(endedOf(job.trialCounts) / job.plannedTrials);
  if (limits?.maxNodeSeconds) parts.push(job.spend.billableNodeSeconds / limits.maxNodeSeconds);
  return parts.length ? Math.min(1, Math.max(...parts)) : Number.NaN;
}

// The part of full training that stopping early did not do; NaN if nothing can be said.
export function savedOf(job: TuningJob): number {
  const {resource, fullResource} = job.spend;
  return fullResource > 0 ? Math.max(0, 1 - resource / fullResource) : Number.NaN;
}

// "12 completed, 3 stopped"
export function countsText(counts: TrialCounts): string {
  const names = ['running', 'pending', 'paused', 'completed', 'stopped', 'failed'] as const;
  return names
    .filter((name) => counts[name] > 0)
    .map((name) => `${counts[name].toLocaleString('en-US')} ${name}`)
    .join(', ');
}
