import {useState} from 'preact/hooks';
import {jobPath} from '../../api/calls';
import {useGet} from '../../api/query';
import type {LearningCurves, Neighbours} from '../../api/types';
import {go, param, paths, setParams} from '../../app/router';
import {type Layer, Plot} from '../../charts/plot';
import {extent} from '../../charts/scale';
import {Card, EmptyState, ErrorState, Legend, type LegendItem, Segmented, Skeleton} from '../../design';
import {count, number} from '../../format';
import {Download} from '../download';
import {curvesTable} from '../job/tables';

const kHeightPx = 300;
const kRoomPx = kHeightPx + 30;

interface Props {
  job: string;
  trial: number;
  near?: Neighbours;
  bestName: string;  // of the best trial: "best", or "best in loss"
  version: unknown;  // asked again when it changes
}

// The trial's metrics by level, among all trials, the best and its neighbours.
export function Curves({job, trial, near, bestName, version}: Props) {
  const [metrics, setMetrics] = useState<string[]>([]);
  const chosen = param('metric') ?? '';
  const best = near?.best?.number;
  const others = (near?.neighbours ?? []).map((each) => each.number).filter((each) => each !== best && each !== trial);
  const trials = [trial, ...(best && best !== trial ? [best] : []), ...others];
  const {data, error, loading, reload} = useGet<LearningCurves>(near ? `${jobPath(job)}/curves` : null, {metric: chosen, maxCurves: 1, trials}, {version});
  if (data && data.metrics.length && data.metrics.join() !== metrics.join()) setMetrics(data.metrics);

  let content;
  if (data) content = <Picture data={data} job={job} trial={trial} best={best} bestName={bestName} others={others} />;
  else content = error ? <ErrorState error={error} retry={reload} height={kRoomPx} /> : <Skeleton height={kRoomPx} />;
  return (
    <Card
      title="Learning curve"
      class="span-6"
      updating={loading && !data}
      actions={
        <div class="row">
          {metrics.length > 1 && (
            <Segmented
              label="Metric"
              value={chosen || data?.metric || metrics[0]}
              options={metrics.map((value) => ({value, label: value}))}
              onChange={(value) => setParams({metric: value}, {replace: true})}
            />
          )}
          {data?.curves.some((curve) => curve.resource.length > 0) && <Download name={`${job} trial ${trial} curve`} table={() => curvesTable(data)} />}
        </div>
      }
    >
      <div class="curves-room">{content}</div>
    </Card>
  );
}

function Picture({data, job, trial, best, bestName, others}: Omit<Props, 'near' | 'version'> & {data: LearningCurves; best?: number; others: number[]}) {
  const curveOf = (number_: number) => data.curves.find((curve) => curve.trial === number_);
  const own = curveOf(trial);
  if (!own?.resource.length && !data.envelope?.resource.length) {
    return (
      <EmptyState title="Nothing reported" height={kRoomPx}>
        The curve begins with the first value of {data.metric}.
      </EmptyState>
    );
  }
  const layers: Layer[] = [];
  const shown: (number | null)[] = [];  // trials of the layers
  const legend: LegendItem[] = [];
  const envelope = data.envelope;
  if (envelope?.resource.length) {
    layers.push({kind: 'band', x: envelope.resource, low: envelope.lower, high: envelope.upper, color: '--pruned', alpha: 0.16});
    shown.push(null);
    legend.push({label: 'middle 50 % of all trials', color: 'var(--pruned-soft)', shape: 'band'});
  }
  const line = (number_: number, color: string, width: number, dots: boolean) => {
    const curve = curveOf(number_);
    if (!curve?.resource.length) return false;
    layers.push({kind: 'line', x: curve.resource, y: curve.value, color, width, dots});
    shown.push(number_);
    return true;
  };
  const near = others.filter((other) => line(other, '--pending', 1.2, false));
  if (near.length) legend.push({label: 'most similar', color: 'var(--pending)', shape: 'line'});
  if (best !== undefined && best !== trial && line(best, '--best', 1.8, false)) legend.push({label: `${bestName}, trial ${count(best)}`, color: 'var(--best)', shape: 'line'});
  const isBest = best === trial;
  if (line(trial, isBest ? '--best' : '--accent', 2.4, (own?.resource.length ?? 0) <= 60)) {
    legend.push({label: isBest ? `this trial, the ${bestName}` : 'this trial', color: isBest ? 'var(--best)' : 'var(--accent)', shape: 'line'});
  }

  const drawn = data.curves.filter((curve) => shown.includes(curve.trial));
  const xs = extent([...drawn.flatMap((curve) => curve.resource), ...(own?.resource.length ? [] : (envelope?.resource ?? []))]) ?? [0, 1];
  const ys = extent([...drawn.flatMap((curve) => curve.value), ...(envelope?.lower ?? []), ...(envelope?.upper ?? [])]) ?? [0, 1];
  const pad = (ys[1] - ys[0] || Math.abs(ys[0]) || 1) * 0.06;
  return (
    <>
      <Plot
        label={`${data.metric} of trial ${trial} by resource, ${own?.resource.length ? `now ${number(own.value[own.value.length - 1])} at ${count(own.resource[own.resource.length - 1])}` : 'not reported yet'}`}
        height={kHeightPx}
        x={{label: 'resource', min: Math.min(1, xs[0]), max: Math.max(xs[1], xs[0] + 1), format: count}}
        y={{label: data.metric, min: ys[0] - pad, max: ys[1] + pad}}
        layers={layers}
        tip={(hit) => {
          const number_ = shown[hit.layer];
          const curve = number_ === null ? undefined : curveOf(number_);
          if (!curve) return null;
          return (
            <>
              <strong>Trial {count(curve.trial)}</strong>
              <br />
              {number(curve.value[hit.index])} <span class="quiet">at {count(curve.resource[hit.index])}</span>
            </>
          );
        }}
        onPick={(hit) => {
          const number_ = shown[hit.layer];
          if (number_ !== null && number_ !== trial) go(paths.trial(job, number_));
        }}
      />
      <Legend items={legend} />
    </>
  );
}
