import {useGet} from '../../api/query';
import type {GetWorkerUsageResponse, Pool, Worker} from '../../api/types';
import {param, setParams} from '../../app/router';
import {Card, EmptyState, ErrorState, PageHead, Segmented, Skeleton, Stat, Stats, useTitle} from '../../design';
import {count, number, percent} from '../../format';
import {Download} from '../download';
import type {Measure} from './heat';
import {HeatMap, kMeasures} from './heat_map';
import {PoolList} from './pool_list';
import {usageTable, workersTable} from './tables';
import {WorkerTable} from './worker_table';
import './workers.css';

const kEveryMs = 3000;
const kUsageEveryMs = 5000;
const kUsagePoints = 180;
const kHeatLeastPx = 130;
const kSpans = [
  {value: '900', label: '15 min'},
  {value: '3600', label: '1 h'},
  {value: '21600', label: '6 h'},
  {value: '86400', label: '1 d'},
  {value: '604800', label: '7 d'},
];

export default function WorkersPage() {
  useTitle('Workers');
  const gone = param('gone') === '1';
  const {data, error, reload} = useGet<{workers: Worker[]}>('/v1/workers', {includeGone: gone || undefined}, {every: kEveryMs});
  return (
    <>
      <PageHead title="Workers" about="Where trials run, how busy each worker is, and which workers get no new trials." />
      <div class="stack">
        {data ? <Totals workers={data.workers} /> : !error && (
          <div class="workers-waits">
            <Skeleton height="100%" />
          </div>
        )}
        {!data && error ? (
          <ErrorState error={error} retry={reload} height={240} />
        ) : (
          <>
            <Usage />
            <Pools />
            <Card
              title="Workers and their trials"
              hint={data && `${count(data.workers.length)} ${data.workers.length === 1 ? 'worker' : 'workers'}`}
              actions={
                <div class="row">
                  <label class="row quiet">
                    <input type="checkbox" checked={gone} onChange={(event) => setParams({gone: event.currentTarget.checked ? '1' : null}, {replace: true})} />
                    Show disconnected workers
                  </label>
                  {data && data.workers.length > 0 && <Download name="workers" table={() => workersTable(data.workers)} />}
                </div>
              }
            >
              {data ? <WorkerTable workers={data.workers} changed={reload} /> : <Skeleton height={160} />}
            </Card>
          </>
        )}
      </div>
    </>
  );
}

// Nothing where the server has no pools.
function Pools() {
  const {data, error, reload} = useGet<{pools: Pool[]}>('/v1/pools', {}, {every: kEveryMs});
  if (error && !data) return <ErrorState error={error} retry={reload} height={120} />;
  if (!data || data.pools.length === 0) return null;
  return (
    <Card title="Pools" hint="Nodes from Slurm, Kubernetes and other engines">
      <PoolList pools={data.pools} />
    </Card>
  );
}

function Totals({workers}: {workers: Worker[]}) {
  const live = workers.filter((worker) => worker.state === 'LIVE' || worker.state === 'LEAVING');
  const sum = (of: (worker: Worker) => number) => live.reduce((total, worker) => total + of(worker), 0);
  const slots = sum((worker) => worker.slots);
  const used = sum((worker) => worker.usedSlots);
  const held = live.filter((worker) => worker.scheduling !== 'OPEN');
  const memory = sum((worker) => worker.memoryGib);
  const gpus = live.flatMap((worker) => worker.gpus ?? []);
  const faulty = gpus.filter((gpu) => gpu.fault).length;
  return (
    <Stats>
      <Stat label="Live workers" value={count(live.length)} note={held.length ? `${count(held.length)} get no new trials` : 'all accept trials'} />
      <Stat
        label="Slots in use"
        value={
          <>
            {count(used)} <small>of {count(slots)}</small>
          </>
        }
        note={slots ? percent(used / slots) : 'no slots'}
      />
      <Stat label="CPUs" value={number(sum((worker) => worker.cpus), 4)} note="for trainers, of all live workers" />
      <Stat
        label="Memory"
        value={
          <>
            {number(memory, 4)} <small>GiB</small>
          </>
        }
        note="for trainers, of all live workers"
      />
      {gpus.length > 0 && (
        <Stat
          label="GPUs in use"
          value={
            <>
              {number(sum((worker) => (worker.gpus ?? []).reduce((total, gpu) => total + gpu.used, 0)), 4)} <small>of {count(gpus.length)}</small>
            </>
          }
          note={faulty ? `${count(faulty)} ${faulty === 1 ? 'has' : 'have'} a fault` : 'all healthy'}
        />
      )}
    </Stats>
  );
}

function Usage() {
  const measure = (kMeasures.find((each) => each.value === param('show'))?.value ?? 'cpu') as Measure;
  const seconds = kSpans.find((span) => span.value === param('back'))?.value ?? '900';
  const {data, error, loading, reload} = useGet<GetWorkerUsageResponse>('/v1/usage', {seconds: Number(seconds), maxPoints: kUsagePoints}, {every: kUsageEveryMs});
  let content;
  if (data && data.workers.length > 0) content = <HeatMap answer={data} measure={measure} />;
  else if (data) {
    content = (
      <EmptyState title="No measurements in this time" height={kHeatLeastPx}>
        Workers report their load every few seconds. Look further back, or start a worker.
      </EmptyState>
    );
  } else content = error ? <ErrorState error={error} retry={reload} height={kHeatLeastPx} /> : <Skeleton height={kHeatLeastPx} />;
  return (
    <Card
      title="Utilisation"
      updating={loading && !data}
      actions={
        <div class="row">
          <span class="heat-key" aria-hidden="true">
            0 % <i /> 100 %
          </span>
          <Segmented label="Measure" value={measure} options={kMeasures} onChange={(value) => setParams({show: value === 'cpu' ? null : value}, {replace: true})} />
          <Segmented label="Period" value={seconds} options={kSpans} onChange={(value) => setParams({back: value === '900' ? null : value}, {replace: true})} />
          {data && data.workers.length > 0 && <Download name="utilisation" table={() => usageTable(data)} />}
        </div>
      }
    >
      <div class="heat-room">{content}</div>
    </Card>
  );
}
