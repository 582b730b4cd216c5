import {useCallback, useLayoutEffect, useRef, useState} from 'preact/hooks';
import {address, getText, isAbort, type Query} from './client';
import {decode} from './decode';

export interface Answer<T> {
  data: T | undefined;       // the newest answer, also while the next one is awaited; the same object as long as it says the same
  current: boolean;          // `data` answers this question, not an earlier one
  error: Error | undefined;  // of the newest request
  loading: boolean;
  reload(): void;
}

interface Options {
  // A change asks again without forgetting the answer: a job's version, a filter.
  version?: unknown;
  // The answer stays true as long as the version is this one: a kept one is not asked for again.
  final?: boolean;
  // Of changes that follow each other faster than this, ms, only the first and the last are asked for.
  debounce?: number;
  // A browser opens few connections: others go first where one has to wait.
  priority?: 'low';
  // Asks again so often, ms; not while the page is hidden.
  every?: number;
}

// Answers by address, so that the back button finds its page as it was.
interface Kept {
  text: string;
  data: unknown;
  version: unknown;
}
const kKept = 80;
const kept = new Map<string, Kept>();
let forgotten = 0;  // how often they were: what was asked for before is not kept

// What has been answered before, to the letter, is not read again; nor is it drawn again, being the same object.
async function ask(key: string, {version, priority}: Options = {}, signal?: AbortSignal): Promise<unknown> {
  const then = forgotten;
  const text = await getText(key, {signal, priority});
  const known = kept.get(key);
  const data = known?.text === text ? known.data : decode(JSON.parse(text));
  if (then !== forgotten) return data;
  kept.delete(key);
  kept.set(key, {text, data, version});
  if (kept.size > kKept) kept.delete(kept.keys().next().value!);
  return data;
}
// Whether the kept answer needs no other.
function stands(key: string, {version, final}: Options): boolean {
  const known = kept.get(key);
  return final === true && known !== undefined && Object.is(known.version, version);
}
export function forgetAnswers(): void {
  forgotten++;
  kept.clear();
  fetchedEarly.clear();
}

interface Asking {
  state: 'waiting' | 'asking' | 'outdated' | 'idle';
  version: unknown;
  run(): Promise<void>;
  // Waits as long as `every` says now, and asks again.
  pace(): void;
}

// Asks before the page that wants the answer is there.
const fetchedEarly = new Map<string, Promise<unknown>>();
export function fetchEarly(path: string, query: Query = {}, options: Options = {}): void {
  const key = address(path, query);
  if (kept.has(key) || fetchedEarly.has(key)) return;
  const answer = ask(key, options);
  fetchedEarly.set(key, answer);
  // What did not work is asked for again by the page itself.
  answer.catch(() => fetchedEarly.delete(key));
}

// GET `path`; null asks nothing. A newer request cancels an older one.
export function useGet<T>(path: string | null, query: Query = {}, options: Options = {}): Answer<T> {
  const key = path === null ? null : address(path, query);
  const [, redraw] = useState(0);
  const [turn, setTurn] = useState(0);
  const state = useRef<{key: string | null; dataKey?: string | null; data?: T; error?: Error; loading: boolean}>({key: null, loading: false});
  if (state.current.key !== key) {
    // What was shown stays until the new answer comes, unless a kept one is at hand.
    const old = state.current;
    const known = key === null ? undefined : kept.get(key);
    state.current = known ? {key, dataKey: key, data: known.data as T, loading: !stands(key!, options)} : {key, dataKey: old.dataKey, data: old.data, loading: key !== null};
  }
  const asking = useRef<Asking | null>(null);
  const latest = useRef(options);  // what is asked for later goes by what is wanted then
  latest.current = options;
  const changed = useRef(-Infinity);
  const asked = useRef(0);  // the turn
  // Before the frame that the change makes is painted: the server answers in the meantime.
  useLayoutEffect(() => {
    if (key === null) return;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stopWaiting = () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', again);
    };
    const run = async () => {
      stopWaiting();
      const current = asking.current!;
      current.state = 'asking';
      state.current.loading = true;
      try {
        const early = fetchedEarly.get(key);
        fetchedEarly.delete(key);
        const data = (await (early ?? ask(key, {version: current.version, priority: latest.current.priority}, abort.signal))) as T;
        if (abort.signal.aborted) return;
        state.current = {key, dataKey: key, data, loading: false};
      } catch (error) {
        if (abort.signal.aborted || isAbort(error)) return;
        // The answer to another question does not stand for this one.
        const {dataKey, data} = state.current;
        state.current = {key, dataKey, data: dataKey === key ? data : undefined, error: error as Error, loading: false};
      }
      redraw((n) => n + 1);
      const outdated = (current.state as Asking['state']) === 'outdated';
      current.state = 'idle';
      if (outdated) void run();
      else pace();
    };
    const pace = () => {
      stopWaiting();
      if (latest.current.every) timer = setTimeout(again, latest.current.every);
    };
    const again = () => {
      if (!document.hidden) void run();
      else document.addEventListener('visibilitychange', again, {once: true});
    };
    asking.current = {state: 'waiting', version: options.version, run, pace};
    const now = performance.now();
    const soon = options.debounce !== undefined && now - changed.current < options.debounce;
    changed.current = now;
    if (turn === asked.current && stands(key, options)) asking.current.state = 'idle';
    else if (soon) timer = setTimeout(() => void run(), options.debounce);
    else void run();
    asked.current = turn;
    return () => {
      asking.current = null;
      stopWaiting();
      abort.abort();
    };
  }, [key, turn]);
  // A new version does not cancel: what takes longer than versions come would never be answered.
  useLayoutEffect(() => {
    const current = asking.current;
    if (!current || Object.is(current.version, options.version)) return;
    current.version = options.version;
    if (current.state === 'asking') current.state = 'outdated';
    else if (current.state === 'idle') void current.run();
  }, [options.version]);
  useLayoutEffect(() => {
    if (asking.current?.state === 'idle') asking.current.pace();
  }, [options.every]);
  const reload = useCallback(() => setTurn((n) => n + 1), []);
  const {data, dataKey, error, loading} = state.current;
  return {data, current: data !== undefined && dataKey === key, error, loading, reload};
}
