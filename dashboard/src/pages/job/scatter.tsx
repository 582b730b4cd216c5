import {useMemo} from 'preact/hooks';
import {jobPath} from '../../api/calls';
import {useGet} from '../../api/query';
import type {Scatter, ScatterColumn} from '../../api/types';
import {go, param, paths, setParams} from '../../app/router';
import {theme} from '../../app/theme';
import {useNear} from '../../charts/canvas';
import {goodness, token} from '../../charts/color';
import {Plot, type Layer, type PlotAxis} from '../../charts/plot';
import {extent} from '../../charts/scale';
import {type Cell, tableOf} from '../../data_table';
import {Button, Card, EmptyState, ErrorState, Legend, Skeleton, StateBadge} from '../../design';
import {count, counted, number} from '../../format';
import {Download} from '../download';
import {seriesStyle} from '../series';
import {askedFilters} from './filters';
import {asOf, type Shown} from './live';
import {Ramp} from './ramp';
import {columnName, columnText, firstThatVaries, placesOf} from './scatter_columns';

const kHeight = 420;  // as the contour beside it
const kPoints = 1500;
// Values that differ by more than this are laid on a logarithmic axis.
const kLogRatio = 100;

const kStateTones: Record<string, string> = {
  pending: '--pending', running: '--running', paused: '--paused', completed: '--accent', pruned: '--pruned', failed: '--failed', cancelled: '--cancelled',
};

// Any two columns against each other, coloured by a third. They stand in the address ("sx", "sy", "sc").
export function ScatterCard({job, version, filters}: Shown) {
  const [place, near] = useNear<HTMLDivElement>();
  const asked = {x: param('sx') ?? firstThatVaries(job.spec.parameters), y: param('sy') ?? '', color: param('sc') ?? ''};
  const answer = useGet<Scatter>(near ? `${jobPath(job.id)}/scatter` : null, {filters: askedFilters(filters), ...asked, maxPoints: kPoints}, {...asOf(job, version, filters, 3), debounce: 160, priority: 'low'});
  const scatter = answer.data;
  const picture = useMemo(() => (scatter && scatter.trial.length ? pictureOf(scatter, job.best?.trial ?? 0) : null), [scatter, job.best?.trial, theme.value]);
  const name = (field: string) => columnName(field, job.spec.objective.metric);
  let content;
  if (answer.error && !scatter) content = <ErrorState error={answer.error} retry={answer.reload} height={kHeight} />;
  else if (!scatter) content = <Skeleton height={kHeight} />;
  else if (!picture) {
    content = (
      <EmptyState title="No trial has both values" height={kHeight} actions={filters.length > 0 && <Button onClick={() => setParams({f: null})}>Clear filters</Button>}>
        Choose other columns, or wait for reports.
      </EmptyState>
    );
  } else {
    content = (
      <Plot
        label={`${name(scatter.y.field)} against ${name(scatter.x.field)} of ${counted(scatter.trial.length, 'trial')}, coloured by ${name(scatter.color.field)}`}
        height={kHeight}
        x={{...picture.x, label: name(scatter.x.field)}}
        y={{...picture.y, label: name(scatter.y.field)}}
        layers={picture.layers}
        tip={({index}) => (
          <>
            <div class="row">
              <strong>Trial {count(scatter.trial[index])}</strong> <StateBadge state={scatter.state[index]} />
            </div>
            {[scatter.x, scatter.y, scatter.color].map((column, i) => (
              <div key={i}>
                {name(column.field)} {columnText(column, index)}
              </div>
            ))}
          </>
        )}
        onPick={({index}) => go(paths.trial(job.id, scatter.trial[index]))}
      />
    );
  }
  const axes = [
    {key: 'sy', label: 'Vertical', value: scatter?.y.field},
    {key: 'sx', label: 'Horizontal', value: scatter?.x.field},
    {key: 'sc', label: 'Colour', value: scatter?.color.field},
  ];
  return (
    <Card
      id="scatter"
      title="Scatter"
      hint={scatter ? `${counted(scatter.trial.length, 'trial')}${scatter.trials > scatter.trial.length ? ` of ${count(scatter.trials)}` : ''}` : undefined}
      updating={answer.loading && scatter !== undefined}
      actions={scatter && <Download name={`${job.id} scatter`} table={() => tableFor(scatter)} />}
    >
      <div ref={place}>
        <div class="axes">
          {axes.map(({key, label, value}) => (
            <label key={key}>
              {label}
              <select class="input small" aria-label={`${label} of the scatter`} value={value} disabled={!scatter} onChange={(event) => setParams({[key]: event.currentTarget.value}, {replace: true})}>
                {(scatter?.fields ?? []).map((field) => (
                  <option key={field} value={field}>
                    {name(field)}
                  </option>
                ))}
              </select>
            </label>
          ))}
          <Button small kind="ghost" disabled={!scatter} onClick={() => scatter && setParams({sx: scatter.y.field, sy: scatter.x.field}, {replace: true})}>
            Swap axes
          </Button>
        </div>
        {content}
        {picture && (picture.legend ? <Legend items={picture.legend} /> : <Ramp low={number(picture.colors![0], 4)} high={number(picture.colors![1], 4)} />)}
      </div>
    </Card>
  );
}

function tableFor(scatter: Scatter) {
  const columns: Record<string, ArrayLike<Cell>> = {trial: scatter.trial, state: scatter.state};
  for (const column of [scatter.x, scatter.y, scatter.color]) {
    if (column.field !== '#state') columns[columnName(column.field, 'objective')] = column.values.length ? column.value.map((value) => column.values[value]) : column.value;
  }
  return tableOf(columns);
}

function axisOf(column: ScatterColumn): Omit<PlotAxis, 'label'> {
  if (column.values.length) {
    return {min: -0.5, max: column.values.length - 0.5, ticks: column.values.map((text, at) => ({at, text}))};
  }
  const [low, high] = extent(column.value) ?? [0, 1];
  const log = low > 0 && (column.scaling === 'log' || high / low > kLogRatio);
  if (log) return {min: low / 1.15, max: high * 1.15, log};
  const pad = (high - low) * 0.05 || Math.abs(high) * 0.05 || 1;
  return {min: low - pad, max: high + pad};
}

function pictureOf(scatter: Scatter, best: number) {
  const {color} = scatter;
  const x = placesOf(scatter.x, scatter.trial);
  const y = placesOf(scatter.y, scatter.trial);
  const size = scatter.trial.length > 400 ? 2.4 : 3.4;
  const layers: Layer[] = [];
  let legend;
  let colors: [number, number] | undefined;
  if (color.values.length) {
    const present = [...new Set(color.value)].filter(Number.isFinite).sort((a, b) => a - b);
    const toneOf = (value: number) => (color.field === '#state' ? (kStateTones[color.values[value]] ?? '--ink-3') : seriesStyle(value).color);
    // One layer, so that an index is that of a trial.
    layers.push({kind: 'points', x, y, color: '--accent', colors: color.value.map((value) => token(Number.isFinite(value) ? toneOf(value) : '--ink-3')), size, alpha: 0.85});
    legend = present.map((value) => ({label: color.values[value], color: `var(${toneOf(value)})`}));
  } else {
    const sorted = color.value.filter(Number.isFinite);
    colors = extent(sorted) ?? [0, 1];
    const [low, high] = colors;
    layers.push({kind: 'points', x, y, color: '--accent', colors: color.value.map((value) => goodness(high > low ? (value - low) / (high - low) : 0.5)), size, alpha: 0.9});
  }
  const index = scatter.trial.indexOf(best);
  if (index >= 0) layers.push({kind: 'points', x: [x[index]], y: [y[index]], color: '--best', size: size + 2.5, shape: 'ring', quiet: true});
  return {x: axisOf(scatter.x), y: axisOf(scatter.y), layers, legend: legend && [...legend, ...(index >= 0 ? [{label: 'the best', color: 'var(--best)', shape: 'ring' as const}] : [])], colors};
}
