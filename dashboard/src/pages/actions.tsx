import {deleteJob, stopJob} from '../api/calls';
import type {TuningJob} from '../api/types';
import {ask, toast} from '../design';
import {counted} from '../format';

export const isLive = (job: TuningJob) => job.state === 'RUNNING' || job.state === 'STOPPING';

// Both ask first. True if it was done.
export function askToStop(job: TuningJob): Promise<boolean> {
  return ask({
    title: `Stop ${job.id}?`,
    text: `No further trial starts, and the ${counted(job.trialCounts.running, 'trial')} that run now end here. What was found so far stays. A stopped job cannot go on.`,
    confirm: 'Stop the job',
    danger: true,
    action: async () => {
      await stopJob(job.id);
      toast(`${job.id} is stopping.`);
    },
  });
}

export function askToDelete(job: TuningJob): Promise<boolean> {
  const trials = Object.values(job.trialCounts).reduce((sum, each) => sum + each, 0);
  return ask({
    title: `Delete ${job.id}?`,
    text: `The job, its ${counted(trials, 'trial')}, all their metrics, logs and models are forgotten. This cannot be undone.`,
    confirm: 'Delete the job',
    danger: true,
    action: async () => {
      await deleteJob(job.id);
      toast(`${job.id} is deleted.`);
    },
  });
}
