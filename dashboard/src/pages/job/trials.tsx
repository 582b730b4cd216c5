import {useCallback, useMemo, useState} from 'preact/hooks';
import {jobPath} from '../../api/calls';
import {get} from '../../api/client';
import type {QueryTrialsResponse, Trial, TuningJob} from '../../api/types';
import {go, param, paths, setParams} from '../../app/router';
import {useNear} from '../../charts/canvas';
import {csvLine, saveFile} from '../../csv';
import {Button, Card, EmptyState, ErrorState, Menu, Skeleton, toast, VirtualTable, type Column} from '../../design';
import {count, counted} from '../../format';
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

  const columns: Column<Trial>[] = useMemo(
    () => shown.map((column) => ({key: column.key, title: column.title, hint: column.title, width: column.width, grow: column.key === 'reason', numeric: column.numeric, sortable: column.order !== undefined, cell: column.cell})),
    [all, chosen],
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
          <Menu label="Columns" icon="columns" text="Columns" stays>
            {all.map((column) => (
              <label key={column.key}>
                <input type="checkbox" checked={shown.includes(column)} onChange={() => toggle(column)} />
                {column.title}
              </label>
            ))}
          </Menu>
          <ExportButton job={job} filters={filters} orderBy={orderBy} columns={shown} />
        </div>
      }
    >
      <div ref={place} style={{minHeight: near ? undefined : `${kHeight}px`}}>
        {content}
      </div>
    </Card>
  );
}

interface ExportProps {
  job: TuningJob;
  filters: readonly string[];
  orderBy: string;
  columns: TrialColumn[];
}
function ExportButton({job, filters, orderBy, columns}: ExportProps) {
  const [done, setDone] = useState<string | null>(null);
  const save = async () => {
    const parts = [csvLine(columns.map((column) => column.title))];
    try {
      for (let offset = 0, total = 1; offset < total; ) {
        setDone(offset ? `${count(offset)} of ${count(total)}` : 'Fetching');
        const answer = await get<QueryTrialsResponse>(`${jobPath(job.id)}/table`, {filters: askedFilters(filters), orderBy, offset, limit: kExportPage});
        total = answer.total;
        if (answer.trials.length === 0) break;
        parts.push(answer.trials.map((trial) => csvLine(columns.map((column) => column.text(trial)))).join(''));
        offset += answer.trials.length;
      }
      saveFile(`${job.id}-trials.csv`, 'text/csv', parts);
    } catch (error) {
      toast(`The export failed: ${(error as Error).message}`);
    }
    setDone(null);
  };
  return (
    <Button small icon="download" disabled={done !== null} onClick={() => void save()}>
      {done ?? 'CSV'}
    </Button>
  );
}
