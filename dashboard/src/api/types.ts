// Messages of proto/winnow/v1 as the page holds them: JSON names, numbers as numbers (decode.ts), enums as their names.

export type Scaling = 'LINEAR' | 'LOG' | 'REVERSE_LOG';
export type Goal = 'GOAL_UNSPECIFIED' | 'MAXIMIZE' | 'MINIMIZE';

export interface ParameterSpec {
  name: string;
  integer?: {min: number; max: number; scaling?: Scaling};
  continuous?: {min: number; max: number; scaling?: Scaling};
  categorical?: {values: string[]; ordered?: boolean};
  discrete?: {values: number[]};
  condition?: {parameter: string; values: string[]};
  prior?: {value: string; confidence?: 'CONFIDENCE_UNSPECIFIED' | 'LOW' | 'MEDIUM' | 'HIGH'};
}

// Only what the page reads; the whole, as the server sent it, is in TuningJob.rawSpec.
export interface TuningJobSpec {
  name: string;
  parameters: ParameterSpec[];
  objective: {metric: string; goal: Goal; value?: 'BEST' | 'LAST' | 'MEAN'; selection?: 'SELECTION_UNSPECIFIED' | 'SEEN' | 'EXPECTED'}; // of several the first
  objectives?: {metric: string; goal: Goal; threshold?: number}[];
  metricConstraints?: {metric: string; atMost?: number; atLeast?: number}[];
  trainer?: {builtin?: string; command?: string[]; external?: boolean; resumes?: boolean};
  limits?: {
    maxTrials?: number;
    maxTotalResource?: number;
    maxParallelTrials?: number;
    maxTrialResource?: number;
    maxNodeSeconds?: number;
    maxCost?: number;
    maxWallTime?: string;
  };
  cluster?: {nodes?: number; slots?: number; nodesParameter?: string};
  repeats?: {seeds?: number; folds?: number};
  seed?: string | number;
}

// What people wrote on a job or a trial.
export interface Annotation {
  tags: string[];
  note: string;
  author: string;
  time?: string;
}

export type JobState = 'STATE_UNSPECIFIED' | 'RUNNING' | 'STOPPING' | 'COMPLETED' | 'STOPPED' | 'FAILED';
export interface TrialCounts {
  pending: number;
  running: number;
  paused: number;
  completed: number;
  pruned: number;
  failed: number;
  cancelled: number;
}
export interface BestTrial {
  trial: number;
  objective: number;
  resource: number;
  standardError?: number; // of the mean over repeats
  expected?: number;      // what a model expects of it if it is trained again
  expectedError?: number;
  unreported?: string[];  // metrics of constraints: whether it satisfies these is not known
}
export interface JobSpend {
  resource: number;
  fullResource: number;
  elapsedSeconds: number;
  trainingSeconds: number;
  billableNodeSeconds: number;
  savedResource: number;
  startupSeconds: number;
  cost: number; // 0: none of its workers costs anything
}
export interface JobNotice {
  kind: string;
  trial: number;
  text: string;
  time: string;
}
export interface FailureGroup {
  reason: string;
  trials: number;
  firstTrial: number;
}
export interface RungState {
  resource: number;
  width: number;
  entered: number;
  arrived: number;
  running: number;
  cutoff?: number;
  best?: number;
}
export interface BracketState {
  index: number;
  s: number;
  rungs: RungState[];
  endReason: string;
}
/** The packed folder of code that a job runs. */
export interface Source {
  digest: string;
  files: number;
  size: number;
  gitCommit: string; // "": it was in no git repository
  gitDirty: boolean; // it differed from that commit
}
export interface TuningJob {
  id: string;
  spec: TuningJobSpec;
  rawSpec: Record<string, unknown>;
  state: JobState;
  stateReason: string;
  createTime: string;
  endTime?: string;
  trialCounts: TrialCounts;
  best?: BestTrial;
  frontTrials?: number; // with several objectives: trials on the Pareto front
  source?: Source;
  spend: JobSpend;
  brackets: BracketState[];
  plannedTrials: number;
  plannedResource: number;
  lastSequence: number;
  strategyText: string;
  warmStartText: string;
  owner: string;
  project: string; // "": the default one
  notices: JobNotice[];
  failures: FailureGroup[];  // only where one job was asked for
  annotation?: Annotation;
  paused?: boolean;       // nothing starts until it is resumed; it is RUNNING
  changes?: JobChange[];  // what people have changed, oldest first; not in lists
  limits?: ChangedLimits; // those that count now; absent: those of the spec
}
export interface JobChange {
  time: string;
  text: string;
}
export interface ChangedLimits {
  maxTrials?: number;
  maxTotalResource?: number;
  maxNodeSeconds?: number;
  maxCost?: number;
  maxWallSeconds?: number;
}

export type TrialState = 'STATE_UNSPECIFIED' | 'PENDING' | 'RUNNING' | 'PAUSED' | 'COMPLETED' | 'PRUNED' | 'FAILED' | 'CANCELLED';
export interface HyperparameterValue {
  name: string;
  integer?: number;
  continuous?: number;
  categorical?: string;
}
export interface Trial {
  jobId: string;
  number: number;
  state: TrialState;
  stateReason: string;
  hyperparameters: HyperparameterValue[];
  objective?: number;
  resource: number;
  bestObjective?: number;
  bestResource: number;
  bracket: number;
  rung: number;
  attempts: number;
  createTime?: string;
  startTime?: string;
  endTime?: string;
  trainingSeconds: number;
  billableNodeSeconds: number;
  trainedResource: number;
  choiceReason: string;
  nodes: number;
  value?: number;  // what it counts when trials are ranked
  valueResource: number;
  metrics?: {metric: string; value: number}[]; // of several objectives and the constraints: the newest values
  violation?: number;                          // of the metric constraints
  annotation?: Annotation;
  kept?: string;                               // who keeps it from being pruned, and why; empty: nobody
}
export interface Rank {
  rank: number;
  assignmentId: string;
  worker: string;
  host: string;
  preparing: string;
}
export interface Attempt {
  number: number;
  resourceFrom: number;
  resourceTo: number;
  ranks: Rank[];
  startTime?: string;
  endTime?: string;
  outcome: string;
  reason: string;
}
export interface TuningJobEvent {
  sequence: number;
  time: string;
  kind: string;
  trial: number;
  text: string;
  job?: TuningJob;
}
export interface DescribeTrialResponse {
  trial: Trial;
  attempts: Attempt[];
  events: TuningJobEvent[];
}
export interface GetLogsResponse {
  data: string;  // base64
  nextOffset: number;
  ended: boolean;
  attempt: number;
  truncated: boolean;
}
export interface Gpu {
  id: string;
  model: string;
  fault: string;
  used: number;
  utilization?: number;
  memory?: number;
}
export interface Worker {
  id: string;
  name: string;
  host: string;
  state: 'STATE_UNSPECIFIED' | 'LIVE' | 'LEAVING' | 'LOST' | 'GONE';
  slots: number;
  usedSlots: number;
  waitingTrainers?: number;
  suspendedTrainers?: number;
  parents?: number;
  lastSyncTime?: string;
  registerTime?: string;
  version: string;
  assignmentIds: string[];
  scheduling: 'OPEN' | 'CORDONED' | 'DRAINING' | 'QUARANTINED';
  schedulingReason: string;
  labels: Record<string, string>;
  cpus: number;
  memoryGib: number;
  usedCpus: number;
  usedMemoryGib: number;
  limits: string;
  hostCpu?: number;
  hostMemory?: number;
  gpus?: Gpu[];
}
export interface Allocation {
  name: string;
  nodes: number;
  state: 'STATE_UNSPECIFIED' | 'PLANNED' | 'QUEUED' | 'RUNNING' | 'ENDED';
  reason: string;
  endTime?: string;
}
export interface Pool {
  name: string;
  kind: string;
  maxNodes: number;
  queuedNodes: number;
  runningNodes: number;
  workers: number;
  stateReason: string;
  nodeSeconds: number;
  cost: number;
  allocations: Allocation[];
}
export interface Caller {
  role: 'ROLE_UNSPECIFIED' | 'VIEWER' | 'SUBMITTER' | 'WORKER' | 'ADMIN';
  tokenId: string;
  name: string;
  tokensRequired: boolean;
  serverVersion: string;
  projects: string[];     // that they are a member of
  ledProjects: string[];  // of these, those that they lead
  readOnly: boolean;      // the server shows a file, and changes nothing
}
// The most that running trials, or what is stored, may take; 0: no limit.
export interface Quota {
  maxSlots: number;
  maxGpus: number;
  maxNodeHours: number;  // in a calendar month (UTC)
  maxRunningJobs: number;
  maxStorageGib: number;
}
export interface ProjectUse {
  slots: number;
  gpus: number;
  nodeHours: number;
  runningJobs: number;
  storageGib: number;
}
export interface Member {
  person: string;
  leads: boolean;
  quota?: Quota;
  use?: ProjectUse;
}
export interface Project {
  name: string;
  members: Member[];
  jobs: number;
  quota?: Quota;
  use?: ProjectUse;
  weight: number;
  jobClass: number;
  share: number;     // its part, 0 to 1, of what all have used lately
  dueShare: number;  // the part that its weight says
}

export interface TuningPlan {
  brackets: {index: number; s: number; rungs: {trials: number; resource: number}[]}[];
  trials: number;
  resource: number;
  resourceWithoutResume: number;
  fullResource: number;
  evaluations: number;
  note: string;
  strategyText: string;
  elapsedSeconds: number;
  busyFraction: number;
}

// insight.proto
export interface Progress {
  jobId: string;
  elapsedSeconds: number[];
  resource: number[];
  best: number[];
  trial: number[];
}
export interface SieveCell {
  bracket: number;
  rung: number;
  resource: number;
  counts: TrialCounts;
  passed: number;
  cutoff: number;
  trial: number[];
  best: number[];
  state: TrialState[];
  atResource: number[];
  why: string[];
}
export interface Sieve {
  cells: SieveCell[];
  lastSequence: number;
  trials: number;
}
export interface Envelope {
  resource: number[];
  count: number[];
  min: number[];
  lower: number[];
  median: number[];
  upper: number[];
  max: number[];
}
export interface Curve {
  trial: number;
  state: TrialState;
  resource: number[];
  value: number[];
}
export interface LearningCurves {
  metric: string;
  metrics: string[];
  envelope?: Envelope;
  curves: Curve[];
  stoppedTrial: number[];
  stoppedResource: number[];
  stoppedValue: number[];
}
export interface Axis {
  name: string;
  kind: 'integer' | 'continuous' | 'categorical' | 'discrete' | 'objective';
  scaling: 'linear' | 'log' | 'reverse_log';
  min: number;
  max: number;
  values: string[];
  tickPosition: number[];
  tickText: string[];
}
export interface AxisDensity {
  from: number[];
  to: number[];
  count: number[];
  best: number[];
}
export interface ParallelCoordinates {
  axes: Axis[];
  trial: number[];
  position: number[];
  densities: AxisDensity[];
  trials: number;
}
export interface Importance {
  parameters: {parameter: string; importance: number; deviation: number}[];
  pairs: {first: string; second: string; importance: number; deviation: number}[];
  trials: number;
  note: string;
  resource: number;  // the level of comparison; -1: each trial by its own value
  levels: number[];
  levelTrials: number[];
}
export interface Slice {
  axis: Axis;
  objective: Axis;
  xBin: number[];
  yBin: number[];
  count: number[];
  trial: number[];
  x: number[];
  y: number[];
  resource: number[];
  marginalX: number[];
  marginalMean: number[];
  marginalDeviation: number[];
  bins: number;
  resourceLevel: number;
}
export interface Contour {
  xAxis: Axis;
  yAxis: Axis;
  objective: Axis;
  xPlace: number[];
  yPlace: number[];
  mean: number[];       // yPlace rows of xPlace
  deviation: number[];
  trial: number[];
  x: number[];
  y: number[];
  value: number[];
  resourceLevel: number;
  note: string;
}
export interface ScatterColumn {
  field: string;
  scaling: 'linear' | 'log' | 'reverse_log';
  values: string[];     // `value` is an index into them, if there are any
  value: number[];
}
export interface Scatter {
  fields: string[];
  x: ScatterColumn;
  y: ScatterColumn;
  color: ScatterColumn;
  trial: number[];
  state: TrialState[];
  trials: number;
}
export interface ObjectivePoints {
  xMetric: string;
  yMetric: string;
  trial: number[];
  xValue: number[];
  yValue: number[];
  state: TrialState[];
  violation: number[];
  front: boolean[];
  trials: number;
}
export interface FrontTrial {
  trial: Trial;
  values: number[]; // of the objectives, in the order of the spec
  ownHypervolume: number;
}
export interface HypervolumeStep {
  trial: number;
  time: string;
  resource: number;
  hypervolume: number;
}
export interface ParetoFront {
  objectives: {metric: string; goal: Goal; reference?: number}[];
  trials: FrontTrial[];
  totalSize: number;
  hypervolume: number;
  history: HypervolumeStep[];
  infeasibleTrials: number;
}
export interface QueryTrialsResponse {
  trials: Trial[];
  total: number;
}
export interface Neighbours {
  trial: Trial;
  best?: Trial;
  neighbours: Trial[];
  distance: number[];
  rank: number;
  ranked: number;
}
export interface ComparisonRow {
  name: string;
  trials: number;
  best?: number;
  elapsedSeconds: number;
  nodeSeconds: number;
  pareto: boolean;
  hypervolume?: number; // with several objectives, in place of best
}
export interface Comparison {
  by: string;
  objective: {metric: string; goal: Goal};
  objectives?: {metric: string; goal: Goal}[];
  rows: ComparisonRow[];
}

// usage.proto
export interface WorkerUsage {
  worker: string;
  host: string;
  cpu: number[];
  memory: number[];
  slotsUsed: number[];
  slots: number;
}
export interface GetWorkerUsageResponse {
  startTime: string;
  stepSeconds: number;
  workers: WorkerUsage[];
}
export interface RankUsage {
  rank: number;
  worker: string;
  host: string;
  elapsedSeconds: number[];
  cpus: number[];
  memoryGib: number[];
}
export interface GetTrialUsageResponse {
  attempt: number;
  ranks: RankUsage[];
}
