import type {ParameterSpec, ScatterColumn} from '../../api/types';
import {count, duration, number} from '../../format';

// Columns of the scatter, in words. Pure.

const kNames: Record<string, string> = {
  '#resource': 'level (units)',
  '#trained': 'units trained',
  '#training_seconds': 'training seconds',
  '#nodes': 'nodes',
  '#number': 'trial number',
  '#state': 'state',
};
const kMetric = 'metric:';

// `objective`: the metric that ranks trials.
export function columnName(field: string, objective: string): string {
  if (field === '#objective') return `${objective} (objective)`;
  if (field.startsWith(kMetric)) return `${field.slice(kMetric.length)} (newest)`;
  return kNames[field] ?? field;
}

export function columnText(column: ScatterColumn, index: number): string {
  const value = column.value[index];
  if (column.values.length) return column.values[value] ?? '–';
  if (column.field === '#training_seconds') return duration(value);
  return Number.isInteger(value) ? count(value) : number(value);
}

// What is drawn against at first: a hyperparameter of more than one value; '' if there is none.
export function firstThatVaries(parameters: readonly ParameterSpec[]): string {
  const varies = ({integer, continuous, categorical, discrete}: ParameterSpec) => {
    const range = integer ?? continuous;
    return range ? range.min < range.max : ((categorical ?? discrete)?.values.length ?? 0) > 1;
  };
  return parameters.find(varies)?.name ?? '';
}

// The golden ratio's fraction: multiples of it lie evenly between whole numbers.
const kSpread = 0.6180339887;
const kRoom = 0.55;

// Categories stand beside each other where they are equal.
export function placesOf(column: ScatterColumn, trial: readonly number[]): number[] {
  if (!column.values.length) return column.value;
  return column.value.map((value, i) => value + kRoom * (((trial[i] * kSpread) % 1) - 0.5));
}
