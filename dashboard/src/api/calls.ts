import {del, get, post} from './client';
import {stream, type StreamHandlers} from './stream';
import type {Annotation, QueryTrialsResponse, TuningJob, TuningJobEvent} from './types';

// Addresses; ids are encoded.
export const jobPath = (id: string) => `/v1/tuning-jobs/${encodeURIComponent(id)}`;
export const trialPath = (id: string, trial: number) => `${jobPath(id)}/trials/${trial}`;

export const describeJob = (id: string, signal?: AbortSignal) => get<TuningJob>(jobPath(id), undefined, signal);
export const stopJob = (id: string) => post<TuningJob>(`${jobPath(id)}/stop`);
export const pauseJob = (id: string) => post<TuningJob>(`${jobPath(id)}/change`, {pause: true});
export const resumeJob = (id: string) => post<TuningJob>(`${jobPath(id)}/change`, {resume: true});
export const keepTrial = (id: string, trial: number) => post<TuningJob>(`${jobPath(id)}/change`, {keep_trial: trial});
export const releaseTrial = (id: string, trial: number) => post<TuningJob>(`${jobPath(id)}/change`, {release_trial: trial});
export const deleteJob = (id: string) => del<object>(jobPath(id));
// Replaces the tags and the note of the job, or of one of its trials.
export const annotate = (id: string, trial: number, tags: string[], note: string) =>
  post<{annotation: Annotation}>(`${jobPath(id)}/annotation`, {trial, tags, note});
// What is written there now.
export async function readAnnotation(id: string, trial: number): Promise<Annotation | undefined> {
  if (!trial) return (await describeJob(id)).annotation;
  return (await get<QueryTrialsResponse>(`${jobPath(id)}/table`, {filters: [`#number:${trial}..${trial}`], limit: 1})).trials[0]?.annotation;
}
export const watchJob = (id: string, afterSequence: number, handlers: StreamHandlers<TuningJobEvent>) =>
  stream<TuningJobEvent>(`${jobPath(id)}/events?afterSequence=${afterSequence}`, handlers);
