import {written} from '../job/job_file';
import {isMessage, type Json, type Message} from './form_fields';
import {parseExactly, type Part, type Value, valueIn, withoutComments} from './places';

// What the form changes, written into the text of the job file: all else stays as it is written, comments and numbers too. Pure.

interface Splice {
  start: number;
  end: number;
  text: string;
}

function same(a: Json, b: Json): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((each, i) => same(each, b[i]));
  if (!isMessage(a) || !isMessage(b)) return a === b;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && same(a[name], b[name]));
}

// One step from the text to one that says `after`. `blank`: the text without its comments.
class Step {
  constructor(
    private readonly text: string,
    private readonly blank: string,
  ) {}

  // null: there is no difference.
  towards(after: Json, here = valueIn(this.blank), before: Json = parseExactly(this.blank)): Splice[] | null {
    if (same(before, after)) return null;
    if (isMessage(before) && isMessage(after)) return this.inMessage(before, after, here);
    if (Array.isArray(before) && Array.isArray(after) && before.some(isMessage)) return this.inList(before, after, here);
    return this.replace(here, after);
  }

  private inMessage(before: Message, after: Message, here: Value): Splice[] | null {
    for (const part of here.parts) {
      const name = String(part.name);
      if (!Object.hasOwn(after, name)) return this.remove(here, part);
      const found = this.towards(after[name], part.value, before[name]);
      if (found) return found;
    }
    const added = Object.keys(after).find((name) => !Object.hasOwn(before, name));
    return added === undefined ? null : this.append(here, `${JSON.stringify(added)}: `, after[added]);
  }

  private inList(before: Json[], after: Json[], here: Value): Splice[] | null {
    if (after.length === before.length) {
      for (const [i, part] of here.parts.entries()) {
        const found = this.towards(after[i], part.value, before[i]);
        if (found) return found;
      }
    }
    if (after.length === before.length + 1 && same(before, after.slice(0, -1))) return this.append(here, '', after[after.length - 1]);
    const gone = before.findIndex((each, i) => !same(each, after[i]));
    if (same(before.filter((_, i) => i !== gone), after)) return this.remove(here, here.parts[gone]);
    return this.replace(here, after);
  }

  // Members of the job file are one deep.
  private depthOf(indent: string): number {
    return Math.max(1, indent.length >> 1);
  }

  private indentOf(at: number): string {
    return /^[ \t]*/.exec(this.text.slice(this.text.lastIndexOf('\n', at - 1) + 1))![0];
  }

  private replace(here: Value, after: Json): Splice[] {
    const column = here.start - (this.text.lastIndexOf('\n', here.start - 1) + 1);
    return [{start: here.start, end: here.end, text: written(after, this.depthOf(this.indentOf(here.start)), column)}];
  }

  private append(here: Value, name: string, after: Json): Splice[] {
    const last = here.parts[here.parts.length - 1];
    if (!last) return [{start: here.start + 1, end: here.start + 1, text: name + written(after, this.depthOf(this.indentOf(here.start)) + 1, 0)}];
    const close = here.end - 1;
    const hasLines = this.text.slice(here.start, here.parts[0].start).includes('\n') || this.text.slice(last.value.end, close).includes('\n');
    const indent = this.indentOf(last.start);
    // After what is said of the last one.
    const at = this.text.slice(0, close).trimEnd().length;
    return [
      {start: last.value.end, end: last.value.end, text: ','},
      {start: at, end: at, text: (hasLines ? `\n${indent}` : ' ') + name + written(after, this.depthOf(indent), indent.length + name.length)},
    ];
  }

  // The next one takes its place, so that no comment gets longer.
  private remove(here: Value, part: Part): Splice[] {
    const {start, value: {end}} = part;
    if (here.parts.length === 1) return [{start, end, text: ''}];
    if (part !== here.parts[here.parts.length - 1]) {
      const comma = this.blank.indexOf(',', end);
      return [{start, end: this.text.length - this.text.slice(comma + 1).trimStart().length, text: ''}];
    }
    const comma = this.blank.lastIndexOf(',', start);
    if (this.text.slice(comma + 1, start).trim() === '') return [{start: comma, end, text: ''}];
    return [{start: comma, end: comma + 1, text: ''}, {start, end, text: ''}];
  }
}

const kMostSteps = 50;

// The text of a job file, changed so that it says `after`.
export function rewritten(text: string, after: Message): string {
  let next = text;
  for (let i = 0; i < kMostSteps; i++) {
    const splices = new Step(next, withoutComments(next)).towards(after);
    if (!splices) return next;
    for (const splice of splices.reverse()) next = next.slice(0, splice.start) + splice.text + next.slice(splice.end);
  }
  return `${written(after, 0, 0)}\n`;
}
