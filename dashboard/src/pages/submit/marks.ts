import {ApiError} from '../../api/client';
import {type Code, codeProblem} from './code';
import type {Mark} from './editor';
import {fieldsGivenTwice, parseExactly, placeOf, syntaxPlace, withoutComments} from './places';
import {kYourDirectory} from './starters';

// The command line fills in the job file's directory; here there is none, and a preview does not miss it.
const kWanted = 'expected the absolute path of a directory on the workers, in which trainers run and relative paths start';
function directoryProblem(spec: unknown): {field: string; text: string} | null {
  if (spec === null || typeof spec !== 'object') return null;
  const {working_directory, workingDirectory, trainer} = spec as {working_directory?: unknown; workingDirectory?: unknown; trainer?: {external?: boolean}};
  const directory = working_directory ?? workingDirectory;
  if (typeof directory === 'string' && directory.startsWith(kYourDirectory)) return {field: 'working_directory', text: `is "${directory}", a placeholder; ${kWanted}`};
  return directory || trainer?.external ? null : {field: 'working_directory', text: `is missing; ${kWanted}`};
}

// A job file, and what is wrong with it before the server is asked. Without `spec` it can be neither sent nor shown as a form.
export function parse(written: string, code: Code | undefined): {spec?: unknown; marks: Mark[]} {
  const text = withoutComments(written);
  try {
    const spec = parseExactly(text);
    const twice = fieldsGivenTwice(text);
    if (twice.length) return {marks: twice.map((each) => ({...each, text: 'is given twice; expected once'}))};
    const problems = [directoryProblem(spec), codeProblem(spec, code)].filter((problem) => problem !== null);
    return {spec, marks: problems.map((problem) => ({place: placeOf(text, problem.field), ...problem}))};
  } catch (error) {
    const message = (error as Error).message;
    const place = syntaxPlace(text, message) ?? {line: text.split('\n').length, start: text.length, end: text.length};
    return {marks: [{place, field: 'JSON', text: message}]};
  }
}

// What the server says of the job file, which is the field `spec` of the request.
export function marksOf(written: string, error: unknown): Mark[] {
  if (!(error instanceof ApiError)) return [];
  const text = withoutComments(written);
  return error.violations.map(({field, description}) => {
    const within = field.replace(/^spec\./, '');
    return {place: placeOf(text, within), field: within, text: description};
  });
}
