import {useMemo} from 'preact/hooks';
import {useGet} from '../../api/query';
import type {Progress, TuningJob} from '../../api/types';
import {go, param, paths, setParams} from '../../app/router';
import {Plot, type Layer} from '../../charts/plot';
import {extent} from '../../charts/scale';
import {tableOf} from '../../data_table';
import {Card, EmptyState, ErrorState, Segmented, Skeleton} from '../../design';
import {count, counted, duration, number, shortCount} from '../../format';
import {isLive, noBestText, objectiveName} from '../job_words';
import {Download} from '../download';
import {asOf} from './live';

const kHeight = 250;

export function HistoryCard({job, version}: {job: TuningJob; version: number}) {
  const by = param('history') === 'time' ? 'time' : 'resource';
  const answer = useGet<{jobs: Progress[]}>('/v1/progress', {jobIds: [job.id], maxPoints: 300}, asOf(job, version, []));
  const progress = answer.data?.jobs[0];
  const metric = objectiveName(job.spec.objective);
  const picture = useMemo(() => (progress && progress.best.length ? plotOf(progress, by) : null), [progress, by]);

  let content;
  if (answer.error && !answer.data) content = <ErrorState error={answer.error} retry={answer.reload} height={kHeight} />;
  else if (!progress) content = <Skeleton height={kHeight} />;
  else if (!picture) {
    content = (
      <EmptyState title={isLive(job) ? 'No value yet' : 'No value'} height={kHeight}>
        {isLive(job) ? `Shows the best value so far once a trial reports ${metric}.` : `There is none: ${noBestText(job)}.`}
      </EmptyState>
    );
  } else {
    const {x, y, layers} = picture;
    content = (
      <Plot
        label={`Best ${metric} so far against ${by === 'time' ? 'time' : 'resource'}: now ${number(job.best?.objective)}`}
        height={kHeight}
        x={{...x, label: by === 'time' ? 'time since the start' : 'units trained by the job', format: by === 'time' ? duration : shortCount}}
        y={{...y, label: `best ${metric} so far`}}
        layers={layers}
        tip={({index}) => (
          <>
            <strong>{number(progress.best[index])}</strong> by trial {count(progress.trial[index])}
            <div class="muted">
              after {duration(progress.elapsedSeconds[index])}, {counted(progress.resource[index], 'unit')}
            </div>
          </>
        )}
        onPick={({index}) => go(paths.trial(job.id, progress.trial[index]))}
      />
    );
  }
  return (
    <Card
      id="history"
      title="Best so far"
      actions={
        <div class="row">
          <Segmented
            label="Horizontal axis"
            value={by}
            options={[
              {value: 'resource', label: 'Resource'},
              {value: 'time', label: 'Time'},
            ]}
            onChange={(value) => setParams({history: value === 'time' ? 'time' : null}, {replace: true})}
          />
          {picture && progress && (
            <Download name={`${job.id} best`} table={() => tableOf({elapsed_seconds: progress.elapsedSeconds, resource: progress.resource, best: progress.best, trial: progress.trial})} />
          )}
        </div>
      }
    >
      {content}
    </Card>
  );
}

// Where most steps to the best lie in so small a part of the axis, it is logarithmic.
const kEarlyPart = 0.03;
// The best value a search found may be far from its first ones: a stair over many decades is drawn on a logarithmic axis.
const kManyTimes = 100;

function plotOf(progress: Progress, by: 'time' | 'resource') {
  const xs = by === 'time' ? progress.elapsedSeconds : progress.resource;
  const [xMin, xMax] = extent(xs) ?? [0, 1];
  const [low, high] = extent(progress.best) ?? [0, 1];
  const log = low > 0 && high / low > kManyTimes;
  const pad = (high - low) * 0.06 || Math.abs(high) * 0.01 || 1;
  const last = progress.best.length - 1;
  const first = xs.find((x) => x > 0) ?? 0;
  const logX = xs.length > 8 && first > 0 && xs[Math.floor(xs.length * 0.6)] < xMax * kEarlyPart;
  const layers: Layer[] = [
    {kind: 'band', x: stairX(xs), low: stairX(xs).map(() => (log ? low / 1.3 : low - pad)), high: stairY(progress.best), color: '--accent-soft', alpha: 0.55},
    {kind: 'line', x: xs, y: progress.best, color: '--accent', width: 2, step: true, quiet: true},
    {kind: 'points', x: xs.slice(0, -1), y: progress.best.slice(0, -1), color: '--accent', size: 2.75},
    {kind: 'points', x: [xs[last]], y: [progress.best[last]], color: '--best', size: 5, quiet: true},
  ];
  return {
    x: logX ? {min: Math.max(first, xMax * 1e-6), max: xMax * 1.2, log: true} : {min: Math.min(0, xMin), max: xMax > 0 ? xMax * 1.02 : 1},
    y: log ? {min: low / 1.3, max: high * 1.3, log} : {min: low - pad, max: high + pad},
    layers,
  };
}
// Corners of the stair.
function stairX(x: number[]): number[] {
  return x.flatMap((value, i) => (i === 0 ? [value] : [value, value]));
}
function stairY(y: number[]): number[] {
  return y.flatMap((value, i) => (i === 0 ? [value] : [y[i - 1], value]));
}
