import {computed, type ReadonlySignal, signal} from '@preact/signals';
import {type ParamChange, withParams} from './address';

export {match} from './address';

// Where the page is. Everything that makes a view what it is stands in the address: links and the back button work.
const here = signal(read());

function read(): URL {
  return new URL(location.href);
}

export const path = computed(() => here.value.pathname);
export const search = computed(() => here.value.search);

const valuesByName = new Map<string, ReadonlySignal<readonly string[]>>();
function valuesOf(name: string): ReadonlySignal<readonly string[]> {
  let values = valuesByName.get(name);
  if (!values) {
    // By way of a text: a list is another one only if it says something else.
    const text = computed(() => JSON.stringify(new URLSearchParams(search.value).getAll(name)));
    values = computed(() => JSON.parse(text.value) as string[]);
    valuesByName.set(name, values);
  }
  return values;
}

// One value of the address's query; reading it inside a component subscribes to it, and to no other.
export function param(name: string): string | null {
  return valuesOf(name).value[0] ?? null;
}
export function params(name: string): readonly string[] {
  return valuesOf(name).value;
}

// Changes the query of this view. `replace`: not a step of the back button (a search box while it is typed into).
export function setParams(change: ParamChange, {replace = false} = {}): void {
  const next = withParams(here.value.search, change);
  if (next === here.value.search) return;
  go(here.value.pathname + next + here.value.hash, {replace, scroll: false});
}

interface GoOptions {
  replace?: boolean;
  scroll?: boolean;  // to the top; default true
}

export function go(href: string, {replace = false, scroll = true}: GoOptions = {}): void {
  const next = new URL(href, location.href);
  if (next.origin !== location.origin) {
    location.assign(next.href);
    return;
  }
  history.replaceState({...history.state, y: scrollY}, '');
  if (replace) history.replaceState(history.state, '', next.href);
  else history.pushState({}, '', next.href);
  here.value = read();
  if (scroll) scrollToHash(0);
}

// Content arrives late: the place is looked for until the page is tall enough, or some time has passed.
const kScrollPatienceMs = 1500;
function scrollToHash(y: number): void {
  const start = performance.now();
  const attempt = () => {
    const mark = here.value.hash ? document.getElementById(here.value.hash.slice(1)) : null;
    if (mark) mark.scrollIntoView();
    else scrollTo(0, y);
    const reached = mark !== null || (here.value.hash === '' && Math.abs(scrollY - y) < 2);
    if (!reached && performance.now() - start < kScrollPatienceMs) requestAnimationFrame(attempt);
  };
  requestAnimationFrame(attempt);
}

// Links inside the page, without loading it anew.
export function startRouter(): void {
  history.scrollRestoration = 'manual';
  addEventListener('popstate', (event) => {
    here.value = read();
    scrollToHash(event.state?.y ?? 0);
  });
  addEventListener('pagehide', () => history.replaceState({...history.state, y: scrollY}, ''));
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element).closest?.('a');
    if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
    if (/^\/(v1|metrics|healthz|assets|sign-in)(\/|$)/.test(link.pathname)) return;
    event.preventDefault();
    const samePage = link.pathname === location.pathname && link.search === location.search;
    go(link.href, {replace: link.href === location.href, scroll: !samePage || link.hash !== ''});
  });
  if (location.hash) scrollToHash(0);
  else if (history.state?.y) scrollToHash(history.state.y);
}

export const paths = {
  home: '/',
  // `f`: filters, as filters.ts writes them; `part`: the card that is scrolled to.
  job: (id: string, {f = [], part = ''}: {f?: readonly string[]; part?: string} = {}) =>
    `/jobs/${encodeURIComponent(id)}${withParams('', {f})}${part && `#${part}`}`,
  project: (project: string) => `/${withParams('', {project})}`,  // its jobs
  tagged: (tag: string) => `/${withParams('', {tag})}`,  // the jobs with this tag
  // Trials of one job side by side.
  trials: (id: string, trials: readonly number[]) => `/jobs/${encodeURIComponent(id)}/compare${withParams('', {trials: trials.join(',')})}`,
  trial: (id: string, trial: number) => `/jobs/${encodeURIComponent(id)}/trials/${trial}`,
  compare: (ids: string[]) => `/compare?jobs=${ids.map(encodeURIComponent).join(',')}`,
  workers: '/workers',
  login: '/login',
  submit: (from?: string) => (from ? `/new?from=${encodeURIComponent(from)}` : '/new'),
};
