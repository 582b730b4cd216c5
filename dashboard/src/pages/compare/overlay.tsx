import {address} from '../../api/client';
import {useGet} from '../../api/query';
import type {Progress} from '../../api/types';
import {go, param, paths, setParams} from '../../app/router';
import {type Layer, Plot} from '../../charts/plot';
import {extent} from '../../charts/scale';
import {tableOf} from '../../data_table';
import {Card, EmptyState, ErrorState, Legend, Segmented, Skeleton} from '../../design';
import {count, duration, number} from '../../format';
import {Download} from '../download';
import {durationTicks} from '../duration_ticks';
import {seriesStyle} from '../series';

const kHeightPx = 320;
const kRoomPx = kHeightPx + 28;

const kAxes = [
  {value: 'elapsed', label: 'Time', title: 'since the job was created', of: (progress: Progress) => progress.elapsedSeconds},
  {value: 'resource', label: 'Units', title: 'units trained', of: (progress: Progress) => progress.resource},
];

interface Props {
  jobs: string[];
  metric: string;
  version: unknown;
}

// The best value so far of several jobs, over each other.
export function Overlay({jobs, metric, version}: Props) {
  const axis = kAxes.find((each) => each.value === param('x')) ?? kAxes[0];
  const {data, error, reload} = useGet<{jobs: Progress[]}>(address('/v1/progress', {jobIds: jobs, maxPoints: 400}), {}, {version});
  const found = (data?.jobs ?? []).filter((progress) => progress.best.some(Number.isFinite));
  let content;
  if (found.length) {
    const layers = found.map((progress): Layer => ({kind: 'line', step: true, width: 2, x: axis.of(progress), y: progress.best, ...seriesStyle(jobs.indexOf(progress.jobId))}));
    const xs = extent(found.flatMap(axis.of)) ?? [0, 1];
    const ys = extent(found.flatMap((progress) => progress.best)) ?? [0, 1];
    const pad = (ys[1] - ys[0] || Math.abs(ys[0]) || 1) * 0.06;
    content = (
      <>
        <Plot
          label={`Best ${metric} so far of ${found.map((progress) => `${progress.jobId}, now ${number(progress.best[progress.best.length - 1])}`).join('; ')}`}
          height={kHeightPx}
          x={{label: axis.title, min: 0, max: xs[1] || 1, ticks: axis.value === 'elapsed' ? durationTicks(xs[1], 12) : undefined, format: count}}
          y={{label: `best ${metric}`, min: ys[0] - pad, max: ys[1] + pad}}
          layers={layers}
          tip={(hit) => {
            const progress = found[hit.layer];
            return (
              <>
                <strong>{progress.jobId}</strong>
                <br />
                {number(progress.best[hit.index])} <span class="quiet">by trial {count(progress.trial[hit.index])}</span>
                <br />
                {duration(progress.elapsedSeconds[hit.index])}, {count(progress.resource[hit.index])} units
              </>
            );
          }}
          onPick={(hit) => go(paths.trial(found[hit.layer].jobId, found[hit.layer].trial[hit.index]))}
        />
        <Legend items={found.map((progress) => ({label: progress.jobId, color: `var(${seriesStyle(jobs.indexOf(progress.jobId)).color})`, shape: 'line' as const}))} />
      </>
    );
  } else if (data) {
    content = (
      <EmptyState title="No value yet" height={kRoomPx}>
        Lines begin with the first value that a trial reports.
      </EmptyState>
    );
  } else content = error ? <ErrorState error={error} retry={reload} height={kRoomPx} /> : <Skeleton height={kRoomPx} />;
  return (
    <Card
      title="Best so far"
      actions={
        <div class="row">
          <Segmented label="Against" value={axis.value} options={kAxes} onChange={(value) => setParams({x: value === 'elapsed' ? null : value}, {replace: true})} />
          {found.length > 0 && <Download name="best so far" table={() => tableFor(found)} />}
        </div>
      }
    >
      <div class="overlay-room">{content}</div>
    </Card>
  );
}

function tableFor(jobs: Progress[]) {
  return tableOf({
    job: jobs.flatMap((progress) => progress.best.map(() => progress.jobId)),
    elapsed_seconds: jobs.flatMap((progress) => progress.elapsedSeconds),
    resource: jobs.flatMap((progress) => progress.resource),
    best: jobs.flatMap((progress) => progress.best),
    trial: jobs.flatMap((progress) => progress.trial),
  });
}
