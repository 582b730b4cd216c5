// Which trials are looked at, as text in the address ("f"), in the form of requests: see InsightService in insight.proto.
// But brackets and rungs are counted from 1 in the address as on the whole page, and from 0 in requests.

export interface Filter {
  field: string;      // a hyperparameter's name, or #objective …
  min?: number;       // of a range; left out: no bound
  max?: number;
  oneOf?: string[];   // in place of a range
}

function escape(text: string): string {
  return text.replace(/[\\|:]/g, (mark) => `\\${mark}`);
}

// Where the first `mark` is that no '\' stands before; -1: nowhere.
function findMark(text: string, mark: string, from = 0): number {
  for (let i = from; i < text.length; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === mark) return i;
  }
  return -1;
}

function unescape(text: string): string {
  return text.replace(/\\(.)/gs, '$1');
}

// All digits: 1048576 is another value than 1048580.
function bound(value: number | undefined): string {
  return value === undefined || !Number.isFinite(value) ? '' : String(value);
}

export function filterText(filter: Filter): string {
  const field = escape(filter.field);
  if (filter.oneOf) return `${field}:${filter.oneOf.map(escape).join('|')}`;
  return `${field}:${bound(filter.min)}..${bound(filter.max)}`;
}

// Trials in this state.
export const stateFilter = (state: string) => filterText({field: '#state', oneOf: [state]});

// Trials with this tag.
export const tagFilter = (tag: string) => filterText({field: '#tag', oneOf: [tag]});

// null: it is none.
export function parseFilter(text: string): Filter | null {
  const colon = findMark(text, ':');
  if (colon < 1) return null;
  const field = unescape(text.slice(0, colon));
  const rest = text.slice(colon + 1);
  const range = /^([-+0-9.eE]*?)\.\.([-+0-9.eE]*)$/.exec(rest);
  if (range) {
    const min = range[1] === '' ? undefined : Number(range[1]);
    const max = range[2] === '' ? undefined : Number(range[2]);
    if (!Number.isNaN(min) && !Number.isNaN(max)) return {field, min, max};
  }
  const oneOf = [];
  for (let from = 0; ; ) {
    const bar = findMark(rest, '|', from);
    oneOf.push(unescape(bar < 0 ? rest.slice(from) : rest.slice(from, bar)));
    if (bar < 0) break;
    from = bar + 1;
  }
  return {field, oneOf};
}

// The texts with `field`'s filter replaced by this one; null takes it away.
export function withFilter(texts: readonly string[], field: string, filter: Filter | null): string[] {
  const others = texts.filter((text) => parseFilter(text)?.field !== field);
  return filter ? [...others, filterText(filter)] : others;
}

export function filterOf(texts: readonly string[], field: string): Filter | null {
  for (const text of texts) {
    const filter = parseFilter(text);
    if (filter?.field === field) return filter;
  }
  return null;
}

const kCountedFromOne = new Set(['#bracket', '#rung']);

// Filters of the address as a request says them.
export function askedFilters(texts: readonly string[]): string[] {
  const less = (value: number | undefined) => (value === undefined ? undefined : value - 1);
  return texts.map((text) => {
    const filter = parseFilter(text);
    if (!filter || !kCountedFromOne.has(filter.field)) return text;
    if (!filter.oneOf) return filterText({...filter, min: less(filter.min), max: less(filter.max)});
    // What is no number stays, for the server to say so.
    return filterText({...filter, oneOf: filter.oneOf.map((value) => (value.trim() !== '' && Number.isFinite(Number(value)) ? String(Number(value) - 1) : value))});
  });
}

const kFieldNames: Record<string, string> = {
  '#objective': 'best',
  '#resource': 'trained to',
  '#training_seconds': 'training time',
  '#number': 'trial',
  '#bracket': 'bracket',
  '#rung': 'rung',
  '#nodes': 'nodes',
  '#state': 'state',
  '#tag': 'tag',
};
export function fieldName(field: string, metric = ''): string {
  return field === '#objective' && metric ? metric : (kFieldNames[field] ?? field);
}
