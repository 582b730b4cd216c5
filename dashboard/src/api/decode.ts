// The server's JSON -> what types.ts says: names_like_this become namesLikeThis, and numbers that came as text (beyond 2^53,
// NaN, the infinities) become numbers where a field has one of these names. A name has one type in all messages of the page,
// or is a message where it is not a number.
const kNumbers = new Set(
  ('afterSequence arrived at atResource attempt attempts best bestObjective bestResource billableNodeSeconds bins ' +
    'bracket busyFraction cancelled completed continuous cost count cpu cpus cutoff decisions deviation distance ' +
    'elapsedSeconds entered evaluations facts failed firstTrial from fullResource hostCpu hostMemory importance ' +
    'index integer jobs lastSequence levels levelTrials lower marginalDeviation marginalMean marginalX max maxRunningJobs maxSlots mean median memory ' +
    'memoryGib min mismatch nextOffset nodes nodeSeconds number objective offset parents passed paused pending ' +
    'plannedResource plannedTrials position pruned rank ranked resource resourceFrom resourceLevel resourceTo ' +
    'resourceWithoutResume rung running runningJobs s savedResource seconds sequence slots slotsUsed startupFraction ' +
    'startupSeconds stepSeconds stoppedResource stoppedTrial stoppedValue suspendedTrainers tickPosition to total totalSize ' +
    'trainedResource trainingSeconds trial trials upper used usedCpus usedMemoryGib usedSlots value valueResource violation waitingTrainers ' +
    'width x xBin xPlace xValue y yBin yPlace yValue').split(' '),
);

// Numbers of a spec: they are read as numbers too, but the spec as it came is kept beside.
const kSpecNumbers = new Set(
  ('brackets coefficients convergenceTolerance cpus gridPoints integer max maxAttempts maxCost maxLostAttempts maxNodeSeconds ' +
    'maxParallelTrials maxResource maxTotalResource maxTrialResource maxTrials memoryGib min minResource nodes reductionFactor slots ' +
    'startupTrials trials').split(' '),
);

// Objects whose keys are a user's names. Only channels hold messages; the others' values stay as they are, but that numbers
// of numbers' maps are numbers. `hyperparameters` and `configuration` are such maps where they are no lists.
const kUsersMaps = new Set(['channels', 'coefficients', 'configuration', 'environment', 'gridPoints', 'hyperparameters', 'labels', 'secrets', 'staticHyperparameters']);

type Json = unknown;
type Message = Record<string, Json>;

const kCamel = new Map<string, string>();
function camel(name: string): string {
  let known = kCamel.get(name);
  if (known === undefined) kCamel.set(name, (known = name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())));
  return known;
}

function number(value: Json): Json {
  return typeof value === 'string' ? Number(value) : value;
}

const kNone = new Set<string>();

function usersMap(name: string, map: Message, names: Set<string>): Message {
  const read = (value: Json) => (name === 'channels' ? convert(value, names) : names.has(name) ? number(value) : value);
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, read(value)]));
}

// `names`: of fields that are numbers.
function convert(value: Json, names: Set<string>): Json {
  if (Array.isArray(value)) return value.map((each) => convert(each, names));
  if (value === null || typeof value !== 'object') return value;
  const message: Message = {};
  for (const [given, field] of Object.entries(value)) {
    const name = camel(given);
    if (field === null || typeof field !== 'object') {
      message[name] = names.has(name) ? number(field) : field;
    } else if (Array.isArray(field)) {
      const numbers = names.has(name);
      message[name] = field.map((each) => (typeof each === 'object' ? convert(each, names) : numbers ? number(each) : each));
    } else if (kUsersMaps.has(name)) {
      message[name] = usersMap(name, field as Message, names);
    } else if (name === 'spec') {
      // Read for the page, and as it came, which alone holds numbers beyond 2^53 whole.
      message.spec = convert(field, kSpecNumbers);
      message.rawSpec = convert(field, kNone);
    } else {
      message[name] = convert(field, names);
    }
  }
  // Pages that show one value per trial show the first objective's.
  if (Array.isArray(message.objectives) && message.objective === undefined && names !== kNone) message.objective = message.objectives[0];
  return message;
}

export function decode<T>(json: Json): T {
  return convert(json, kNumbers) as T;
}
