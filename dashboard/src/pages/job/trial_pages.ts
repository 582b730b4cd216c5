import {useCallback, useLayoutEffect, useMemo, useRef, useState} from 'preact/hooks';
import {jobPath} from '../../api/calls';
import {get, isAbort} from '../../api/client';
import type {QueryTrialsResponse, Trial} from '../../api/types';
import {askedFilters} from './filters';

const kPage = 100;
// Of changes that follow each other faster than this only the first and the last are asked for.
const kDebounceMs = 100;

export interface TrialPages {
  total: number;         // −1: not known yet
  loading: boolean;
  error: Error | undefined;
  row(index: number): Trial | undefined;
  onRange(first: number, last: number): void;
  reload(): void;
}

// The rows of the table that are looked at, by pages. A change of filters or order begins anew; a new version asks for the
// pages in sight again and shows what was there until they come.
export function useTrialPages(id: string, filters: readonly string[], orderBy: string, version: number, on: boolean): TrialPages {
  const key = JSON.stringify([id, filters, orderBy]);
  const [, redraw] = useState(0);
  const [turn, setTurn] = useState(0);
  const store = useRef({
    key: '',
    pages: new Map<number, Trial[]>(),
    version,
    fresh: new Set<number>(),   // answered for this version
    asking: new Set<number>(),
    total: -1,
    error: undefined as Error | undefined,
  });
  const range = useRef<[number, number]>([0, 1]);
  const abort = useRef<AbortController | null>(null);

  const fetchSeen = useCallback(() => {
    const state = store.current;
    const current = abort.current;
    if (!current) return;
    const [first, last] = range.current;
    for (let page = Math.floor(first / kPage); page <= Math.floor(Math.max(first, last - 1) / kPage); page++) {
      if (state.fresh.has(page) || state.asking.has(page)) continue;
      state.asking.add(page);
      const asked = state.version;
      const answered = (error?: Error) => {
        state.asking.delete(page);
        state.error = error;
        const outdated = asked !== state.version;
        if (!error && !outdated) state.fresh.add(page);
        redraw((n) => n + 1);
        if (outdated) fetchSeen();
      };
      get<QueryTrialsResponse>(`${jobPath(id)}/table`, {filters: askedFilters(filters), orderBy, offset: page * kPage, limit: kPage}, current.signal).then(
        (answer) => {
          if (current.signal.aborted) return;
          if (state.key !== key) {
            // The first answer to a new question takes the old rows away.
            state.key = key;
            state.pages = new Map();
          }
          state.pages.set(page, answer.trials);
          state.total = answer.total;
          answered();
        },
        (error) => {
          if (!current.signal.aborted && !isAbort(error)) answered(error);
        },
      );
    }
  }, [key]);

  const changed = useRef(-Infinity);
  // Before the frame that the change makes is painted: the server answers in the meantime.
  useLayoutEffect(() => {
    if (!on) return;
    const current = new AbortController();
    abort.current = current;
    store.current.fresh = new Set();
    store.current.asking = new Set();
    const now = performance.now();
    let timer: ReturnType<typeof setTimeout> | undefined;
    if (now - changed.current < kDebounceMs) timer = setTimeout(fetchSeen, kDebounceMs);
    else fetchSeen();
    changed.current = now;
    return () => {
      clearTimeout(timer);
      abort.current = null;
      current.abort();
    };
  }, [key, turn, on]);
  // A new version does not cancel: what takes longer than versions come would never be answered.
  useLayoutEffect(() => {
    const state = store.current;
    if (state.version === version) return;
    state.version = version;
    state.fresh = new Set();
    fetchSeen();
  }, [version]);

  const onRange = useCallback(
    (first: number, last: number) => {
      range.current = [first, last];
      if (store.current.total >= 0) fetchSeen();
    },
    [fetchSeen],
  );
  const row = useCallback((index: number) => store.current.pages.get(Math.floor(index / kPage))?.[index % kPage], []);
  const reload = useCallback(() => setTurn((n) => n + 1), []);
  const {total, asking, error} = store.current;
  const loading = asking.size > 0;
  return useMemo(() => ({total, loading, error, row, onRange, reload}), [total, loading, error, row, onRange, reload]);
}
