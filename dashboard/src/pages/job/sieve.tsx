import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import {useGet} from '../../api/query';
import type {Sieve, TuningJob} from '../../api/types';
import {go, param, paths, setParams} from '../../app/router';
import {useWidth} from '../../charts/canvas';
import {tipPlace} from '../../charts/plot';
import {Badge, Button, Card, EmptyState, ErrorState, Legend, Segmented, Skeleton, StateBadge, Tooltip} from '../../design';
import {count, counted, number} from '../../format';
import {Download} from '../download';
import {asOf, type Shown} from './live';
import {SieveCanvas} from './sieve_canvas';
import {columnsOf, kAxisPx, layOut, markAt, markBeside, type SieveColumn, type SieveLayout} from './sieve_layout';
import {sieveQuestion} from './sieve_question';
import {SieveTable} from './sieve_table';
import {sieveTable} from './tables';

// More brackets than this are drawn by kind, unless it is said otherwise.
const kMostColumns = 8;
const kLeastHeight = 260;

export function SieveCard({job, version, filters}: Shown) {
  const answer = useGet<Sieve>(...sieveQuestion(job.id, filters), {...asOf(job, version, filters), debounce: 120});
  const sieve = answer.data;
  const brackets = useMemo(() => new Set(sieve?.cells.map((cell) => cell.bracket)).size, [sieve]);
  const many = brackets > kMostColumns;
  const merge = many && param('brackets') !== 'each';
  const asTable = param('sieve') === 'table';
  const columns = useMemo(() => (sieve ? columnsOf(sieve.cells, job.brackets, merge) : []), [sieve, job.brackets, merge]);

  let content;
  if (answer.error && !sieve) content = <ErrorState error={answer.error} retry={answer.reload} height={kLeastHeight} />;
  else if (!sieve) content = <Skeleton height={420} />;
  else if (sieve.trials === 0) {
    content = filters.length ? (
      <EmptyState title="No trial matches the filters" height={kLeastHeight} actions={<Button onClick={() => setParams({f: null})}>Clear filters</Button>} />
    ) : (
      <EmptyState title="No trials yet" height={kLeastHeight}>
        {job.stateReason || 'Trials appear here once the first is created.'}
      </EmptyState>
    );
  } else if (asTable) content = <SieveTable columns={columns} metric={job.spec.objective.metric} />;
  else content = <SieveView job={job} columns={columns} />;

  return (
    <Card
      id="sieve"
      title="The sieve"
      hint={hintOf(job, brackets)}
      updating={answer.loading && sieve !== undefined && filters.length > 0}
      actions={
        <div class="row">
          {many && (
            <Segmented
              label="Brackets"
              value={merge ? 'kind' : 'each'}
              options={[
                {value: 'kind', label: 'By kind'},
                {value: 'each', label: `All ${count(brackets)}`},
              ]}
              onChange={(value) => setParams({brackets: value === 'each' ? 'each' : null}, {replace: true})}
            />
          )}
          <Segmented
            label="View of the sieve"
            value={asTable ? 'table' : 'picture'}
            options={[
              {value: 'picture', label: 'Picture'},
              {value: 'table', label: 'Table'},
            ]}
            onChange={(value) => setParams({sieve: value === 'table' ? 'table' : null}, {replace: true})}
          />
          {sieve && sieve.trials > 0 && <Download name={`${job.id} sieve`} table={() => sieveTable(sieve)} />}
        </div>
      }
    >
      {content}
      {!asTable && sieve && sieve.trials > 0 && <SieveLegend columns={columns} />}
    </Card>
  );
}

function hintOf(job: TuningJob, brackets: number): string {
  if (brackets > 0 && job.brackets.length > 0) return 'each mark is a trial; it rises while it is among the best, and is pruned where it is not';
  return 'each mark is a trial, by how far it was trained; this job has no rungs';
}

function SieveLegend({columns}: {columns: SieveColumn[]}) {
  const present = new Set(columns.flatMap((column) => column.shelves.flatMap((shelf) => Object.entries(shelf.counts).flatMap(([name, n]) => (n > 0 ? [name] : [])))));
  const items = [
    {name: 'best', label: 'best', color: 'var(--best)', shape: 'dot' as const},
    {name: 'completed', label: 'completed', color: 'var(--completed)', shape: 'dot' as const},
    {name: 'running', label: 'running', color: 'var(--running)', shape: 'dot' as const},
    {name: 'paused', label: 'paused at its rung', color: 'var(--paused)', shape: 'ring' as const},
    {name: 'pending', label: 'pending: waits for a slot', color: 'var(--pending)', shape: 'ring' as const},
    {name: 'pruned', label: 'pruned', color: 'var(--pruned)', shape: 'dot' as const},
    {name: 'failed', label: 'failed', color: 'var(--failed)', shape: 'cross' as const},
    {name: 'cancelled', label: 'cancelled with the job', color: 'var(--cancelled)', shape: 'bar' as const},
  ];
  return (
    <div class="sieve-legend">
      <Legend items={items.filter((item) => item.name === 'best' || present.has(item.name))} />
    </div>
  );
}

function SieveView({job, columns}: {job: TuningJob; columns: SieveColumn[]}) {
  const [box, width] = useWidth<HTMLDivElement>();
  const layout = useMemo(() => (width > 0 ? layOut(columns, width) : null), [columns, width]);
  const [hover, setHover] = useState<number>(-1);  // a trial's number
  const frame = useRef<HTMLDivElement>(null);
  const at = layout ? layout.marks.findIndex((mark) => mark.trial === hover) : -1;

  // The keyboard's mark is brought into view sideways.
  useEffect(() => {
    if (at < 0 || !layout || !frame.current || document.activeElement !== frame.current) return;
    const scroller = box.current!;
    const x = layout.marks[at].x;
    if (x < scroller.scrollLeft || x > scroller.scrollLeft + scroller.clientWidth) scroller.scrollLeft = x - scroller.clientWidth / 2;
  }, [at]);

  if (!layout) return <div ref={box} style={{height: '420px'}} />;
  const placeOf = (event: MouseEvent) => {
    const bounds = frame.current!.getBoundingClientRect();
    return markAt(layout, event.clientX - bounds.left, event.clientY - bounds.top, Math.max(9, layout.pitch));
  };
  const open = (index: number) => {
    if (index >= 0) go(paths.trial(job.id, layout.marks[index].trial));
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === 'Enter') open(at);
    if (event.key === 'Escape') setHover(-1);
    if (!event.key.startsWith('Arrow')) return;
    event.preventDefault();
    const next = markBeside(layout, at, event.key);
    if (next >= 0) setHover(layout.marks[next].trial);
  };
  const move = (index: number) => setHover(index < 0 ? -1 : layout.marks[index].trial);
  return (
    <div class="sieve scroll-hint" ref={box}>
      <SieveHeads layout={layout} />
      <div
        ref={frame}
        class="sieve-frame"
        role="application"
        aria-label={`The sieve: ${counted(layout.marks.length, 'trial')} drawn in ${counted(columns.length, 'column')}. Arrow keys move between trials, Enter opens one.`}
        tabIndex={0}
        style={{width: `${layout.width}px`, height: `${layout.height}px`, cursor: at >= 0 ? 'pointer' : undefined}}
        onPointerMove={(event) => move(placeOf(event))}
        onPointerLeave={() => setHover(-1)}
        onBlur={() => setHover(-1)}
        onKeyDown={keys}
        onClick={(event) => open(placeOf(event))}
      >
        <SieveCanvas layout={layout} best={job.best?.trial ?? 0} hover={hover} goal={job.spec.objective.goal} />
        {at >= 0 && <MarkTip job={job} layout={layout} index={at} />}
      </div>
    </div>
  );
}

function SieveHeads({layout}: {layout: SieveLayout}) {
  if (layout.columns.length === 1 && layout.columns[0].column.brackets[0] < 0) return null;
  return (
    <div class={`sieve-heads${layout.columns.some(({column}) => column.endReasons.length) ? ' tall' : ''}`} style={{width: `${layout.width}px`, paddingLeft: `${kAxisPx}px`}}>
      {layout.columns.map(({column, left, width}) => (
        <div key={column.key} class="sieve-head" style={{left: `${left}px`, width: `${width}px`}}>
          <strong>{column.brackets.length === 1 ? `Bracket ${column.brackets[0] + 1}` : counted(column.brackets.length, 'bracket')}</strong>
          {column.s >= 0 && <span class="quiet">s = {column.s}</span>}
          {column.endReasons.length > 0 && (
            <Tooltip text={column.endReasons[0]}>
              <button type="button" class="plain-button">
                <Badge tone="failed">{column.brackets.length === 1 ? 'ended early' : `${count(column.endReasons.length)} ended early`}</Badge>
              </button>
            </Tooltip>
          )}
        </div>
      ))}
    </div>
  );
}

function MarkTip({job, layout, index}: {job: TuningJob; layout: SieveLayout; index: number}) {
  const mark = layout.marks[index];
  return (
    <div class="tip" role="status" style={tipPlace(mark.x, mark.y, layout.width, layout.height)}>
      <div class="row">
        <strong>Trial {count(mark.trial)}</strong>
        <StateBadge state={mark.state} />
        {mark.trial === job.best?.trial && <Badge tone="best">best</Badge>}
      </div>
      <div>
        {job.spec.objective.metric} <strong>{number(mark.best)}</strong> · trained to {counted(mark.atResource, 'unit')}
      </div>
      {mark.why && <div class="muted">{mark.why}</div>}
    </div>
  );
}
