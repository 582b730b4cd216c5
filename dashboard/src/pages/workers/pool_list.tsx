import type {Allocation, Pool} from '../../api/types';
import {Meter} from '../../design';
import {ago, counted, number} from '../../format';

const kSecondsOfHour = 3600;
const kMostShown = 4;  // allocations of a pool

// The pools: how many nodes they have, what these cost, and what their engines say.
export function PoolList({pools}: {pools: Pool[]}) {
  return (
    <ul class="worker-list">
      {pools.map((pool) => (
        <PoolRow key={pool.name} pool={pool} />
      ))}
    </ul>
  );
}

function PoolRow({pool}: {pool: Pool}) {
  const nodes = pool.queuedNodes + pool.runningNodes;
  const told = pool.allocations.filter((allocation) => allocation.reason !== '').slice(0, kMostShown);
  return (
    <li class="worker" aria-label={`Pool ${pool.name}`}>
      <div class="worker-who">
        <h3>{pool.name}</h3>
        <p class="quiet">{pool.kind}</p>
        {pool.stateReason !== '' && <p class="worker-reason">{pool.stateReason}</p>}
      </div>
      <dl class="worker-room">
        <div>
          <dt>Nodes</dt>
          <dd>
            <Meter part={nodes / pool.maxNodes} label="Nodes" />
            <span>
              {nodes} of {pool.maxNodes}
            </span>
          </dd>
        </div>
      </dl>
      <div class="worker-runs">
        <p>
          {counted(pool.queuedNodes, 'node')} queued, {counted(pool.runningNodes, 'node')} running, {counted(pool.workers, 'worker')} · {number(pool.nodeSeconds / kSecondsOfHour, 4)} node
          hours{pool.cost > 0 && `, cost ${pool.cost.toFixed(2)}`}
        </p>
        <ul class="quiet worker-small">
          {told.map((allocation) => (
            <li key={allocation.name}>
              {allocation.name} {wordOf(allocation)}: {allocation.reason}
            </li>
          ))}
        </ul>
      </div>
    </li>
  );
}

function wordOf({state, endTime}: Allocation): string {
  if (state === 'ENDED') return `ended ${ago(endTime)}`;
  return state === 'RUNNING' ? 'runs' : 'waits';
}
