// proto3 JSON -> what types.ts says. int64 come as strings and NaN as "NaN": fields of these names are numbers. A name has
// one type in all messages of the page, or is a message where it is no number.
const kNumbers = new Set(
  ('afterSequence arrived at atResource attempt attempts best bestObjective bestResource billableNodeSeconds bins ' +
    'bracket busyFraction cancelled completed continuous count cpu cpus cutoff decisions deviation distance ' +
    'elapsedSeconds entered evaluations facts failed firstTrial from fullResource hostCpu hostMemory importance ' +
    'index integer lastSequence levels levelTrials lower marginalDeviation marginalMean marginalX max median memory ' +
    'memoryGib min mismatch nextOffset nodes nodeSeconds number objective offset passed paused pending ' +
    'plannedResource plannedTrials position pruned rank ranked resource resourceFrom resourceLevel resourceTo ' +
    'resourceWithoutResume rung running s savedResource seconds sequence slots slotsUsed startupFraction ' +
    'startupSeconds stepSeconds stoppedResource stoppedTrial stoppedValue tickPosition to total totalSize ' +
    'trainedResource trainingSeconds trial trials upper usedCpus usedMemoryGib usedSlots value valueResource width x ' +
    'xBin y yBin').split(' '),
);

// Numbers of a spec: they are read as numbers too, but the spec as it came is kept beside.
const kSpecNumbers = new Set(
  ('brackets coefficients convergenceTolerance cpus gridPoints integer max maxAttempts maxLostAttempts maxNodeSeconds ' +
    'maxParallelTrials maxResource maxTotalResource maxTrialResource maxTrials memoryGib min minResource nodes reductionFactor slots ' +
    'startupTrials trials').split(' '),
);

// Maps from a user's names to text.
const kTexts = new Set(['environment', 'labels', 'secrets', 'staticHyperparameters']);

type Json = unknown;

function number(value: Json): Json {
  return typeof value === 'string' ? Number(value) : value;
}

// In place.
function convert(value: Json, names: Set<string>): Json {
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (typeof value[i] === 'object') convert(value[i], names);
    return value;
  }
  if (value === null || typeof value !== 'object') return value;
  const message = value as Record<string, Json>;
  for (const name in message) {
    const field = message[name];
    if (kTexts.has(name)) continue;
    if (name === 'spec' && field && typeof field === 'object') {
      message.rawSpec = structuredClone(field);
      convert(field, kSpecNumbers);
    } else if (field !== null && typeof field === 'object') {
      if (Array.isArray(field) && names.has(name)) {
        for (let i = 0; i < field.length; i++) field[i] = typeof field[i] === 'object' ? convert(field[i], names) : number(field[i]);
      } else {
        convert(field, names);
      }
    } else if (names.has(name)) {
      message[name] = number(field);
    }
  }
  return value;
}

export function decode<T>(json: Json): T {
  return convert(json, kNumbers) as T;
}
