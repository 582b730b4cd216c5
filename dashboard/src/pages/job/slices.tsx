import {useEffect, useMemo, useState} from 'preact/hooks';
import {jobPath} from '../../api/calls';
import {get} from '../../api/client';
import {useGet} from '../../api/query';
import type {Slice} from '../../api/types';
import {go, paths} from '../../app/router';
import {positionOf, positionTicks, valueAt} from '../../charts/axis';
import {useNear} from '../../charts/canvas';
import {goodness, token} from '../../charts/color';
import {ranksOf} from '../../charts/scale';
import {Plot, type Layer} from '../../charts/plot';
import {Button, Card, ErrorState, Legend, Skeleton} from '../../design';
import {count, counted, number} from '../../format';
import {Download} from '../download';
import {askedFilters} from './filters';
import {askedLevel, levelText} from './level';
import {asOf, type Shown} from './live';
import {slicesTable} from './tables';

const kHeight = 190;
const kPoints = 400;
const kSavedPoints = 5000;
const kBins = 28;
// Narrower windows show so many at first.
const kNarrowPx = 720;
const kFolded = 3;
// So far values stand beside the axis's ends, as parts of it: discs are whole there.
const kMargin = 0.05;
// The golden ratio's fraction: multiples of it lie evenly between whole numbers.
const kSpread = 0.6180339887;

export function SlicesCard({job, version, filters}: Shown) {
  const [place, near] = useNear<HTMLDivElement>();
  const [level, setLevel] = useState<number | undefined>(undefined);
  const [open, setOpen] = useState(false);
  // One under another they would be in the way of the table.
  const parameters = job.spec.parameters;
  const shown = open || innerWidth > kNarrowPx ? parameters : parameters.slice(0, kFolded);
  const whole = async (progress: (text: string) => void) => {
    const slices: Slice[] = [];
    for (const {name} of parameters) {
      progress(`${count(slices.length)} of ${count(parameters.length)}`);
      slices.push(await get<Slice>(`${jobPath(job.id)}/slices/${encodeURIComponent(name)}`, {filters: askedFilters(filters), resource: askedLevel(), maxPoints: kSavedPoints}));
    }
    return slicesTable(slices);
  };
  return (
    <Card
      id="slices"
      title="Slices" hint={`${job.spec.objective.metric} by hyperparameter${level === undefined ? '' : `, ${levelText(level)}`}`}
      actions={near && level !== undefined && <Download name={`${job.id} slices`} table={whole} />}
    >
      <div ref={place} class="slices">
        {shown.map((parameter) => (
          <SliceView key={parameter.name} job={job} parameter={parameter.name} version={version} filters={filters} near={near} onLevel={setLevel} />
        ))}
      </div>
      {shown.length < parameters.length && (
        <div class="row slices-more">
          <Button small onClick={() => setOpen(true)}>
            Show all {count(parameters.length)}
          </Button>
        </div>
      )}
      <Legend
        items={[
          {label: 'trials, from worst (grey) to best (gold)', color: goodness(0.8)},
          {label: 'best', color: 'var(--best)'},
          {label: "random forest's marginal effect, ± deviation", color: 'var(--running)', shape: 'line'},
        ]}
      />
    </Card>
  );
}

function SliceView({job, parameter, version, filters, near, onLevel}: Shown & {parameter: string; near: boolean; onLevel(level: number): void}) {
  const answer = useGet<Slice>(near ? `${jobPath(job.id)}/slices/${encodeURIComponent(parameter)}` : null, {filters: askedFilters(filters), resource: askedLevel(), maxPoints: kPoints, bins: kBins}, {...asOf(job, version, filters, 3), debounce: 160, priority: 'low'});
  const slice = answer.data;
  useEffect(() => {
    if (slice) onLevel(slice.resourceLevel);
  }, [slice]);
  const minimize = job.spec.objective.goal === 'MINIMIZE';
  const layers = useMemo(() => (slice?.axis && slice.trial.length ? layersOf(slice, job.best?.trial ?? 0, minimize) : null), [slice, job.best?.trial, minimize]);
  let content;
  if (answer.error && !slice) content = <ErrorState error={answer.error} retry={answer.reload} height={kHeight} />;
  else if (!slice) content = <Skeleton height={kHeight} />;
  else if (!layers) content = <p class="state quiet">No values {filters.length ? 'that match the filters' : 'yet'}.</p>;
  else {
    content = (
      <Plot
        compact
        label={`${job.spec.objective.metric} against ${parameter}`}
        height={kHeight}
        x={{label: parameter, min: -kMargin, max: 1 + kMargin, ticks: positionTicks(slice.axis, 6)}}
        y={{label: job.spec.objective.metric, min: -0.04, max: 1.04, ticks: positionTicks(slice.objective, 5)}}
        layers={layers}
        tip={({index}) => (
          <>
            <strong>Trial {count(slice.trial[index])}</strong>, trained to {counted(slice.resource[index], 'unit')}
            <div>
              {parameter} {slice.axis.values.length ? slice.axis.values[Math.min(slice.axis.values.length - 1, Math.floor(slice.x[index] * slice.axis.values.length))] : number(valueAt(slice.axis, slice.x[index]), 4)}
            </div>
            <div>
              {job.spec.objective.metric} {number(valueAt(slice.objective, slice.y[index]), 5)}
            </div>
          </>
        )}
        onPick={({index}) => go(paths.trial(job.id, slice.trial[index]))}
      />
    );
  }
  return (
    <figure class="slice">
      <figcaption title={parameter}>
        {parameter}
        {slice?.axis && slice.axis.scaling !== 'linear' && <span class="quiet"> {slice.axis.scaling.replace('_', ' ')}</span>}
      </figcaption>
      <div style={{minHeight: `${kHeight}px`}}>{content}</div>
    </figure>
  );
}

function layersOf(slice: Slice, best: number, minimize: boolean): Layer[] {
  const goods = ranksOf(slice.y, minimize);
  const whole = slice.count.reduce((sum, n) => sum + n, 0) <= slice.trial.length;
  const layers: Layer[] = [];
  if (!whole) {
    // More trials than points: where they are dense stands behind.
    const most = Math.max(...slice.count, 1);
    layers.push({
      kind: 'draw',
      color: '',
      draw(c, px, py) {
        c.fillStyle = token('--ink-3');
        const w = px(1 / slice.bins) - px(0);
        const h = py(0) - py(1 / slice.bins);
        slice.count.forEach((n, i) => {
          c.globalAlpha = 0.06 + 0.34 * Math.sqrt(n / most);
          c.fillRect(px(slice.xBin[i] / slice.bins), py((slice.yBin[i] + 1) / slice.bins), w + 0.5, h + 0.5);
        });
        c.globalAlpha = 1;
      },
    });
  }
  // Beside each other where they have one value.
  const room = slice.axis.values.length ? 0.5 / slice.axis.values.length : slice.axis.kind === 'integer' && slice.axis.scaling === 'linear' ? Math.min(kMargin, 0.3 / Math.max(1, slice.axis.max - slice.axis.min)) : 0;
  const x = slice.x.map((at, i) => at + room * (((slice.trial[i] * kSpread) % 1) - 0.5));
  layers.push({kind: 'points', x, y: slice.y, color: '--accent', colors: slice.y.map((_, i) => goodness(goods[i])), size: slice.trial.length > 150 ? 2.2 : 3, alpha: 0.9});
  if (slice.marginalX.length > 1 && slice.objective.max > slice.objective.min) {
    const at = slice.marginalMean.map((mean) => positionOf(slice.objective, mean));
    const low = slice.marginalMean.map((mean, i) => positionOf(slice.objective, mean - slice.marginalDeviation[i]));
    const high = slice.marginalMean.map((mean, i) => positionOf(slice.objective, mean + slice.marginalDeviation[i]));
    layers.push({kind: 'band', x: slice.marginalX, low, high, color: '--running', alpha: 0.14});
    layers.push({kind: 'line', x: slice.marginalX, y: at, color: '--running', width: 1.75, quiet: true, dots: slice.axis.values.length > 0});
  }
  const index = slice.trial.indexOf(best);
  if (index >= 0) layers.push({kind: 'points', x: [x[index]], y: [slice.y[index]], color: '--best', size: 5, quiet: true});
  return layers;
}
