// Jobs for the page to show.
import {writeFileSync} from 'node:fs';
import path from 'node:path';

// Numbers from 0 to 1, the same in every run (mulberry32).
function draws(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

// A CSV whose label "y" depends on its numbers and on noise; its path.
export function writeTable(folder, {rows = 2000, columns = 12, seed = 1} = {}) {
  const draw = draws(seed);
  const normal = () => Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
  const lines = ['y,' + Array.from({length: columns}, (_, c) => `x${c}`).join(',')];
  for (let row = 0; row < rows; ++row) {
    const x = Array.from({length: columns}, normal);
    const score = x[0] * x[1] + 0.5 * x[3] - (x[4] > 0.5 ? 1 : 0) + Math.abs(x[2]) - 0.8 + normal();
    lines.push(`${score > 0 ? 1 : 0},${x.map((v) => v.toFixed(4)).join(',')}`);
  }
  const file = path.join(folder, 'table.csv');
  writeFileSync(file, lines.join('\n') + '\n');
  return file;
}

// Boosted trees on such a table.
export function boosting(table, name, more = {}) {
  return {
    name,
    trainer: {builtin: 'gbdt'},
    workingDirectory: path.dirname(table),
    channels: {train: {path: table, label: 'y', validationFraction: 0.3}},
    staticHyperparameters: {objective: 'binary:logistic', eval_metric: 'auc'},
    parameters: [
      {name: 'num_round', integer: {min: 81, max: 81}},
      {name: 'eta', continuous: {min: 0.01, max: 1, scaling: 'LOG'}},
      {name: 'max_depth', integer: {min: 1, max: 8}},
      {name: 'alpha', continuous: {min: 0, max: 2}},
      {name: 'min_child_weight', continuous: {min: 1, max: 10}},
      {name: 'colsample_bytree', continuous: {min: 0.3, max: 1}},
    ],
    objective: {metric: 'validation:auc', goal: 'MAXIMIZE'},
    strategy: 'HYPERBAND',
    hyperband: {minResource: 1, maxResource: 81, reductionFactor: 3},
    seed: 7,
    ...more,
  };
}

// Descends for as long as it is let, a step each `pause` seconds.
export function descending(name, {pause = 0.05, steps = 1000, ...more} = {}) {
  const script = `i=0; while [ $i -lt ${steps} ]; do i=$((i+1)); echo "step $i loss=$(awk "BEGIN {print 1 / ($i * {{rate}}) + 0.1}")"; ` +
    `[ $((i % 10)) -eq 0 ] && echo "a warning at step $i" >&2; sleep ${pause}; done`;
  return {
    name,
    trainer: {
      command: ['sh', '-c', script],
      metrics: [{name: 'loss', regex: 'loss=([-+0-9.e]+)'}],
      resourceRegex: 'step ([0-9]+)',
      resumes: false,
      gracePeriod: '1s',
    },
    parameters: [{name: 'rate', continuous: {min: 0.01, max: 1, scaling: 'LOG'}}],
    objective: {metric: 'loss', goal: 'MINIMIZE'},
    strategy: 'RANDOM',
    limits: {maxTrials: 8, maxTrialResource: steps},
    seed: 3,
    ...more,
  };
}
