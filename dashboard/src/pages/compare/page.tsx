import {useEffect, useState} from 'preact/hooks';
import {describeJob, jobPath} from '../../api/calls';
import {address, isRefusal} from '../../api/client';
import {useGet} from '../../api/query';
import type {Comparison, ComparisonRow, TuningJob} from '../../api/types';
import {untilVisible} from '../../api/visible';
import {go, param, paths, setParams} from '../../app/router';
import {tableOf} from '../../data_table';
import {Badge, Card, EmptyState, ErrorState, PageHead, PlainTable, Skeleton, useTitle} from '../../design';
import {count, counted, duration, number} from '../../format';
import {isLive} from '../job_words';
import {Download} from '../download';
import {seriesStyle} from '../series';
import {Chooser} from './chooser';
import {byQuality} from './front';
import {Overlay} from './overlay';
import {type Cost, Scatter} from './scatter';
import './compare.css';

const kListedJobs = 200;
const kListMs = 10_000;
const kLiveMs = 3000;
const kJobCosts: Cost[] = [
  {label: 'elapsed time', of: (row) => row.elapsedSeconds},
  {label: 'node time', of: (row) => row.nodeSeconds},
];
// Groups of trials differ in size.
const kGroupCosts: Cost[] = [
  {label: 'training time per trial', of: (row) => row.elapsedSeconds / row.trials},
  {label: 'node time per trial', of: (row) => row.nodeSeconds / row.trials},
];

export default function ComparePage() {
  useTitle('Compare');
  const listed = useGet<{jobs: TuningJob[]}>('/v1/tuning-jobs', {pageSize: kListedJobs}, {every: kListMs});
  const jobs = (param('jobs') ?? '').split(',').filter(Boolean);
  const toggle = (id: string) => {
    const next = jobs.includes(id) ? jobs.filter((each) => each !== id) : [...jobs, id];
    setParams({jobs: next.join(',') || null, by: null});
  };
  return (
    <>
      <PageHead title="Compare" about="Quality against cost, for several jobs or for one job's trials by number of nodes or by a hyperparameter." />
      {listed.error && !listed.data ? (
        <div class="card">
          <ErrorState error={listed.error} retry={listed.reload} height={320} />
        </div>
      ) : (
        <div class="grid">
          <Chooser jobs={listed.data?.jobs} chosen={jobs} onToggle={toggle} />
          <div class="span-9 stack compare-side">
            {jobs.length === 0 ? (
              <div class="card">
                <EmptyState title="Select what to compare" height={360}>
                  Select two or more jobs with the same objective, or a single one to compare its trials by their number of nodes, or by the values of a
                  hyperparameter.
                </EmptyState>
              </div>
            ) : (
              <Result key={jobs.length > 1 ? 'jobs' : jobs[0]} jobs={jobs} listed={listed.data?.jobs} />
            )}
          </div>
        </div>
      )}
    </>
  );
}

// Whether one of these jobs, which are older than the list goes back, still runs.
function useAnyLive(ids: readonly string[]): boolean {
  const [live, setLive] = useState(false);
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async () => {
      await untilVisible(abort.signal);
      const answers = await Promise.allSettled(ids.map((id) => describeJob(id, abort.signal)));
      if (abort.signal.aborted) return;
      const some = answers.some((answer) => answer.status === 'fulfilled' && isLive(answer.value));
      setLive(some);
      if (some || answers.some((answer) => answer.status === 'rejected' && !isRefusal(answer.reason))) timer = setTimeout(look, kListMs);
    };
    if (ids.length) void look();
    else setLive(false);
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [ids.join()]);
  return live;
}

function Result({jobs, listed}: {jobs: string[]; listed: TuningJob[] | undefined}) {
  const single = jobs.length === 1;
  const by = single ? (param('by') ?? '') : '';
  const elsewhere = useAnyLive(listed ? jobs.filter((id) => !listed.some((job) => job.id === id)) : []);
  const live = elsewhere || (listed ?? []).some((job) => jobs.includes(job.id) && isLive(job));
  const {data, error, loading, reload} = useGet<Comparison>(address('/v1/comparison', {jobIds: jobs, by}), {}, {every: live ? kLiveMs : undefined, version: live});
  const fronts = Boolean(data?.objectives?.length);
  const lowerIsBetter = !fronts && data?.objective.goal === 'MINIMIZE';
  const metric = fronts ? 'hypervolume' : (data?.objective.metric ?? '');
  const given = (data?.rows ?? []).map((row) => (fronts ? {...row, best: row.hypervolume} : row));
  const rows = byQuality(given, lowerIsBetter);
  const colorOf = (row: ComparisonRow) => (single ? given.indexOf(row) : jobs.indexOf(row.name));
  const nameOf = (row: ComparisonRow) => (single && data!.by === 'nodes' ? counted(Number(row.name), 'node') : row.name);
  const pick = (row: ComparisonRow) => {
    if (!single) go(paths.job(row.name));
  };
  if (error && (!data || !loading)) {
    return (
      <>
        {single && <By job={jobs[0]} by={by} />}
        <div class="card">
          <ErrorState error={error} retry={reload} height={360} />
        </div>
      </>
    );
  }
  if (!data) return <Skeleton height={640} />;
  const download = (what: string) => rows.length > 0 && <Download name={`${what} by ${data.by}`} table={() => tableFor(given, data.by, fronts ? 'hypervolume' : metric)} />;
  return (
    <>
      {single && <By job={jobs[0]} by={by} />}
      <Card
        title={single ? `Trials of ${jobs[0]} by ${data.by}` : 'Side by side'} hint={`${lowerIsBetter ? 'lowest' : 'highest'} ${metric} first`}
        updating={loading}
        actions={download('comparison')}
      >
        {rows.length === 0 ? (
          <EmptyState title="Nothing to compare yet">No trial has been trained.</EmptyState>
        ) : (
          <Rows rows={rows} single={single} metric={metric} lowerIsBetter={lowerIsBetter} nameOf={nameOf} colorOf={colorOf} by={data.by} />
        )}
      </Card>
      <div class="grid">
        {(single ? kGroupCosts : kJobCosts).map((cost) => (
          <Card class="span-6" key={cost.label} title={`Quality against ${cost.label}`} hint="dashed: the best value for that cost; filled: on the Pareto front" actions={download(cost.label)}>
            <Scatter rows={rows} colorOf={colorOf} metric={metric} lowerIsBetter={lowerIsBetter} cost={cost} nameOf={nameOf} onPick={pick} />
          </Card>
        ))}
      </div>
      {!single && !fronts && <Overlay jobs={jobs} metric={metric} version={data} />}
    </>
  );
}

function tableFor(rows: ComparisonRow[], by: string, metric: string) {
  return tableOf({
    [by]: rows.map((row) => row.name),
    trials: rows.map((row) => row.trials),
    [metric]: rows.map((row) => row.best),
    elapsed_seconds: rows.map((row) => row.elapsedSeconds),
    node_seconds: rows.map((row) => row.nodeSeconds),
    pareto: rows.map((row) => (row.pareto ? 1 : 0)),
  });
}

// The list goes back so far only, and leaves long specs out.
function By({job, by}: {job: string; by: string}) {
  const parameters = useGet<TuningJob>(jobPath(job)).data?.spec.parameters ?? [];
  return (
    <label class="row">
      Trials are compared by
      <select class="input small" aria-label="Compare by" value={by} onChange={(event) => setParams({by: event.currentTarget.value || null})}>
        <option value="">number of nodes</option>
        {by && !parameters.some((parameter) => parameter.name === by) && <option value={by}>{by}</option>}
        {parameters.map((parameter) => (
          <option key={parameter.name} value={parameter.name}>
            {parameter.name}
          </option>
        ))}
      </select>
    </label>
  );
}

interface RowsProps {
  rows: ComparisonRow[];
  single: boolean;
  metric: string;
  lowerIsBetter: boolean;
  by: string;
  nameOf(row: ComparisonRow): string;
  colorOf(row: ComparisonRow): number;
}

function Rows({rows, single, metric, lowerIsBetter, by, nameOf, colorOf}: RowsProps) {
  return (
    <>
      <PlainTable
        label="Comparison"
        class="comparison"
        headings={[
          single ? (by === 'nodes' ? 'Nodes' : by) : 'Job',
          {num: 'Trials'},
          {num: `${lowerIsBetter ? 'Lowest' : 'Highest'} ${metric}`},
          {num: single ? 'Training time' : 'Elapsed'},
          {num: 'Node time'},
          'Pareto front',
        ]}
      >
        {rows.map((row) => (
          <tr key={row.name} class={row.pareto ? 'pareto' : undefined}>
            <th scope="row">
              <i class="swatch" style={{background: `var(${seriesStyle(colorOf(row)).color})`}} />
              {single ? nameOf(row) : <a href={paths.job(row.name)}>{row.name}</a>}
            </th>
            <td class="num">{count(row.trials)}</td>
            <td class="num">
              <strong>{number(row.best)}</strong>
            </td>
            <td class="num">{duration(row.elapsedSeconds)}</td>
            <td class="num">{duration(row.nodeSeconds)}</td>
            <td>{row.pareto ? <Badge tone="best">on it</Badge> : <span class="quiet">dominated</span>}</td>
          </tr>
        ))}
      </PlainTable>
      <p class="quiet comparison-note">
        On the Pareto front: no other {single ? 'row' : 'job'} is at least as good in {metric}, {single ? 'training time and node time per trial' : 'elapsed time and node time'}, and better in one of them.
      </p>
    </>
  );
}
