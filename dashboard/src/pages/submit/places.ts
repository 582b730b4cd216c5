// Where in a JSON text a field of the job file stands, so that what is wrong with it is shown there.
export interface Place {
  line: number;   // from 1
  start: number;  // of the value, in the text
  end: number;
}

export type Path = readonly (string | number)[];

const kSpace = /\s/;

// proto3 JSON takes both spellings of a name: max_trials and maxTrials.
const plain = (name: string) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
export function sameName(a: string, b: string): boolean {
  return a === b || plain(a) === plain(b);
}

// "parameters[2].continuous.min" -> ["parameters", 2, "continuous", "min"]. A map's key stands in brackets or after a dot.
export function steps(field: string): (string | number)[] {
  const found: (string | number)[] = [];
  for (const part of field.matchAll(/\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]|\[([^\]]*)\]|([^.[\]]+)/g)) {
    if (part[2] !== undefined) found.push(Number(part[2]));
    else found.push(part[1] ?? part[3] ?? part[4]);
  }
  return found;
}

// Writes a path as the name of a field: the reverse of `steps`.
export function fieldText(path: Path): string {
  return path.map((step, i) => (typeof step === 'number' ? `[${step}]` : i ? `.${step}` : step)).join('');
}

class Scanner {
  at = 0;
  constructor(readonly text: string) {}

  space(): void {
    while (this.at < this.text.length && kSpace.test(this.text[this.at])) this.at++;
  }
  string(): string {
    const start = this.at++;
    while (this.at < this.text.length && this.text[this.at] !== '"') this.at += this.text[this.at] === '\\' ? 2 : 1;
    this.at++;
    try {
      return JSON.parse(this.text.slice(start, this.at)) as string;
    } catch {
      return this.text.slice(start + 1, this.at - 1);
    }
  }
  // Past one value.
  skip(): void {
    this.space();
    const open = this.text[this.at];
    if (open === '"') {
      this.string();
    } else if (open === '{' || open === '[') {
      this.at++;
      for (let depth = 1; depth > 0 && this.at < this.text.length; ) {
        const c = this.text[this.at];
        if (c === '"') {
          this.string();
          continue;
        }
        if (c === '{' || c === '[') depth++;
        if (c === '}' || c === ']') depth--;
        this.at++;
      }
    } else {
      while (this.at < this.text.length && !',]}'.includes(this.text[this.at]) && !kSpace.test(this.text[this.at])) this.at++;
    }
  }
  // To the value of a name of the object, or an element of the array, that begins here; false if there is none.
  enter(step: string | number): boolean {
    this.space();
    const open = this.text[this.at];
    if (open !== (typeof step === 'number' ? '[' : '{')) return false;
    this.at++;
    for (let index = 0; ; index++) {
      this.space();
      if (this.at >= this.text.length || ']}'.includes(this.text[this.at])) return false;
      let found = index === step;
      if (open === '{') {
        if (this.text[this.at] !== '"') return false;
        found = sameName(this.string(), step as string);
        this.space();
        this.at++;  // the colon
      }
      if (found) {
        this.space();
        return true;
      }
      this.skip();
      this.space();
      if (this.text[this.at] === ',') this.at++;
    }
  }
}

// Of the field, or of the nearest that holds it and is there.
export function placeOf(text: string, field: string): Place {
  const scanner = new Scanner(text);
  scanner.space();
  let start = scanner.at;
  for (const step of steps(field)) {
    if (!scanner.enter(step)) break;
    start = scanner.at;
  }
  scanner.at = start;
  scanner.skip();
  return {line: lineOf(text, start), start, end: scanner.at};
}

// The text with blanks in the place of comments, as long as before. A job file may have some, JSON has none.
export function withoutComments(text: string): string {
  return text.replace(/"(?:\\.|[^"\\])*"|\/\/[^\n]*|\/\*[^]*?\*\//g, (found) => (found.startsWith('"') ? found : found.replace(/[^\n]/g, ' ')));
}

// Texts that a job file may also write as numbers and booleans; "*" is any name or index. As ReadMap and ReadValue of
// spec/job_file.cc read them.
const kTextMaps = [['static_hyperparameters'], ['trainer', 'environment'], ['trainer', 'secrets'], ['cluster', 'labels'], ['initial_configurations', '*', 'hyperparameters']];
const kTexts = [...kTextMaps.map((map) => [...map, '*']), ['parameters', '*', 'condition', 'values', '*'], ['parameters', '*', 'prior', 'value']];
// Objects whose names are a user's, in one spelling.
const kMaps = [...kTextMaps, ['channels'], ['constraints', '*', 'coefficients'], ['sampler', 'grid_points']];

function isOneOf(path: Path, patterns: readonly string[][]): boolean {
  return patterns.some((pattern) => pattern.length === path.length && pattern.every((step, i) => step === '*' || sameName(step, String(path[i]))));
}

// A value, and where it stands.
export interface Value {
  start: number;
  end: number;
  parts: Part[];  // of an object or a list
}
export interface Part {
  name: string | number;
  start: number;  // of the name, or of the element
  value: Value;
}

// Finds where each value of a text stands. REQUIRES: the text is JSON.
export function valueIn(text: string): Value {
  const scanner = new Scanner(text);
  const read = (): Value => {
    scanner.space();
    const start = scanner.at;
    const open = text[start];
    const parts: Part[] = [];
    if (open === '{' || open === '[') {
      scanner.at++;
      for (let index = 0; ; index++) {
        scanner.space();
        if (text[scanner.at] === ',') scanner.at++;
        scanner.space();
        if (scanner.at >= text.length || ']}'.includes(text[scanner.at])) break;
        const partStart = scanner.at;
        const name = open === '{' ? scanner.string() : index;
        if (open === '{') {
          scanner.space();
          scanner.at++;  // the colon
        }
        parts.push({name, start: partStart, value: read()});
      }
      scanner.at++;
    } else {
      scanner.skip();
    }
    return {start, end: scanner.at, parts};
  };
  return read();
}

// Goes through all values, with the path of each.
function forEach(value: Value, visit: (path: Path, value: Value) => void, path: Path = []): void {
  visit(path, value);
  for (const part of value.parts) forEach(part.value, visit, [...path, part.name]);
}

// What the JSON says. Texts of a job file that are written as numbers or truths are texts, as they are written; so are whole numbers
// that a number of this language cannot hold: proto3 JSON takes them.
export function parseExactly(text: string): unknown {
  JSON.parse(text);  // where it is none, places are those of the text as it is
  let exact = '';
  let from = 0;
  forEach(valueIn(text), (path, {start, end}) => {
    if ('{["'.includes(text[start])) return;
    const word = text.slice(start, end);
    const holds = !/^-?\d/.test(word) || (Number.isFinite(Number(word)) && (!/^-?\d+$/.test(word) || Number.isSafeInteger(Number(word))));
    if (word === 'null' || (holds && !isOneOf(path, kTexts))) return;
    exact += `${text.slice(from, start)}"${word}"`;
    from = end;
  });
  return JSON.parse(exact + text.slice(from));
}

// The fields of a text that is JSON whose object has them already: JSON.parse drops the first of two.
export function fieldsGivenTwice(text: string): {field: string; place: Place}[] {
  const found: {field: string; place: Place}[] = [];
  forEach(valueIn(text), (path, value) => {
    const isMap = isOneOf(path, kMaps);
    const names = new Set<string | number>();
    for (const {name, value: {start, end}} of value.parts) {
      const known = isMap || typeof name === 'number' ? name : plain(name);
      if (names.has(known)) found.push({field: fieldText([...path, name]), place: {line: lineOf(text, start), start, end}});
      names.add(known);
    }
  });
  return found;
}

export function lineOf(text: string, at: number): number {
  let line = 1;
  for (let i = 0; i < at && i < text.length; i++) if (text[i] === '\n') line++;
  return line;
}

// Where JSON.parse gave up: Chromium and Firefox say it in different words. Null if not told.
export function syntaxPlace(text: string, message: string): Place | null {
  const position = /position (\d+)/.exec(message);
  if (position) {
    const at = Math.min(Number(position[1]), text.length);
    return {line: lineOf(text, at), start: at, end: at + 1};
  }
  const line = /line (\d+) column (\d+)/.exec(message);
  if (!line) return null;
  let at = 0;
  for (let i = 1; i < Number(line[1]); i++) at = text.indexOf('\n', at) + 1;
  at += Number(line[2]) - 1;
  return {line: Number(line[1]), start: at, end: at + 1};
}
