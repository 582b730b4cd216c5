import {trialPath} from '../../api/calls';
import {address, getText, isRefusal} from '../../api/client';
import type {TuningJob} from '../../api/types';
import {valueAt} from './form_fields';

// The code of an earlier job, which the server has: a new job gets the same.
export interface Code {
  job: string;
  folder: string;    // its trainer.source
  source?: object;   // as a request has it
  problem?: string;  // why there is none
}

// undefined: its code does not travel.
export async function codeOf(job: TuningJob, signal: AbortSignal): Promise<Code | undefined> {
  if (!job.source) return undefined;
  const code = {job: job.id, folder: String(valueAt(job.rawSpec, ['trainer', 'source']))};
  try {
    const {manifest} = JSON.parse(await getText(address(`${trialPath(job.id, 0)}/artifact`, {kind: 'SOURCE'}), {signal}));
    return {...code, source: {...job.source, manifest}};
  } catch (error) {
    if (isRefusal(error)) return {...code, problem: error.message};
    throw error;
  }
}

// "": the job file names no folder of code.
const folderOf = (spec: unknown) => String(valueAt(spec, ['trainer', 'source']) ?? '');

// What is wrong with the folder of code: the page sends none but that of an earlier job.
export function codeProblem(spec: unknown, code: Code | undefined): {field: string; text: string} | null {
  const folder = folderOf(spec);
  const said = (text: string) => ({field: 'trainer.source', text: `is "${folder}"; ${text}`});
  if (!folder) return null;
  if (!code) return said('expected none: the page cannot send the files of a folder, winnow submit does');
  if (folder !== code.folder) return said(`expected "${code.folder}", whose files ${code.job} runs: those of another folder are sent by winnow submit`);
  return code.problem ? said(`its files cannot be had from ${code.job}: ${code.problem}`) : null;
}

// What goes with the job file, so that the new job runs that code.
export function sourceFor(spec: unknown, code: Code | undefined): object | undefined {
  return folderOf(spec) ? code?.source : undefined;
}
