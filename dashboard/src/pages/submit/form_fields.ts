import {sameName} from './places';

// A job file as fields of a form. Everything that the form does not know stays as it is. Pure.

export type Json = unknown;
export type Message = Record<string, Json>;

export const isMessage = (value: Json): value is Message => value !== null && typeof value === 'object' && !Array.isArray(value);

// The value at a path of names, in either spelling of proto3 JSON; undefined: not there.
export function valueAt(spec: Json, path: readonly (string | number)[]): Json {
  let value = spec;
  for (const step of path) {
    if (typeof step === 'number') value = Array.isArray(value) ? value[step] : undefined;
    else value = isMessage(value) ? value[keyOf(value, step)] : undefined;
  }
  return value;
}

function keyOf(message: Message, name: string): string {
  return Object.keys(message).find((key) => sameName(key, name)) ?? name;
}

const isNothing = (value: Json) => value === undefined || value === '' || (Array.isArray(value) ? value.length === 0 : isMessage(value) && Object.keys(value).length === 0);

// The spec with this value; undefined, "" and [] take the field away, and what then holds nothing.
export function withValue(spec: Json, path: readonly (string | number)[], value: Json): Json {
  if (path.length === 0) return value;
  const [step, ...rest] = path;
  if (typeof step === 'number') {
    const list = Array.isArray(spec) ? [...spec] : [];
    list[step] = withValue(list[step], rest, value);
    return list;
  }
  const message = isMessage(spec) ? {...spec} : {};
  const key = keyOf(message, step);
  const next = withValue(message[key], rest, value);
  if (isNothing(next)) delete message[key];
  else message[key] = next;
  return message;
}

// Words as a shell has them: blanks separate, quotes keep together. null: a quote is open.
export function splitWords(text: string): string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  let quote = '';
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quote) {
      if (c === quote) quote = '';
      else if (c === '\\' && quote === '"' && '"\\'.includes(text[i + 1] ?? ' ')) word += text[++i];
      else word += c;
    } else if (c === '"' || c === "'") {
      quote = c;
      word ??= '';
    } else if (c === '\\' && i + 1 < text.length) word = (word ?? '') + text[++i];
    else if (/\s/.test(c)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? '') + c;
  }
  if (quote) return null;
  if (word !== null) words.push(word);
  return words;
}

export function joinWords(words: readonly string[]): string {
  return words.map((word) => (/^[^\s'"\\]+$/.test(word) ? word : `'${word.replace(/'/g, `'"'"'`)}'`)).join(' ');
}

export const kKinds = ['continuous', 'integer', 'categorical', 'discrete'] as const;
export type Kind = (typeof kKinds)[number];

export function kindOf(parameter: Json): Kind {
  return kKinds.find((kind) => valueAt(parameter, [kind]) !== undefined) ?? 'continuous';
}

const kFresh: Record<Kind, Message> = {
  continuous: {min: 0, max: 1},
  integer: {min: 1, max: 10},
  categorical: {values: ['a', 'b']},
  discrete: {values: [1, 2]},
};

// The parameter with a range of another kind, which keeps the bounds where it can.
export function withKind(parameter: Json, kind: Kind): Json {
  const before = valueAt(parameter, [kindOf(parameter)]);
  let next: Json = parameter;
  for (const each of kKinds) next = withValue(next, [each], undefined);
  const range = {...kFresh[kind]};
  const keepsBounds = 'min' in range && isMessage(before) && typeof before.min === 'number' && typeof before.max === 'number';
  if (keepsBounds) Object.assign(range, kind === 'integer' ? {min: Math.floor(before.min as number), max: Math.ceil(before.max as number)} : {min: before.min, max: before.max});
  return withValue(next, [kind], range);
}

export function freshParameter(taken: readonly string[]): Message {
  let n = taken.length + 1;
  while (taken.includes(`parameter_${n}`)) n++;
  return {name: `parameter_${n}`, continuous: {...kFresh.continuous}};
}

// "8, 16, 32" as numbers or as texts, by the kind; what is no number stays a text, for the server to say so. A text in quotes, as
// JSON has them, may have commas. null: a quote is open.
export function listOf(text: string, kind: Kind): Json[] | null {
  const list: Json[] = [];
  for (const [, part] of text.matchAll(/\s*("(?:[^"\\]|\\.)*"\s*(?=,|$)|[^,]*)(?:,|$)/g)) {
    const each = part.trim();
    if (each.startsWith('"')) {
      try {
        list.push(JSON.parse(each));
      } catch {
        return null;
      }
    } else if (each !== '') list.push(kind === 'discrete' ? numberOf(each) : each);
  }
  return list;
}

// The other way round.
export function listText(values: readonly Json[]): string {
  return values.map((value) => (typeof value === 'string' && /^$|^["\s]|\s$|[,\0-\x1f]/.test(value) ? JSON.stringify(value) : String(value))).join(', ');
}

// A field's text as a number, or as it is, as where a number cannot hold all its digits; "": none.
export function numberOf(text: string): Json {
  if (text.trim() === '') return undefined;
  const number = Number(text);
  const isExact = Number.isSafeInteger(number) || !/^\s*[-+]?\d+\s*$/.test(text);
  return Number.isFinite(number) && isExact ? number : text.trim();
}
