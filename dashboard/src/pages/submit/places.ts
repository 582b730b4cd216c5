// Where in a JSON text a field of the job file stands, so that what is wrong with it is shown there.
export interface Place {
  line: number;   // from 1
  start: number;  // of the value, in the text
  end: number;
}

const kSpace = /\s/;

// proto3 JSON takes both spellings of a name: max_trials and maxTrials.
export function sameName(a: string, b: string): boolean {
  const plain = (name: string) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
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

// What the JSON says. Whole numbers that a number of this language cannot hold are texts of the same digits: proto3 JSON takes them.
export function parseExactly(text: string): unknown {
  const number = /"(?:\\.|[^"\\])*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;
  const held = (found: string) => found.startsWith('"') || !/^-?\d+$/.test(found) || Number.isSafeInteger(Number(found));
  JSON.parse(text);  // where it is none, places are those of the text as it is
  return JSON.parse(text.replace(number, (found) => (held(found) ? found : `"${found}"`)));
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
