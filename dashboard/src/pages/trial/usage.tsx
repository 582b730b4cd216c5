import {trialPath} from '../../api/calls';
import {useGet} from '../../api/query';
import type {GetTrialUsageResponse, RankUsage} from '../../api/types';
import {type Layer, Plot} from '../../charts/plot';
import {extent} from '../../charts/scale';
import {tableOf} from '../../data_table';
import {Card, EmptyState, ErrorState, Legend, Skeleton} from '../../design';
import {duration, number} from '../../format';
import {Download} from '../download';
import {durationTicks} from '../duration_ticks';
import {seriesStyle} from '../series';

const kHeightPx = 150;
const kRoomPx = 2 * kHeightPx + 52;
const kNothingPx = 130;
const kEveryMs = 4000;

const kMeasures = [
  {name: 'CPUs used', unit: '', of: (rank: RankUsage) => rank.cpus},
  {name: 'Resident memory', unit: 'GiB', of: (rank: RankUsage) => rank.memoryGib},
];

// What the processes of the newest attempt, or of another, use: rank by rank.
export function Usage({job, trial, attempt, live}: {job: string; trial: number; attempt: number; live: boolean}) {
  // Once more when it has ended: the last figures come with its end.
  const {data, error, reload} = useGet<GetTrialUsageResponse>(attempt > 0 ? `${trialPath(job, trial)}/usage` : null, {attempt}, {every: live ? kEveryMs : undefined, version: live});
  const ranks = data?.ranks.filter((rank) => rank.elapsedSeconds.length > 0) ?? [];
  let content;
  if (ranks.length) {
    const end = Math.max(1, ...ranks.map((rank) => rank.elapsedSeconds[rank.elapsedSeconds.length - 1]));
    content = (
      <>
        {kMeasures.map((measure) => (
          <Measure key={measure.name} measure={measure} ranks={ranks} end={end} />
        ))}
        <Legend items={ranks.map((rank, i) => ({label: `rank ${rank.rank}, ${rank.worker}`, color: `var(${seriesStyle(i).color})`, shape: 'line' as const}))} />
      </>
    );
  } else if (data || attempt === 0) {
    content = (
      <EmptyState title="No measurements" height={live ? kRoomPx : kNothingPx}>
        Workers measure every few seconds. A shorter attempt has no figures.
      </EmptyState>
    );
  } else content = error ? <ErrorState error={error} retry={reload} height={kRoomPx} /> : <Skeleton height={kRoomPx} />;
  return (
    <Card title="Utilisation" class="span-5" hint={attempt > 0 ? `attempt ${attempt}` : undefined} actions={ranks.length > 0 && <Download name={`${job} trial ${trial} utilisation`} table={() => tableFor(ranks)} />}>
      <div class={data && !ranks.length && !live ? undefined : 'usage-room'}>{content}</div>
    </Card>
  );
}

function tableFor(ranks: RankUsage[]) {
  const column = (of: (rank: RankUsage, i: number) => string | number) => ranks.flatMap((rank) => rank.elapsedSeconds.map((_, i) => of(rank, i)));
  return tableOf({
    rank: column((rank) => rank.rank),
    worker: column((rank) => rank.worker),
    elapsed_seconds: column((rank, i) => rank.elapsedSeconds[i]),
    cpus: column((rank, i) => rank.cpus[i]),
    memory_gib: column((rank, i) => rank.memoryGib[i]),
  });
}

function Measure({measure, ranks, end}: {measure: (typeof kMeasures)[number]; ranks: RankUsage[]; end: number}) {
  const high = extent(ranks.flatMap(measure.of))?.[1] ?? 1;
  const layers: Layer[] = ranks.map((rank, i) => ({kind: 'line', x: rank.elapsedSeconds, y: measure.of(rank), width: 1.8, dots: rank.elapsedSeconds.length < 30, ...seriesStyle(i)}));
  return (
    <>
      <h3 class="usage-name">
        {measure.name} {measure.unit && <span class="quiet">{measure.unit}</span>}
      </h3>
      <Plot
        compact
        label={`${measure.name} by rank over time, at most ${number(high, 3)} ${measure.unit}`}
        height={kHeightPx - 24}
        x={{label: '', min: 0, max: end, ticks: durationTicks(end, 6)}}
        y={{label: '', min: 0, max: high * 1.1 || 1, format: (value) => number(value, 3)}}
        layers={layers}
        tip={(hit) => {
          const rank = ranks[hit.layer];
          return (
            <>
              <strong>Rank {rank.rank}</strong> <span class="quiet">after {duration(rank.elapsedSeconds[hit.index])}</span>
              <br />
              {number(measure.of(rank)[hit.index], 3)} {measure.unit}
            </>
          );
        }}
      />
    </>
  );
}
