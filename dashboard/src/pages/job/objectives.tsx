import {useMemo} from 'preact/hooks';
import {jobPath} from '../../api/calls';
import {type Answer, useGet} from '../../api/query';
import type {ObjectivePoints, ParetoFront, TuningJob} from '../../api/types';
import {go, param, paths, setParams} from '../../app/router';
import {type Layer, Plot, type PlotAxis} from '../../charts/plot';
import {extent} from '../../charts/scale';
import {tableOf} from '../../data_table';
import {Card, EmptyState, ErrorState, Legend, PlainTable, Skeleton} from '../../design';
import {count, counted, number, shortCount} from '../../format';
import {attainment, objectivesOf} from '../objectives';
import {Download} from '../download';
import {askedFilters} from './filters';
import {asOf} from './live';
import {frontTable, objectivesTable} from './tables';

const kHeight = 420;
const kHistoryHeight = 210;
const kFrontHeight = 190;
const kPoints = 1500;
// Values that differ by more than this are laid on a logarithmic axis.
const kLogRatio = 50;

interface Props {
  job: TuningJob;
  version: number;
}

// Any two objectives against each other; the axes stand in the address ("x", "y").
export function ObjectivesCard({job, version, filters}: Props & {filters: readonly string[]}) {
  const objectives = objectivesOf(job);
  const named = (text: string | null, otherwise: number) => objectives.find((each) => each.metric === text) ?? objectives[otherwise];
  const y = named(param('y'), 0);
  const x = named(param('x'), objectives.findIndex((each) => each !== y));
  const answer = useGet<ObjectivePoints>(`${jobPath(job.id)}/objectives`, {filters: askedFilters(filters), xMetric: x.metric, yMetric: y.metric, maxPoints: kPoints}, asOf(job, version, filters, 2));
  const points = answer.data;
  const picture = useMemo(() => (points && points.trial.length ? pictureOf(points, x, y) : null), [points, x, y]);
  const choose = (axis: 'x' | 'y', metric: string) => {
    const other = axis === 'x' ? y.metric : x.metric;
    // The two change places rather than being one.
    if (metric === other) setParams({x: y.metric, y: x.metric}, {replace: true});
    else setParams({[axis]: metric}, {replace: true});
  };

  let content;
  if (answer.error && !points) content = <ErrorState error={answer.error} retry={answer.reload} height={kHeight} />;
  else if (!points) content = <Skeleton height={kHeight} />;
  else if (!picture) {
    content = (
      <EmptyState title={filters.length ? 'No trial with both values matches the filters' : 'No values yet'} height={kHeight}>
        Shows every trial once it has reported {x.metric} and {y.metric}.
      </EmptyState>
    );
  } else {
    const {layers, of} = picture;
    content = (
      <Plot
        label={`${y.metric} against ${x.metric}: ${counted(points.front.filter(Boolean).length, 'trial')} on the Pareto front`}
        height={kHeight}
        x={picture.x}
        y={picture.y}
        layers={layers}
        tip={({layer, index}) => {
          const at = of(layer, index);
          if (at === undefined) return null;
          return (
            <>
              <strong>Trial {count(points.trial[at])}</strong>, {points.state[at].toLowerCase()}
              {points.front[at] && ', on the front'}
              <div>
                {x.metric} {number(points.xValue[at])}
              </div>
              <div>
                {y.metric} {number(points.yValue[at])}
              </div>
              {points.violation[at] > 0 && <div class="failed-ink">violates the constraints by {number(points.violation[at], 3)}</div>}
            </>
          );
        }}
        onPick={({layer, index}) => {
          const at = of(layer, index);
          if (at !== undefined) go(paths.trial(job.id, points.trial[at]));
        }}
      />
    );
  }
  const hidden = points ? points.trials - points.trial.length : 0;
  return (
    <Card
      id="objectives"
      title="Objectives"
      hint={points ? `${counted(points.trials, 'trial')}${hidden > 0 ? `, ${count(points.trial.length)} of them drawn` : ''}` : undefined}
      updating={answer.loading && points !== undefined && filters.length > 0}
      actions={
        <div class="row">
          {(['y', 'x'] as const).map((axis) => (
            <select
              key={axis}
              class="input small"
              aria-label={axis === 'x' ? 'Horizontal axis' : 'Vertical axis'}
              value={(axis === 'x' ? x : y).metric}
              onChange={(event) => choose(axis, event.currentTarget.value)}
            >
              {objectives.map(({metric}) => (
                <option key={metric} value={metric}>
                  {axis === 'x' ? 'against ' : ''}
                  {metric}
                </option>
              ))}
            </select>
          ))}
          {points && points.trial.length > 0 && <Download name={`${job.id} objectives`} table={() => objectivesTable(points)} />}
        </div>
      }
    >
      <div style={{minHeight: `${kHeight}px`}}>{content}</div>
      <Legend
        items={[
          {color: 'var(--best)', label: 'on the Pareto front'},
          {color: 'var(--accent)', label: 'other trials'},
          ...(job.spec.metricConstraints?.length ? [{color: 'var(--failed)', label: 'violates a constraint', shape: 'cross' as const}] : []),
          ...(x.threshold !== undefined || y.threshold !== undefined ? [{color: 'var(--ink-3)', label: 'threshold', shape: 'dashed' as const}] : []),
        ]}
      />
    </Card>
  );
}

type Objective = ReturnType<typeof objectivesOf>[number];

function axisOf(objective: Objective, values: readonly number[]): PlotAxis {
  const all = objective.threshold === undefined ? values : [...values, objective.threshold];
  const [low, high] = extent(all) ?? [0, 1];
  const label = `${objective.metric}, ${objective.goal === 'MINIMIZE' ? 'lower' : 'higher'} is better`;
  if (low > 0 && high / low > kLogRatio) return {label, min: low / 1.2, max: high * 1.2, log: true};
  const pad = (high - low) * 0.06 || Math.abs(high) * 0.05 || 1;
  return {label, min: low - pad, max: high + pad};
}

function pictureOf(points: ObjectivePoints, xObjective: Objective, yObjective: Objective) {
  const x = axisOf(xObjective, points.xValue);
  const y = axisOf(yObjective, points.yValue);
  const all = points.trial.map((_, i) => i);
  const groups = [
    all.filter((i) => !points.front[i] && !(points.violation[i] > 0)),
    all.filter((i) => !points.front[i] && points.violation[i] > 0),
    all.filter((i) => points.front[i]),
  ];
  const xs = (rows: number[]) => rows.map((i) => points.xValue[i]);
  const ys = (rows: number[]) => rows.map((i) => points.yValue[i]);
  const stair = attainment(xs(groups[2]), ys(groups[2]), xObjective.goal === 'MINIMIZE', yObjective.goal === 'MINIMIZE');
  const thresholds: Layer[] = [];
  const rule = (fromX: number, fromY: number, toX: number, toY: number): Layer => ({kind: 'line', x: [fromX, toX], y: [fromY, toY], color: '--ink-3', width: 1.25, dash: [3, 4], quiet: true});
  if (xObjective.threshold !== undefined) thresholds.push(rule(xObjective.threshold, y.min, xObjective.threshold, y.max));
  if (yObjective.threshold !== undefined) thresholds.push(rule(x.min, yObjective.threshold, x.max, yObjective.threshold));
  const layers: Layer[] = [
    ...thresholds,
    {kind: 'points', x: xs(groups[0]), y: ys(groups[0]), color: '--accent', alpha: 0.6, size: all.length > 400 ? 2.4 : 3.4},
    {kind: 'points', x: xs(groups[1]), y: ys(groups[1]), color: '--failed', alpha: 0.8, shape: 'cross', size: 3},
    {kind: 'line', x: stair.x, y: stair.y, color: '--best', width: 1.75, quiet: true},
    {kind: 'points', x: xs(groups[2]), y: ys(groups[2]), color: '--best', size: 5.5},
  ];
  const first = thresholds.length;
  const rowsOf = new Map([
    [first, groups[0]],
    [first + 1, groups[1]],
    [first + 3, groups[2]],
  ]);
  return {x, y, layers, of: (layer: number, index: number): number | undefined => rowsOf.get(layer)?.[index]};
}

// The hypervolume's history, and the front as a table.
export function FrontCards({job, version}: Props) {
  const answer = useGet<ParetoFront>(`${jobPath(job.id)}/pareto-front`, {}, asOf(job, version, [], 2));
  return (
    <>
      <HypervolumeCard job={job} answer={answer} />
      <FrontCard job={job} answer={answer} />
    </>
  );
}

interface FrontProps {
  job: TuningJob;
  answer: Answer<ParetoFront>;
}

function HypervolumeCard({job, answer}: FrontProps) {
  const history = answer.data?.history;
  let content;
  if (answer.error && !history) content = <ErrorState error={answer.error} retry={answer.reload} height={kHistoryHeight} />;
  else if (!history) content = <Skeleton height={kHistoryHeight} />;
  else if (history.length === 0) {
    content = (
      <EmptyState title="No hypervolume yet" height={kHistoryHeight}>
        Grows once trials have ended that are better than the reference point in every objective.
      </EmptyState>
    );
  } else {
    const xs = history.map((step) => step.resource);
    const ys = history.map((step) => step.hypervolume);
    const last = Math.max(job.spend.resource, xs[xs.length - 1]);
    content = (
      <Plot
        label={`Hypervolume of the Pareto front against units trained: now ${number(answer.data!.hypervolume)}`}
        height={kHistoryHeight}
        x={{label: 'units trained by trials that had ended', min: 0, max: last * 1.02 || 1, format: shortCount}}
        y={{label: 'hypervolume', min: 0, max: ys[ys.length - 1] * 1.08 || 1, format: (value) => number(value, 3)}}
        layers={[
          {kind: 'line', x: [...xs, last], y: [...ys, ys[ys.length - 1]], color: '--accent', width: 2, step: true, quiet: true},
          {kind: 'points', x: xs, y: ys, color: '--accent', size: 2.75},
        ]}
        tip={({index}) => (
          <>
            <strong>{number(ys[index])}</strong> with trial {count(history[index].trial)}
            <div class="muted">after {counted(xs[index], 'unit')}</div>
          </>
        )}
        onPick={({index}) => go(paths.trial(job.id, history[index].trial))}
      />
    );
  }
  return (
    <Card
      id="hypervolume"
      title="Hypervolume"
      hint={history?.length ? number(answer.data!.hypervolume) : undefined}
      actions={
        history &&
        history.length > 0 && (
          <Download name={`${job.id} hypervolume`} table={() => tableOf({trial: history.map((step) => step.trial), resource: history.map((step) => step.resource), time: history.map((step) => step.time), hypervolume: history.map((step) => step.hypervolume)})} />
        )
      }
    >
      {content}
    </Card>
  );
}

// The trials of the front, the best of the first objective first.
function FrontCard({job, answer}: FrontProps) {
  const front = answer.data;
  let content;
  if (answer.error && !front) content = <ErrorState error={answer.error} retry={answer.reload} height={kFrontHeight} />;
  else if (!front) content = <Skeleton height={kFrontHeight} />;
  else if (front.trials.length === 0) {
    content = (
      <EmptyState title="No trial is on the front yet" height={kFrontHeight}>
        {front.infeasibleTrials > 0 ? `${counted(front.infeasibleTrials, 'trial')} violated the constraints.` : 'Trials appear once they have reported all objectives.'}
      </EmptyState>
    );
  } else {
    content = (
      <PlainTable label="Pareto front" class="front-table" headings={['trial', ...front.objectives.map(({metric}) => ({num: metric}))]}>
        {front.trials.map(({trial, values}) => (
          <tr key={trial.number}>
            <td>
              <a href={paths.trial(job.id, trial.number)}>{count(trial.number)}</a>
            </td>
            {values.map((value, i) => (
              <td key={i} class="num">
                {number(value, 5)}
              </td>
            ))}
          </tr>
        ))}
      </PlainTable>
    );
  }
  return (
    <Card
      id="front"
      title="Pareto front"
      hint={front ? `${counted(front.totalSize, 'trial')}${front.infeasibleTrials > 0 ? `; ${count(front.infeasibleTrials)} infeasible` : ''}` : undefined}
      actions={front && front.trials.length > 0 && <Download name={`${job.id} front`} table={() => frontTable(front)} />}
    >
      <div style={{minHeight: `${kFrontHeight}px`}}>{content}</div>
    </Card>
  );
}
