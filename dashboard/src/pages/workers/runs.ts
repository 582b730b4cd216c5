// What an assignment is of, read from its id: JOB.TRIAL.ATTEMPT.RANK.FENCE. The job's id may hold dots.
export interface Runs {
  job: string;
  trial: number;
  attempt: number;
  rank: number;
}

export function runsOf(assignmentId: string): Runs | null {
  const found = /^(.+)\.(\d+)\.(\d+)\.(\d+)\.[0-9a-f]+$/.exec(assignmentId);
  return found && {job: found[1], trial: Number(found[2]), attempt: Number(found[3]), rank: Number(found[4])};
}
