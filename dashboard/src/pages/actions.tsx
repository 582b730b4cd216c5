import {annotate, deleteJob, keepTrial, pauseJob, readAnnotation, releaseTrial, resumeJob, stopJob} from '../api/calls';
import type {Trial, TuningJob} from '../api/types';
import {ask, type Tone, toast} from '../design';
import {counted} from '../format';
import {deletedText, kNamedJobs, trialsOf} from './job_words';

// Favourites are jobs with this tag, for everybody who sees them.
export const kFavourite = 'favourite';
export const isFavourite = (job: TuningJob) => job.annotation?.tags.includes(kFavourite) ?? false;
export async function toggleFavourite(job: TuningJob): Promise<boolean> {
  try {
    // The list may be older than what others have written since.
    const now = await readAnnotation(job.id, 0);
    const others = (now?.tags ?? []).filter((tag) => tag !== kFavourite);
    await annotate(job.id, 0, isFavourite(job) ? others : [...others, kFavourite], now?.note ?? '');
    return true;
  } catch (failure) {
    toast((failure as Error).message);
    return false;
  }
}

// A job that runs is paused, or goes on. True if it was done.
export async function togglePaused(job: TuningJob): Promise<boolean> {
  try {
    await (job.paused ? resumeJob(job.id) : pauseJob(job.id));
    toast(job.paused ? `${job.id} goes on.` : `${job.id} is paused. What runs trains to its next level or its end.`);
    return true;
  } catch (failure) {
    toast((failure as Error).message);
    return false;
  }
}

// A trial is kept from being pruned, or may be pruned again. True if it was done.
export async function toggleKept({jobId, number, kept}: Trial): Promise<boolean> {
  try {
    await (kept ? releaseTrial(jobId, number) : keepTrial(jobId, number));
    toast(kept ? `Trial ${number} may be pruned again.` : `Trial ${number} is not pruned any more. It trains to its full level, within the budget.`);
    return true;
  } catch (failure) {
    toast((failure as Error).message);
    return false;
  }
}

// The colour of its bar: that of a job that goes on or completed is the usual one.
export const toneOf = (job: TuningJob): Tone => (job.state === 'STOPPED' ? 'cancelled' : job.state === 'FAILED' ? 'failed' : '');

const runningText = (running: number) => (running > 0 ? `, and the ${counted(running, 'trial')} running now ${running === 1 ? 'is' : 'are'} cancelled` : '');

// Both ask first. True if it was done.
export function askToStop(job: TuningJob): Promise<boolean> {
  return ask({
    title: `Stop ${job.id}?`,
    text: `No further trial starts${runningText(job.trialCounts.running)}. Results so far are kept.`,
    confirm: 'Stop the job',
    danger: true,
    action: async () => {
      await stopJob(job.id);
      toast(`${job.id} is stopping.`);
    },
  });
}

export function askToDelete(job: TuningJob): Promise<boolean> {
  const trials = trialsOf(job.trialCounts);
  return ask({
    title: `Delete ${job.id}?`,
    text: `The job, its ${counted(trials, 'trial')}, all their metrics, logs and models are deleted. This cannot be undone.`,
    confirm: 'Delete the job',
    danger: true,
    action: async () => {
      await deleteJob(job.id);
      toast(`${job.id} is deleted.`);
    },
  });
}

// Of jobs that have ended; what cannot be deleted stays, and is said.
export function askToDeleteAll(jobs: TuningJob[]): Promise<boolean> {
  const trials = jobs.reduce((sum, job) => sum + trialsOf(job.trialCounts), 0);
  const named = jobs.slice(0, kNamedJobs).map((job) => job.id).join(', ');
  return ask({
    title: `Delete ${counted(jobs.length, 'job')}?`,
    text: `${named}${jobs.length > kNamedJobs ? ` and ${counted(jobs.length - kNamedJobs, 'other')}` : ''}, their ${counted(trials, 'trial')}, all their metrics, logs and models are deleted. This cannot be undone.`,
    confirm: `Delete ${counted(jobs.length, 'job')}`,
    danger: true,
    action: async () => {
      const problems: string[] = [];
      for (const job of jobs) problems.push(await deleteJob(job.id).then(() => '', (problem: Error) => problem.message));
      toast(deletedText(jobs, problems));
    },
  });
}
