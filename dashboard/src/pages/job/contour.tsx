import {useMemo} from 'preact/hooks';
import {jobPath} from '../../api/calls';
import {useGet} from '../../api/query';
import type {Axis, Contour, Importance} from '../../api/types';
import {go, param, paths, setParams} from '../../app/router';
import {theme} from '../../app/theme';
import {positionTicks} from '../../charts/axis';
import {useNear} from '../../charts/canvas';
import {goodness, token} from '../../charts/color';
import {Plot, type Layer} from '../../charts/plot';
import {extent} from '../../charts/scale';
import {type Cell, tableOf} from '../../data_table';
import {Button, Card, EmptyState, ErrorState, Legend, Skeleton} from '../../design';
import {count, counted, number} from '../../format';
import {objectiveName} from '../job_words';
import {Download} from '../download';
import {cellEdges, contourLines} from './contour_lines';
import {askedFilters} from './filters';
import {askedLevel, levelText} from './level';
import {asOf, type Shown} from './live';
import {Ramp} from './ramp';
import {axisValue} from './tables';

const kHeight = 420;
const kCells = 36;
const kPoints = 400;
const kLevels = 8;
// Values stand beside the axis's ends, as parts of it: discs are whole there.
const kMargin = 0.03;

// What a random forest expects over two hyperparameters, which stand in the address ("cx", "cy"): at first the two that
// matter most.
export function ContourCard({job, version, filters}: Shown) {
  const [place, near] = useNear<HTMLDivElement>();
  const names = job.spec.parameters.map((each) => each.name);
  // The importance card asks the same.
  const importance = useGet<Importance>(near ? `${jobPath(job.id)}/importance` : null, {filters: askedFilters(filters), resource: askedLevel()}, {...asOf(job, version, filters, 5), debounce: 200, priority: 'low'});
  const order = importance.data?.parameters.map((each) => each.parameter) ?? [];
  const ranked = [...order, ...names.filter((name) => !order.includes(name))];
  const known = importance.data !== undefined || importance.error !== undefined;
  const named = (text: string | null) => (text !== null && names.includes(text) ? text : undefined);
  const x = named(param('cx')) ?? ranked.find((name) => name !== named(param('cy')))!;
  const y = named(param('cy')) ?? ranked.find((name) => name !== x);
  const answer = useGet<Contour>(near && known && y && x !== y ? `${jobPath(job.id)}/contour` : null, {x, y, filters: askedFilters(filters), resource: askedLevel(), cells: kCells, maxPoints: kPoints}, {...asOf(job, version, filters, 5), debounce: 200, priority: 'low'});
  const contour = answer.data;
  const minimize = job.spec.objective.goal === 'MINIMIZE';
  const picture = useMemo(() => (contour?.xAxis && contour.mean.length ? pictureOf(contour, job.best?.trial ?? 0, minimize) : null), [contour, job.best?.trial, minimize, theme.value]);
  const metric = objectiveName(job.spec.objective);
  if (names.length < 2) return null;
  let content;
  if (answer.error && !contour) content = <ErrorState error={answer.error} retry={answer.reload} height={kHeight} />;
  else if (!contour) content = <Skeleton height={kHeight} />;
  else if (!picture) {
    content = (
      <EmptyState title="Too few values yet" height={kHeight}>
        {contour.note || 'More trials have to report the objective first.'}
      </EmptyState>
    );
  } else {
    content = (
      <Plot
        label={`${metric} expected over ${contour.xAxis.name} and ${contour.yAxis.name}, from ${number(picture.low, 4)} to ${number(picture.high, 4)}, with ${counted(contour.trial.length, 'trial')}`}
        height={kHeight}
        x={{label: axisLabel(contour.xAxis), min: -kMargin, max: 1 + kMargin, ticks: positionTicks(contour.xAxis, 9)}}
        y={{label: axisLabel(contour.yAxis), min: -kMargin, max: 1 + kMargin, ticks: positionTicks(contour.yAxis, 9)}}
        layers={picture.layers}
        tip={({index}) => (
          <>
            <strong>Trial {count(contour.trial[index])}</strong>: {metric} <strong>{number(contour.value[index])}</strong>
            <div>
              {contour.xAxis.name} {placeText(contour.xAxis, contour.x[index])}
            </div>
            <div>
              {contour.yAxis.name} {placeText(contour.yAxis, contour.y[index])}
            </div>
          </>
        )}
        onPick={({index}) => go(paths.trial(job.id, contour.trial[index]))}
      />
    );
  }
  const choose = (key: 'cx' | 'cy', value: string) => {
    // The two change places rather than being one.
    const other = key === 'cx' ? y! : x;
    setParams(value === other ? {cx: y!, cy: x} : key === 'cx' ? {cx: value, cy: y!} : {cx: x, cy: value}, {replace: true});
  };
  return (
    <Card
      id="contour"
      title="Contour"
      hint={`expected ${metric}${contour ? `, ${levelText(contour.resourceLevel)}` : ''}`}
      updating={answer.loading && contour !== undefined}
      actions={picture && contour && <Download name={`${job.id} contour`} table={() => tableFor(contour)} />}
    >
      <div ref={place}>
        <div class="axes">
          {(['cy', 'cx'] as const).map((key) => (
            <label key={key}>
              {key === 'cx' ? 'Horizontal' : 'Vertical'}
              <select class="input small" aria-label={`${key === 'cx' ? 'Horizontal' : 'Vertical'} of the contour`} value={key === 'cx' ? x : y} onChange={(event) => choose(key, event.currentTarget.value)}>
                {names.map((name) => (
                  <option key={name} value={name}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
          ))}
          <Button small kind="ghost" onClick={() => choose('cx', y!)}>
            Swap axes
          </Button>
        </div>
        {content}
        <div class="row">
          {picture && <Ramp low={number(minimize ? picture.high : picture.low, 4)} high={number(minimize ? picture.low : picture.high, 4)} />}
          <Legend
            items={[
              {label: 'trials, coloured by their own value', color: 'var(--ink-2)', shape: 'ring'},
              {label: 'the best', color: 'var(--best)', shape: 'ring'},
            ]}
          />
        </div>
        {contour?.note && picture && <p class="quiet card-note">{contour.note}</p>}
      </div>
    </Card>
  );
}

const axisLabel = (axis: Axis) => `${axis.name}${axis.scaling === 'linear' ? '' : ` (${axis.scaling.replace('_', ' ')})`}`;

function placeText(axis: Axis, position: number): string {
  const value = axisValue(axis, position);
  return typeof value === 'number' ? number(value, 4) : String(value);
}

function tableFor(contour: Contour) {
  const columns: Record<string, Cell[]> = {[contour.xAxis.name]: [], [contour.yAxis.name]: [], mean: contour.mean, deviation: contour.deviation};
  for (const y of contour.yPlace) {
    for (const x of contour.xPlace) {
      columns[contour.xAxis.name].push(axisValue(contour.xAxis, x));
      columns[contour.yAxis.name].push(axisValue(contour.yAxis, y));
    }
  }
  return tableOf(columns);
}

function pictureOf(contour: Contour, best: number, minimize: boolean) {
  const {xPlace, yPlace, mean} = contour;
  const [low, high] = extent(mean)!;
  const part = (value: number) => (high > low ? (minimize ? high - value : value - low) / (high - low) : 0.5);
  const colors = mean.map((value) => goodness(part(value)));
  const xEdges = cellEdges(xPlace);
  const yEdges = cellEdges(yPlace);
  const smooth = !contour.xAxis.values.length && !contour.yAxis.values.length && high > low;
  const levels = Array.from({length: kLevels}, (_, i) => low + ((i + 1) / (kLevels + 1)) * (high - low));
  const lines = smooth ? levels.flatMap((level) => contourLines(xPlace, yPlace, mean, level)) : [];
  const layers: Layer[] = [
    {
      kind: 'draw',
      color: '',
      draw(c, px, py) {
        // Whole pixels, so that no seam is seen between cells.
        const lefts = xEdges.map((edge) => Math.round(px(edge)));
        const bottoms = yEdges.map((edge) => Math.round(py(edge)));
        mean.forEach((_, i) => {
          const column = i % xPlace.length;
          const row = Math.floor(i / xPlace.length);
          c.fillStyle = colors[i];
          c.fillRect(lefts[column], bottoms[row + 1], lefts[column + 1] - lefts[column], bottoms[row] - bottoms[row + 1]);
        });
        c.globalAlpha = 0.45;
        c.strokeStyle = token('--ink-2');
        c.lineWidth = 0.8;
        c.beginPath();
        for (const [x0, y0, x1, y1] of lines) {
          c.moveTo(px(x0), py(y0));
          c.lineTo(px(x1), py(y1));
        }
        c.stroke();
        c.globalAlpha = 1;
      },
    },
    {kind: 'points', x: contour.x, y: contour.y, color: '--surface', size: 4.6, quiet: true, alpha: 0.9},
    {kind: 'points', x: contour.x, y: contour.y, color: '--accent', colors: contour.value.map((value) => goodness(Math.min(1, Math.max(0, part(value))))), size: 3.2},
    {kind: 'points', x: contour.x, y: contour.y, color: '--ink-2', size: 3.6, shape: 'ring', quiet: true, alpha: 0.6},
  ];
  const index = contour.trial.indexOf(best);
  if (index >= 0) layers.push({kind: 'points', x: [contour.x[index]], y: [contour.y[index]], color: '--best', size: 7, shape: 'ring', quiet: true});
  return {low, high, layers};
}
