import type {GetWorkerUsageResponse, Worker} from '../../api/types';
import {type DataTable, tableOfItems} from '../../data_table';

// What the page shows, as tables to be downloaded. Pure.

export function workersTable(workers: readonly Worker[]): DataTable {
  return tableOfItems(workers, {
    worker: (worker) => worker.name,
    host: (worker) => worker.host,
    state: (worker) => worker.state,
    scheduling: (worker) => worker.scheduling,
    reason: (worker) => worker.schedulingReason,
    slots: (worker) => worker.slots,
    used_slots: (worker) => worker.usedSlots,
    waiting_trainers: (worker) => worker.waitingTrainers ?? 0,
    suspended_trainers: (worker) => worker.suspendedTrainers ?? 0,
    parents: (worker) => worker.parents ?? 0,
    cpus: (worker) => worker.cpus,
    memory_gib: (worker) => worker.memoryGib,
    gpus: (worker) => worker.gpus?.length ?? 0,
    host_cpu: (worker) => worker.hostCpu,
    host_memory: (worker) => worker.hostMemory,
    version: (worker) => worker.version,
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
