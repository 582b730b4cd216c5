import type {Neighbours, ParameterSpec, Trial, TuningJobSpec} from '../../api/types';
import {paths} from '../../app/router';
import {StateBadge} from '../../design';
import {count, hyperparameter, number, percent} from '../../format';
import {bestName, figuresOf} from '../objectives';
import {placeIn, placeOfPrior} from './places_in_range';

interface Place {
  kind: 'this' | 'best' | 'other' | 'prior';
  at: number;  // 0 … 1
}

function priorText(parameter: ParameterSpec): string {
  const {value, confidence} = parameter.prior!;
  const known = confidence && confidence !== 'CONFIDENCE_UNSPECIFIED' ? confidence : 'MEDIUM';
  return `prior: ${value}, ${known.toLowerCase()} confidence`;
}

const hyperparameterOf = (trial: Trial, name: string) => trial.hyperparameters.find((each) => each.name === name);

// The trial beside the best one and those most like it: what is different stands out.
export function Configuration({answer, spec}: {answer: Neighbours; spec: TuningJobSpec}) {
  const {trial, best, neighbours, distance} = answer;
  const isBest = best !== undefined && best.number === trial.number;
  const others = neighbours.filter((each) => each.number !== best?.number);
  const distanceOf = (each: Trial) => distance[neighbours.indexOf(each)];
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label="Configuration compared with others">
      <table class="table configuration">
        <thead>
          <tr>
            <th scope="col">Hyperparameter</th>
            <th scope="col" class="configuration-range">
              Within its range
            </th>
            <th scope="col" class="num">
              {isBest ? `This trial, the ${bestName(spec)}` : 'This trial'}
            </th>
            {best && !isBest && (
              <th scope="col" class="num">
                {bestName(spec).replace('b', 'B')}: <a href={paths.trial(trial.jobId, best.number)}>trial {count(best.number)}</a>
              </th>
            )}
            {others.map((other) => (
              <th scope="col" class="num" key={other.number}>
                <a href={paths.trial(trial.jobId, other.number)}>trial {count(other.number)}</a>
                <span class="configuration-near">{percent(distanceOf(other), 1)} away</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {spec.parameters.map((parameter) => {
            const own = hyperparameter(hyperparameterOf(trial, parameter.name));
            const places: Place[] = [
              {kind: 'prior', at: placeOfPrior(parameter)},
              ...others.map((other): Place => ({kind: 'other', at: placeIn(parameter, hyperparameterOf(other, parameter.name))})),
              ...(best && !isBest ? [{kind: 'best', at: placeIn(parameter, hyperparameterOf(best, parameter.name))} as Place] : []),
              {kind: 'this', at: placeIn(parameter, hyperparameterOf(trial, parameter.name))},
            ];
            const cell = (other: Trial) => {
              const text = hyperparameter(hyperparameterOf(other, parameter.name));
              return (
                <td key={other.number} class={`num${text === own ? ' quiet' : ''}`}>
                  {text}
                </td>
              );
            };
            return (
              <tr key={parameter.name}>
                <th scope="row">
                  <code>{parameter.name}</code>
                </th>
                <td>
                  <Strip places={places} />
                  {parameter.prior && <span class="configuration-near quiet">{priorText(parameter)}</span>}
                </td>
                <td class="num configuration-own">{own}</td>
                {best && !isBest && cell(best)}
                {others.map(cell)}
              </tr>
            );
          })}
        </tbody>
        <tfoot>
          {figuresOf(spec, 'best ').map(({name, of}) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td />
              <td class="num configuration-own">{number(of(trial))}</td>
              {best && !isBest && <td class="num best-ink">{number(of(best))}</td>}
              {others.map((other) => (
                <td class="num" key={other.number}>
                  {number(of(other))}
                </td>
              ))}
            </tr>
          ))}
          <tr>
            <th scope="row">state</th>
            <td />
            <td class="num">
              <StateBadge state={trial.state} />
            </td>
            {best && !isBest && (
              <td class="num">
                <StateBadge state={best.state} />
              </td>
            )}
            {others.map((other) => (
              <td class="num" key={other.number}>
                <StateBadge state={other.state} />
              </td>
            ))}
          </tr>
        </tfoot>
      </table>
    </div>
  );
}

function Strip({places}: {places: Place[]}) {
  return (
    <span class="strip" aria-hidden="true">
      {places.map((place, i) => Number.isFinite(place.at) && <i key={i} class={place.kind} style={{left: `${place.at * 100}%`}} />)}
    </span>
  );
}
