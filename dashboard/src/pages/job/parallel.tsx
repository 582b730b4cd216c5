import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import {jobPath} from '../../api/calls';
import {fetchEarly, useGet} from '../../api/query';
import type {ParallelCoordinates, TuningJob} from '../../api/types';
import {go, paths, setParams} from '../../app/router';
import {valueAt} from '../../charts/axis';
import {Canvas, useNear, useWidth} from '../../charts/canvas';
import {goodnessStops} from '../../charts/color';
import {tipPlace} from '../../charts/plot';
import {Button, Card, EmptyState, ErrorState, Skeleton} from '../../design';
import {count, number} from '../../format';
import {Download} from '../download';
import {fieldOf, passes, spansOf} from './brush';
import {askedFilters, filterOf, type Filter, withFilter} from './filters';
import {asOf, type Shown} from './live';
import {AxisBrush} from './parallel_axis';
import {kBins, kTopPx, lineAt, paintBehind, paintLines, paintOver, placesOf, type Places} from './parallel_paint';
import {parallelTable} from './tables';

const kHeight = 392;
const kLines = 250;
const kLeastGapPx = 104;

export function ParallelCard({job, version, filters, onShown}: Shown & {onShown(filters: readonly string[]): void}) {
  const [place, near] = useNear<HTMLDivElement>();
  const path = near ? `${jobPath(job.id)}/parallel-coordinates` : null;
  const question = (texts: readonly string[]) => ({filters: askedFilters(texts), maxLines: kLines, bins: kBins});
  const answer = useGet<ParallelCoordinates>(path, question(filters), {...asOf(job, version, filters), debounce: 60});
  // All trials, faintly, behind those that pass.
  const all = useGet<ParallelCoordinates>(filters.length ? path : null, question([]), asOf(job, version, [], 5));
  const data = answer.data;
  // Said once it is known: until then what was said of the earlier filters stays.
  const told = useRef('');
  if (data && answer.current) told.current = filters.length ? `${count(data.trials)} of ${count(all.data?.trials ?? Number.NaN)} trials` : `${count(data.trials)} trials`;
  const waits = near && !answer.current && !answer.error;
  // After the frame in which they are shown.
  useEffect(() => {
    if (!waits) onShown(filters);
  }, [waits, filters]);
  const change = (field: string, filter: Filter | null, replace: boolean) => {
    const next = withFilter(filters, field, filter);
    // The server answers while the page changes; of steps that follow each other only some are asked for.
    if (path && !replace) fetchEarly(path, question(next), asOf(job, version, next));
    setParams({f: next}, {replace});
  };

  let content;
  if (answer.error && !data) content = <ErrorState error={answer.error} retry={answer.reload} height={kHeight} />;
  else if (!data) content = <Skeleton height={kHeight} />;
  else if (data.trials === 0 && filters.length === 0) {
    content = (
      <EmptyState title="No values yet" height={kHeight}>
        Each trial is a line through its hyperparameters to its objective, once it has one.
      </EmptyState>
    );
  } else content = <ParallelView job={job} data={data} all={filters.length && answer.current ? all.data : undefined} filters={filters} change={change} />;
  return (
    <Card
      id="parallel"
      title="Parallel coordinates"
      hint={<span class="wide-only">drag along an axis to filter the whole page</span>}
      updating={answer.loading && data !== undefined && filters.length > 0}
      actions={
        <div class="row">
          {data && (
            <span class="quiet nowrap" role="status">
              {told.current}
            </span>
          )}
          {filters.length > 0 && (
            <Button small kind="ghost" icon="close" onClick={() => setParams({f: null})}>
              Clear
            </Button>
          )}
          <Ripeness />
          {data && data.trial.length > 0 && <Download name={`${job.id} parallel coordinates`} table={() => parallelTable(data)} />}
        </div>
      }
    >
      <div ref={place} style={{minHeight: `${kHeight}px`}}>
        {content}
      </div>
    </Card>
  );
}

function Ripeness() {
  const stops = goodnessStops();
  return (
    <span class="ripeness wide-only">
      worse
      <i aria-hidden="true" style={{background: `linear-gradient(90deg, ${stops.join(', ')})`}} />
      better
    </span>
  );
}

interface ViewProps {
  job: TuningJob;
  data: ParallelCoordinates;
  all?: ParallelCoordinates;
  filters: readonly string[];
  change(field: string, filter: Filter | null, replace: boolean): void;
}
function ParallelView({job, data, all, filters, change}: ViewProps) {
  const [box, boxWidth] = useWidth<HTMLDivElement>();
  const [hover, setHover] = useState<{line: number; x: number; y: number} | null>(null);
  // What is being dragged, before it becomes a filter.
  const [drag, setDrag] = useState<{axis: number; from: number; to: number} | null>(null);
  const frame = useRef<HTMLDivElement>(null);
  const axes = data.axes;
  const width = Math.max(boxWidth, axes.length * kLeastGapPx);
  const places: Places = useMemo(() => placesOf(data, width, kHeight), [data, width]);
  const best = job.best?.trial ?? 0;
  const minimize = job.spec.objective.goal === 'MINIMIZE';

  const spans = axes.map((axis, i) => (drag?.axis === i ? ([[Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)]] as [number, number][]) : spansOf(axis, filterOf(filters, fieldOf(axis)))));
  const before = useRef(new Uint8Array());
  const alive = useMemo(() => {
    const result = Uint8Array.from({length: data.trial.length}, (_, i) => (passes(data.position.slice(i * axes.length, (i + 1) * axes.length), spans) ? 1 : 0));
    // Lines are drawn anew only if others pass than before.
    if (result.length !== before.current.length || result.some((each, i) => each !== before.current[i])) before.current = result;
    return before.current;
  }, [data, JSON.stringify(spans)]);
  useEffect(() => setHover(null), [data]);

  const find = (event: MouseEvent) => {
    const bounds = frame.current!.getBoundingClientRect();
    const x = event.clientX - bounds.left;
    const y = event.clientY - bounds.top;
    const line = lineAt(data, places, alive, x, y);
    return line < 0 ? null : {line, x, y};
  };
  const objective = axes[axes.length - 1];
  return (
    <div class="parallel scroll-hint" ref={box}>
      {boxWidth > 0 && (
        <div
          ref={frame}
          class="parallel-frame"
          style={{width: `${width}px`, height: `${kHeight}px`, cursor: hover ? 'pointer' : undefined}}
          onPointerMove={(event) => !drag && setHover(find(event))}
          onPointerLeave={() => setHover(null)}
          onClick={(event) => {
            if ((event.target as Element).closest('.axis-brush, button')) return;
            const found = find(event);
            if (found) go(paths.trial(job.id, data.trial[found.line]));
          }}
        >
          <Canvas class="layer" width={width} height={kHeight} draw={(c) => paintBehind(c, {data, all, places, minimize})} of={[data, all, places, minimize]} />
          <Canvas class="layer" width={width} height={kHeight} draw={(c) => paintLines(c, {data, places, alive, minimize, best})} of={[data, places, alive, minimize, best]} />
          <Canvas class="layer" width={width} height={kHeight} draw={(c) => paintOver(c, {data, places, hover: hover?.line ?? -1})} of={[data, places, hover?.line]} />
          {axes.map((axis, i) => (
            <AxisBrush
              key={axis.name}
              axis={axis}
              title={axis.kind === 'objective' ? job.spec.objective.metric : axis.name}
              x={places.x[i]}
              top={kTopPx}
              bottom={places.bottom}
              room={places.gap}
              last={i === axes.length - 1}
              spans={spans[i]}
              filter={filterOf(filters, fieldOf(axis))}
              onDrag={(from, to) => {
                setHover(null);
                setDrag(from === null ? null : {axis: i, from, to: to!});
              }}
              onChange={(filter, replace) => {
                setDrag(null);
                change(fieldOf(axis), filter, replace);
              }}
            />
          ))}
          {hover && (
            <div class="tip" role="status" style={tipPlace(hover.x, hover.y, width, kHeight)}>
              <strong>Trial {count(data.trial[hover.line])}</strong>
              <dl>
                {axes.map((axis, i) => {
                  const at = data.position[hover.line * axes.length + i];
                  const text = Number.isNaN(at) ? 'inactive' : axis.values.length ? axis.values[Math.min(axis.values.length - 1, Math.floor(at * axis.values.length))] : number(axis.kind === 'integer' ? Math.round(valueAt(axis, at)) : valueAt(axis, at), 5);
                  return (
                    <>
                      <dt>{axis === objective ? job.spec.objective.metric : axis.name}</dt>
                      <dd>{axis === objective ? <strong>{text}</strong> : text}</dd>
                    </>
                  );
                })}
              </dl>
            </div>
          )}
          {data.trials === 0 && (
            <div class="parallel-none">
              <EmptyState title="No trial matches" actions={<Button onClick={() => setParams({f: null})}>Clear filters</Button>} />
            </div>
          )}
        </div>
      )}
    </div>
  );
}
