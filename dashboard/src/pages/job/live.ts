import {useCallback, useEffect, useRef, useState} from 'preact/hooks';
import {describeJob, jobPath, watchJob} from '../../api/calls';
import {isRefusal} from '../../api/client';
import {useGet} from '../../api/query';
import type {TuningJob} from '../../api/types';
import {isLive} from '../job_words';
import {filterOf} from './filters';

// What is drawn from answers of the server is asked for again at most so often while the job runs.
const kRefreshMs = 1000;
// Where the server does not answer what a job is after its last event, it is asked again after so long.
const kRetryMs = 2000;

// What an answer about the job's trials that pass the filters is an answer to, for useGet. While the job runs it is another one
// every `times` versions: more for what is costly to answer. Once it has ended, only tags still change.
export function asOf(job: TuningJob, version: number, filters: readonly string[], times = 1): {version: string; final: boolean} {
  if (isLive(job)) return {version: `live ${Math.floor(version / times)}`, final: false};
  return {version: `ended ${job.createTime} ${job.lastSequence}`, final: filterOf(filters, '#tag') === null};
}

// What a card is drawn from.
export interface Shown {
  job: TuningJob;
  version: number;
  filters: readonly string[];
}

export interface LiveJob {
  job: TuningJob | undefined;
  error: Error | undefined;
  version: number;           // changes when there is something new to ask for
  line: 'open' | 'lost' | 'none';
  reload(): void;
}

// An answer may come after a newer event of the same job: then the job stays as it is shown.
const unlessOlder = (job: TuningJob) => (shown: TuningJob | undefined) =>
  job.id === shown?.id && job.createTime === shown.createTime && job.lastSequence < shown.lastSequence ? shown : job;

// A job that is followed while it runs.
export function useLiveJob(id: string): LiveJob {
  const first = useGet<TuningJob>(jobPath(id));
  const [job, setJob] = useState<TuningJob | undefined>(undefined);
  // Why there is no job any more: it was deleted while nobody looked.
  const [refused, setRefused] = useState<Error | undefined>(undefined);
  const [version, setVersion] = useState(0);
  const [line, setLine] = useState<LiveJob['line']>('none');
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);

  // Changes come in bursts: the first is shown at once, the rest together.
  const pending = useRef<{job?: TuningJob}>({});
  const lastShown = useRef(0);
  const show = useCallback(() => {
    timer.current = undefined;
    lastShown.current = performance.now();
    if (pending.current.job) setJob(unlessOlder(pending.current.job));
    pending.current = {};
    setVersion((n) => n + 1);
  }, []);
  const soon = useCallback(() => {
    if (timer.current === undefined) timer.current = setTimeout(show, Math.max(0, lastShown.current + kRefreshMs - performance.now()));
  }, [show]);
  useEffect(() => () => clearTimeout(timer.current), []);

  useEffect(() => {
    const start = first.data;
    if (!start || start.id !== id || refused) return;
    setJob(unlessOlder(start));
    if (!isLive(start)) return;
    let retry: ReturnType<typeof setTimeout> | undefined;
    let left = false;
    // Asks what the job is after its last event.
    const conclude = () =>
      void describeJob(id).then(
        (last) => {
          pending.current.job = last;
          soon();
        },
        (failure) => {
          if (left) return;
          if (isRefusal(failure)) setRefused(failure);
          else retry = setTimeout(conclude, kRetryMs);
        },
      );
    const close = watchJob(id, start.lastSequence, {
      message(event) {
        if (event.job) pending.current.job = event.job;
        soon();
      },
      state: setLine,
      end() {
        setLine('none');
        conclude();
      },
    });
    return () => {
      left = true;
      clearTimeout(retry);
      close();
    };
  }, [first.data, id, soon, refused]);
  const reload = useCallback(() => {
    setRefused(undefined);
    first.reload();
  }, [first.reload]);

  return {job: refused ? undefined : (job ?? first.data), error: refused ?? first.error, version, line, reload};
}
