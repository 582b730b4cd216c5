import type {Axis, HyperparameterValue, ParameterSpec} from '../../api/types';
import {positionOf} from '../../charts/axis';

// Where a value lies within its range; NaN: nowhere.
export function placeIn(parameter: ParameterSpec, value: HyperparameterValue | undefined): number {
  if (!value) return Number.NaN;
  const values = parameter.categorical?.values ?? parameter.discrete?.values.map(String);
  if (values) {
    const index = values.indexOf(value.categorical ?? String(value.continuous ?? value.integer));
    return index < 0 ? Number.NaN : (index + 0.5) / values.length;
  }
  const range = parameter.integer ?? parameter.continuous;
  if (!range) return Number.NaN;
  const axis: Axis = {
    name: parameter.name,
    kind: parameter.integer ? 'integer' : 'continuous',
    scaling: (range.scaling ?? 'LINEAR').toLowerCase() as Axis['scaling'],
    min: range.min,
    max: range.max,
    values: [],
    tickPosition: [],
    tickText: [],
  };
  return positionOf(axis, value.integer ?? value.continuous ?? Number.NaN);
}

// Where the value of its prior lies; NaN: it has none.
export function placeOfPrior(parameter: ParameterSpec): number {
  if (!parameter.prior) return Number.NaN;
  const {value} = parameter.prior;
  const {name} = parameter;
  return placeIn(parameter, parameter.categorical ? {name, categorical: value} : {name, continuous: Number(value)});
}
