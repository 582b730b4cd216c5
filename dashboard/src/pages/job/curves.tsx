import {useMemo} from 'preact/hooks';
import {jobPath} from '../../api/calls';
import {useGet} from '../../api/query';
import type {LearningCurves, TuningJob} from '../../api/types';
import {go, param, paths, setParams} from '../../app/router';
import {useNear} from '../../charts/canvas';
import {goodness} from '../../charts/color';
import {Plot, type Layer} from '../../charts/plot';
import {extent, quantile} from '../../charts/scale';
import {Badge, Button, Card, EmptyState, ErrorState, Legend, Segmented, Skeleton, StateBadge} from '../../design';
import {count, counted, number, shortCount} from '../../format';
import {askedFilters} from './filters';
import {Download} from '../download';
import {asOf} from './live';
import {curvesTable} from './tables';

// As high as the importance beside it, by how many hyperparameters there are.
const kLeastHeight = 340;
const kMostHeight = 560;
const heightFor = (parameters: number) => Math.max(kLeastHeight, Math.min(kMostHeight, parameters * 30 + (parameters > 1 ? 190 : 0)));
const kCurves = 24;
// A logarithmic axis of levels tells more than a linear one from here on.
const kManyLevels = 40;

export function CurvesCard({job, version, filters}: {job: TuningJob; version: number; filters: readonly string[]}) {
  const [place, near] = useNear<HTMLDivElement>();
  const metric = param('metric') ?? '';
  const height = heightFor(job.spec.parameters.length);
  const answer = useGet<LearningCurves>(near ? `${jobPath(job.id)}/curves` : null, {filters: askedFilters(filters), metric, maxCurves: kCurves, maxPoints: 160}, {...asOf(job, version, filters), debounce: 120});
  const curves = answer.data;
  const levels = curves?.envelope?.resource;
  const mostLevel = levels?.length ? levels[levels.length - 1] : 0;
  const leastLevel = levels?.length ? Math.max(1, levels[0]) : 1;
  const logX = (param('curvex') ?? (mostLevel / leastLevel >= kManyLevels ? 'log' : 'linear')) === 'log';
  const logY = param('curvey') === 'log';
  const minimize = job.spec.objective.goal === 'MINIMIZE' && (!curves || curves.metric === job.spec.objective.metric);
  const picture = useMemo(
    () => (curves && levels?.length ? plotOf(curves, job.best?.trial ?? 0, logX, logY, minimize) : null),
    [curves, job.best?.trial, logX, logY, minimize],
  );
  const positive = picture !== null && picture.lowest > 0;

  let content;
  if (answer.error && !curves) content = <ErrorState error={answer.error} retry={answer.reload} height={height} />;
  else if (!curves) content = <Skeleton height={height} />;
  else if (!picture) {
    content = (
      <EmptyState title="No reports yet" height={height} actions={filters.length > 0 && <Button onClick={() => setParams({f: null})}>Clear filters</Button>}>
        {filters.length ? 'No trial that matches the filters has reported this metric.' : 'Curves appear with the first report of a trial.'}
      </EmptyState>
    );
  } else {
    content = (
      <Plot
        label={`Learning curves of ${curves.metric}: quartiles of all trials, the ${curves.curves.length} best, and where trials were pruned`}
        height={height}
        x={{label: 'level (units)', min: picture.x[0], max: picture.x[1], log: logX, format: shortCount}}
        y={{label: curves.metric, min: picture.y[0], max: picture.y[1], log: logY && positive}}
        layers={picture.layers}
        tip={({layer, index}) => {
          const at = picture.layers[layer];
          const curve = curves.curves[layer - picture.firstCurve];
          if (curve) {
            return (
              <>
                <div class="row">
                  <strong>Trial {count(curve.trial)}</strong> <StateBadge state={curve.state} />
                  {curve.trial === job.best?.trial && <Badge tone="best">best</Badge>}
                </div>
                {curves.metric} <strong>{number(curve.value[index])}</strong> at {counted(curve.resource[index], 'unit')}
              </>
            );
          }
          if (at.kind !== 'points') return null;
          return (
            <>
              <strong>Trial {count(curves.stoppedTrial[index])}</strong> was pruned at {counted(curves.stoppedResource[index], 'unit')}
              <div class="muted">with {number(curves.stoppedValue[index])}</div>
            </>
          );
        }}
        onPick={({layer, index}) => {
          const curve = curves.curves[layer - picture.firstCurve];
          go(paths.trial(job.id, curve ? curve.trial : curves.stoppedTrial[index]));
        }}
      />
    );
  }
  return (
    <Card
      id="curves"
      class="span-7"
      title="Learning curves"
      updating={answer.loading && curves !== undefined && filters.length > 0}
      actions={
        <div class="row">
          {curves && curves.metrics.length > 1 && (
            <select class="input small" aria-label="Metric" value={curves.metric} onChange={(event) => setParams({metric: event.currentTarget.value === job.spec.objective.metric ? null : event.currentTarget.value}, {replace: true})}>
              {curves.metrics.map((name) => (
                <option value={name}>{name}</option>
              ))}
            </select>
          )}
          <Segmented label="Levels" value={logX ? 'log' : 'linear'} options={[{value: 'linear', label: 'x'}, {value: 'log', label: 'log x'}]} onChange={(value) => setParams({curvex: value}, {replace: true})} />
          {positive && (
            <Segmented label="Values" value={logY ? 'log' : 'linear'} options={[{value: 'linear', label: 'y'}, {value: 'log', label: 'log y'}]} onChange={(value) => setParams({curvey: value === 'log' ? 'log' : null}, {replace: true})} />
          )}
          {picture && curves && <Download name={`${job.id} curves`} table={() => curvesTable(curves)} />}
        </div>
      }
    >
      <div ref={place}>
        {content}
        <Legend
          items={[
            {label: 'the best trials', color: 'var(--accent)', shape: 'line'},
            {label: 'the best', color: 'var(--best)', shape: 'line'},
            {label: 'median of all', color: 'var(--ink-3)', shape: 'dashed'},
            {label: 'quartiles', color: 'var(--line-strong)', shape: 'band'},
            ...(curves?.stoppedTrial.length ? [{label: 'pruned here', color: 'var(--pruned)', shape: 'cross' as const}] : []),
          ]}
        />
      </div>
    </Card>
  );
}

function plotOf(curves: LearningCurves, best: number, logX: boolean, logY: boolean, minimize: boolean) {
  const envelope = curves.envelope!;
  const xs = extent([...envelope.resource, ...curves.curves.flatMap((curve) => curve.resource)])!;
  // Outliers stay outside: what the quartiles and the best curves take is shown whole, and some of the rest.
  const main = [...envelope.lower, ...envelope.upper, ...curves.curves.flatMap((curve) => curve.value)].filter(Number.isFinite).sort((a, b) => a - b);
  const all = extent([...envelope.min, ...envelope.max])!;
  const middle = quantile(main, 0.98) - quantile(main, 0.02);
  let low = Math.max(all[0], quantile(main, minimize ? 0 : 0.01) - middle * 0.15);
  let high = Math.min(all[1], quantile(main, minimize ? 0.99 : 1) + middle * 0.15);
  const pad = (high - low) * 0.04 || Math.abs(high) * 0.01 || 1;
  if (logY && low > 0) {
    low /= 1.1;
    high *= 1.1;
  } else {
    low -= pad;
    high += pad;
  }
  const n = curves.curves.length;
  const layers: Layer[] = [
    {kind: 'band', x: envelope.resource, low: envelope.min, high: envelope.max, color: '--line', alpha: 0.45},
    {kind: 'band', x: envelope.resource, low: envelope.lower, high: envelope.upper, color: '--line-strong', alpha: 0.5},
    {kind: 'line', x: envelope.resource, y: envelope.median, color: '--ink-3', width: 1.5, dash: [5, 4], quiet: true},
    {kind: 'points', x: curves.stoppedResource, y: curves.stoppedValue, color: '--pruned', shape: 'cross', size: 2.5, alpha: 0.75},
  ];
  const firstCurve = layers.length;
  curves.curves.forEach((curve, i) => {
    layers.push({
      kind: 'line',
      x: curve.resource,
      y: curve.value,
      color: curve.trial === best ? '--best' : goodness(0.75 - 0.5 * (i / Math.max(1, n))),
      width: curve.trial === best ? 2.5 : 1.4,
      alpha: curve.trial === best ? 1 : 0.85,
      dots: curve.resource.length === 1,
    });
  });
  return {
    x: [logX ? Math.max(xs[0], 0.5) : Math.min(xs[0], 0), xs[1]] as [number, number],
    y: [low, high] as [number, number],
    lowest: all[0],
    firstCurve,
    layers,
  };
}
