// A spec as the server gives it, back as a job file: names_like_this, numbers as numbers, and nothing that is a default. Pure.

type Json = unknown;
type Message = Record<string, Json>;

// Fields whose keys are a user's names, not ours.
const kMaps = new Set(['channels', 'staticHyperparameters', 'environment', 'labels', 'secrets', 'coefficients', 'gridPoints', 'hyperparameters']);
// Fields that are `optional` in the proto: the server writes them only where they were given, so that 0 and false say something.
// Of other numbers, truths and texts it writes what was not given too, as 0, false and "".
export const kOptional = new Set([
  'min', 'max', 'atLeast', 'atMost', 'maxFirstFailures', 'minChance', 'noImprovementTolerance', 'priority', 'resumes', 'stopWeakBrackets',
  'targetHypervolume', 'targetObjective', 'threshold', 'warmUpTrials', 'weight',
]);
// Texts that look like numbers and are texts.
const kTextMaps = new Set(['staticHyperparameters', 'environment', 'labels', 'secrets', 'hyperparameters']);
const kIntegers = new Set([
  'min', 'max', 'seed', 'splitSeed', 'minResource', 'maxResource', 'reductionFactor', 'maxTrials', 'maxTotalResource', 'maxParallelTrials',
  'maxTrialResource', 'maxAttempts', 'maxLostAttempts', 'startupTrials', 'brackets', 'trials', 'warmUpResource', 'warmUpTrials',
  'noImprovementTrials', 'resourceOffset',
]);

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

// A message is only there if it was given, also an empty one: "hyperband": {} chooses the strategy.
function isDefault(key: string, value: Json): boolean {
  if (value === '' || value === null) return true;
  if (value === 0 || value === false) return !kOptional.has(key);
  if (typeof value === 'string') return value === (key === 'scaling' ? 'LINEAR' : `${snake(key).toUpperCase()}_UNSPECIFIED`);
  if (Array.isArray(value)) return value.length === 0;
  return kMaps.has(key) && Object.keys(value as object).length === 0;
}

// Integers beyond 2^53 stay texts: proto3 JSON takes them.
function plain(name: string, value: Json): Json {
  if (typeof value !== 'string' || !kIntegers.has(name)) return value;
  const number = Number(value);
  return Number.isSafeInteger(number) && String(number) === value ? number : value;
}

function clean(name: string, value: Json): Json {
  if (Array.isArray(value)) return value.map((each) => clean(name, each));
  if (value === null || typeof value !== 'object') return plain(name, value);
  if (kMaps.has(name)) {
    const texts = kTextMaps.has(name);
    return Object.fromEntries(Object.entries(value as Message).map(([key, each]) => [key, texts ? each : name === 'gridPoints' ? Number(each) : clean('', each)]));
  }
  const result: Message = {};
  for (const [key, each] of Object.entries(value as Message)) {
    const cleaned = clean(key, each);
    if (isDefault(key, cleaned)) continue;
    result[snake(key)] = cleaned;
  }
  return result;
}

// `withFolder`: with the folder from which it was submitted, for which the command line fills in that of the file.
export function jobFile(rawSpec: Message, withFolder = false): Message {
  const file = clean('', rawSpec) as Message;
  if (!withFolder) delete file.working_directory;
  return file;
}

// Two spaces deep; what fits a line of 90 characters, as wide as the editor is, stands on one.
export function pretty(file: Message): string {
  return `${written(file, 0, 0)}\n`;
}

export function jobFileText(rawSpec: Message): string {
  return pretty(jobFile(rawSpec));
}

const kLine = 90;
// A value of an object that is `depth` deep. `before`: characters that stand on the line already.
export function written(value: Json, depth: number, before: number): string {
  const flat = oneLine(value);
  if (depth > 0 && before + flat.length < kLine) return flat;
  const pad = '  '.repeat(depth + 1);
  const end = '  '.repeat(depth);
  if (Array.isArray(value) && value.length) return `[\n${value.map((each) => pad + written(each, depth + 1, pad.length)).join(',\n')}\n${end}]`;
  if (value !== null && typeof value === 'object' && Object.keys(value).length) {
    return `{\n${Object.entries(value as Message).map(([key, each]) => `${pad}${JSON.stringify(key)}: ${written(each, depth + 1, pad.length + JSON.stringify(key).length + 2)}`).join(',\n')}\n${end}}`;
  }
  return flat;
}
function oneLine(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(oneLine).join(', ')}]`;
  if (value !== null && typeof value === 'object') return `{${Object.entries(value as Message).map(([key, each]) => `${JSON.stringify(key)}: ${oneLine(each)}`).join(', ')}}`;
  return JSON.stringify(value);
}
