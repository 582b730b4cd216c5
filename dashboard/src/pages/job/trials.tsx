import {useCallback, useMemo, useState} from 'preact/hooks';
import {jobPath} from '../../api/calls';
import {get} from '../../api/client';
import type {QueryTrialsResponse, Trial, TuningJob} from '../../api/types';
import {go, param, paths, setParams} from '../../app/router';
import {useNear} from '../../charts/canvas';
import type {DataTable} from '../../data_table';
import {Button, Card, EmptyState, ErrorState, Menu, Skeleton, VirtualTable, type Column} from '../../design';
import {count, counted} from '../../format';
import {Download} from '../download';
import {kMostChosen} from '../trials/chosen';
import {askedFilters} from './filters';
import {columnsFor, type TrialColumn} from './trial_columns';
import {useTrialPages} from './trial_pages';

const kHeight = 480;
const kExportPage = 5000;

export function TrialsCard({job, version, filters}: {job: TuningJob; version: number; filters: readonly string[]}) {
  const [place, near] = useNear<HTMLDivElement>();
  const sortText = param('sort') ?? 'best';
  const descending = sortText.startsWith('-');
  const sortKey = descending ? sortText.slice(1) : sortText;
  // What exists is fixed by the spec; a running job's news does not change it.
  const all = useMemo(() => columnsFor(job), [job.id]);
  const chosen = param('cols');
  const shown = all.filter((column) => (chosen === null ? column.byDefault : chosen.split(',').includes(column.key)));
  const order = all.find((column) => column.key === sortKey)?.order ?? 'objective';
  const orderBy = descending ? `${order} desc` : order;
  const pages = useTrialPages(job.id, filters, orderBy, version, near);

  const [picked, setPicked] = useState<readonly number[]>([]);
  const pick = useCallback((number: number) => setPicked((before) => (before.includes(number) ? before.filter((each) => each !== number) : [...before, number].slice(-kMostChosen))), []);
  const columns: Column<Trial>[] = useMemo(
    () => [pickColumn(picked, pick), ...shown.map((column) => ({key: column.key, title: column.title, hint: column.title, width: column.width, grow: column.key === 'reason', numeric: column.numeric, sortable: column.order !== undefined, cell: column.cell}))],
    [all, chosen, picked],
  );
  const sort = useCallback(
    (key: string) => setParams({sort: key === sortKey ? (descending ? key : `-${key}`) : key}, {replace: true}),
    [sortKey, descending],
  );
  const toggle = (column: TrialColumn) => {
    const keys = new Set(shown.map((each) => each.key));
    if (!keys.delete(column.key)) keys.add(column.key);
    setParams({cols: all.filter((each) => keys.has(each.key)).map((each) => each.key)  .join(',')}, {replace: true});
  };

  let content;
  if (pages.error && pages.total < 0) content = <ErrorState error={pages.error} retry={pages.reload} height={kHeight} />;
  else if (pages.total < 0) content = <Skeleton height={kHeight} />;
  else if (pages.total === 0) {
    content = (
      <EmptyState title={filters.length ? 'No trial matches the filters' : 'No trials yet'} height={kHeight} actions={filters.length > 0 && <Button onClick={() => setParams({f: null})}>Clear filters</Button>}>
        {filters.length === 0 && 'Trials are listed here once the first is created.'}
      </EmptyState>
    );
  } else {
    content = (
      <VirtualTable
        label="Trials"
        columns={columns}
        total={pages.total}
        row={pages.row}
        onRange={pages.onRange}
        height={Math.min(kHeight, (pages.total + 1) * 34 + 16)}
        sort={{key: sortKey, descending}}
        onSort={sort}
        onOpen={(trial) => go(paths.trial(job.id, trial.number))}
        marked={(trial) => trial.number === job.best?.trial}
      />
    );
  }
  return (
    <Card
      id="trials"
      title="Trials"
      hint={pages.total >= 0 ? `${counted(pages.total, 'trial')}${filters.length ? ' match the filters' : ''}` : undefined}
      updating={pages.loading && pages.total >= 0 && filters.length > 0}
      actions={
        <div class="row">
          {picked.length > 0 && (
            <Button small kind="primary" icon="compare" disabled={picked.length < 2} onClick={() => go(paths.trials(job.id, picked))}>
              {picked.length < 2 ? 'Select another trial' : `Compare ${picked.length} trials`}
            </Button>
          )}
          <Menu label="Columns" icon="columns" text="Columns" stays>
            {all.map((column) => (
              <label key={column.key}>
                <input type="checkbox" checked={shown.includes(column)} onChange={() => toggle(column)} />
                {column.title}
              </label>
            ))}
          </Menu>
          <Download name={`${job.id} trials`} table={(progress) => wholeTable(job, filters, orderBy, shown, progress)} />
        </div>
      }
    >
      <div ref={place} style={{minHeight: near ? undefined : `${kHeight}px`}}>
        {content}
      </div>
    </Card>
  );
}

function pickColumn(picked: readonly number[], pick: (trial: number) => void): Column<Trial> {
  return {
    key: 'pick',
    title: <span class="sr">Chosen</span>,
    hint: 'Choose trials to compare them',
    width: 38,
    cell: (trial) => (
      <label class="pick">
        <input type="checkbox" checked={picked.includes(trial.number)} onChange={() => pick(trial.number)} />
        <span class="sr">Choose trial {trial.number} to compare</span>
      </label>
    ),
  };
}

// All trials that match the filters, page by page.
async function wholeTable(job: TuningJob, filters: readonly string[], orderBy: string, columns: TrialColumn[], progress: (text: string) => void): Promise<DataTable> {
  const table: DataTable = {columns: columns.map((column) => column.title), rows: []};
  for (let total = 1; table.rows.length < total; ) {
    if (table.rows.length) progress(`${count(table.rows.length)} of ${count(total)}`);
    const answer = await get<QueryTrialsResponse>(`${jobPath(job.id)}/table`, {filters: askedFilters(filters), orderBy, offset: table.rows.length, limit: kExportPage});
    total = answer.total;
    if (answer.trials.length === 0) break;
    for (const trial of answer.trials) table.rows.push(columns.map((column) => column.text(trial)));
  }
  return table;
}
