import type {GetWorkerUsageResponse, Worker} from '../../api/types';
import {type DataTable, tableOf} from '../../data_table';

// What the page shows, as tables to be downloaded. Pure.

export function workersTable(workers: readonly Worker[]): DataTable {
  const column = (of: (worker: Worker) => string | number | undefined) => workers.map(of);
  return tableOf({
    worker: column((worker) => worker.name),
    host: column((worker) => worker.host),
    state: column((worker) => worker.state),
    scheduling: column((worker) => worker.scheduling),
    reason: column((worker) => worker.schedulingReason),
    slots: column((worker) => worker.slots),
    used_slots: column((worker) => worker.usedSlots),
    cpus: column((worker) => worker.cpus),
    memory_gib: column((worker) => worker.memoryGib),
    gpus: column((worker) => worker.gpus?.length ?? 0),
    host_cpu: column((worker) => worker.hostCpu),
    host_memory: column((worker) => worker.hostMemory),
    version: column((worker) => worker.version),
  });
}

export function usageTable({startTime, stepSeconds, workers}: GetWorkerUsageResponse): DataTable {
  const start = new Date(startTime).getTime();
  const table: DataTable = {columns: ['worker', 'time', 'cpu', 'memory', 'slots_used', 'slots'], rows: []};
  for (const each of workers) {
    each.cpu.forEach((cpu, i) => table.rows.push([each.worker, new Date(start + i * stepSeconds * 1000).toISOString(), cpu, each.memory[i], each.slotsUsed[i], each.slots]));
  }
  return table;
}
