import {post} from '../../api/client';
import type {Worker} from '../../api/types';
import {paths} from '../../app/router';
import {mayAdminister} from '../../app/session';
import {ask, Badge, Button, EmptyState, Meter, StateBadge, toast} from '../../design';
import {ago, exactMoment, number, percent} from '../../format';
import {runsOf} from './runs';

const kMostShown = 6;  // assignments of a worker

export function WorkerTable({workers, changed}: {workers: Worker[]; changed(): void}) {
  if (workers.length === 0) {
    return (
      <EmptyState title="No workers" height={160}>
        Trials wait for a worker. Start one on any machine that reaches this server:
        <pre class="code">winnow-worker --server HOST:PORT --shared-dir FOLDER</pre>
      </EmptyState>
    );
  }
  const sorted = [...workers].sort((a, b) => Number(a.state !== 'LIVE') - Number(b.state !== 'LIVE') || a.name.localeCompare(b.name, 'en', {numeric: true}));
  return (
    <ul class="worker-list">
      {sorted.map((worker) => (
        <WorkerRow key={worker.id} worker={worker} changed={changed} />
      ))}
    </ul>
  );
}

function WorkerRow({worker, changed}: {worker: Worker; changed(): void}) {
  const here = worker.state === 'LIVE' || worker.state === 'LEAVING';
  const gpus = worker.gpus ?? [];
  const gpusUsed = gpus.reduce((total, gpu) => total + gpu.used, 0);
  const labels = Object.entries(worker.labels ?? {});
  return (
    <li class={`worker${here ? '' : ' away'}`} aria-label={worker.name}>
      <div class="worker-who">
        <h3>{worker.name}</h3>
        <p class="quiet">
          {worker.host} · {worker.version}
        </p>
        <p class="row">
          <StateBadge state={worker.state} />
          {worker.scheduling !== 'OPEN' && <StateBadge state={worker.scheduling} />}
        </p>
        {gpus
          .filter((gpu) => gpu.fault)
          .map((gpu) => (
            <p key={gpu.id} class="worker-reason">
              GPU {gpu.id} gets no trials: {gpu.fault}
            </p>
          ))}
        {worker.scheduling !== 'OPEN' && <p class="worker-reason">{worker.schedulingReason || 'No reason was given.'}</p>}
      </div>
      <dl class="worker-room">
        <Room name="Slots" part={worker.slots ? worker.usedSlots / worker.slots : 0} text={`${worker.usedSlots} of ${worker.slots}`} />
        <Room name="CPUs" part={worker.hostCpu} text={`${worker.hostCpu === undefined ? '–' : percent(worker.hostCpu)} of ${number(worker.cpus, 3)}`} />
        <Room name="Memory" part={worker.hostMemory} text={`${worker.hostMemory === undefined ? '–' : percent(worker.hostMemory)} of ${number(worker.memoryGib, 3)} GiB`} />
        {gpus.length > 0 && <Room name="GPUs" part={gpusUsed / gpus.length} text={`${number(gpusUsed, 3)} of ${gpus.length}`} />}
        <GpuUse name="GPU use" parts={gpus.map((gpu) => gpu.utilization)} />
        <GpuUse name="GPU memory" parts={gpus.map((gpu) => gpu.memory)} />
      </dl>
      <div class="worker-runs">
        <Runs ids={worker.assignmentIds} here={here} />
        <p class="quiet worker-small">
          Limits enforced by {worker.limits || 'nothing'} · {waitingText(worker)}
          <span title={exactMoment(worker.lastSyncTime)}>last seen {ago(worker.lastSyncTime)}</span>
          {labels.length > 0 && ' · '}
          {labels.map(([name, value]) => (
            <code key={name} class="worker-label">
              {value ? `${name}=${value}` : name}
            </code>
          ))}
        </p>
      </div>
      {mayAdminister() && here && <Actions worker={worker} changed={changed} />}
    </li>
  );
}

/** "3 programs wait (1 suspended), 1 parent · ", or nothing. */
function waitingText({waitingTrainers = 0, suspendedTrainers = 0, parents = 0}: Worker): string {
  const texts: string[] = [];
  const suspended = suspendedTrainers ? ` (${suspendedTrainers} suspended)` : '';
  if (waitingTrainers) texts.push(`${waitingTrainers === 1 ? '1 program waits' : `${waitingTrainers} programs wait`}${suspended}`);
  if (parents) texts.push(`${parents} ${parents === 1 ? 'parent' : 'parents'}`);
  return texts.map((text) => `${text} · `).join('');
}

/** The mean over those GPUs that tell it, and each one where there are several. */
function GpuUse({name, parts}: {name: string; parts: (number | undefined)[]}) {
  const known = parts.filter((part) => part !== undefined);
  if (known.length === 0) return null;
  const mean = known.reduce((total, part) => total + part, 0) / known.length;
  const each = parts.map((part) => (part === undefined ? '–' : percent(part))).join(', ');
  return <Room name={name} part={mean} text={known.length > 1 && parts.length <= 4 ? each : percent(mean)} />;
}

function Room({name, part, text}: {name: string; part: number | undefined; text: string}) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <Meter part={part ?? 0} label={name} />
        <span>{text}</span>
      </dd>
    </div>
  );
}

function Runs({ids, here}: {ids: string[]; here: boolean}) {
  if (ids.length === 0) return <p class="quiet">{here ? 'Idle.' : 'Disconnected.'}</p>;
  return (
    <ul class="row">
      {ids.slice(0, kMostShown).map((id) => {
        const runs = runsOf(id);
        return (
          <li key={id}>
            {runs ? (
              <a class="worker-run" href={paths.trial(runs.job, runs.trial)}>
                {runs.job} · trial {runs.trial}
                {runs.rank > 0 && ` · rank ${runs.rank}`}
              </a>
            ) : (
              <code>{id}</code>
            )}
          </li>
        );
      })}
      {ids.length > kMostShown && (
        <li>
          <Badge>and {ids.length - kMostShown} more</Badge>
        </li>
      )}
    </ul>
  );
}

type Scheduling = 'OPEN' | 'CORDONED' | 'DRAINING';
const kActions: Record<Scheduling, {label: string; title(name: string): string; text: string; confirm: string; done: string}> = {
  CORDONED: {
    label: 'Cordon',
    title: (name) => `Cordon ${name}?`,
    text: 'Its running trials continue. It gets no new trials until it is uncordoned.',
    confirm: 'Cordon it',
    done: 'gets no new trials',
  },
  DRAINING: {
    label: 'Drain',
    title: (name) => `Drain ${name}?`,
    text: 'It gets no new trials. Its running trials save a checkpoint and continue on other workers, which does not count as an attempt.',
    confirm: 'Drain it',
    done: 'hands back its trials',
  },
  OPEN: {
    label: 'Uncordon',
    title: (name) => `Let ${name} run trials again?`,
    text: 'This also ends a quarantine.',
    confirm: 'Uncordon it',
    done: 'accepts trials again',
  },
};

function Actions({worker, changed}: {worker: Worker; changed(): void}) {
  const schedule = async (scheduling: Scheduling) => {
    const words = kActions[scheduling];
    let reason = '';
    const yes = await ask({
      title: words.title(worker.name),
      text: (
        <>
          <p>{words.text}</p>
          {scheduling !== 'OPEN' && (
            <label class="field worker-why">
              <span>Reason, shown to everyone</span>
              <input class="input" maxLength={200} placeholder="kernel update" onInput={(event) => (reason = event.currentTarget.value)} />
            </label>
          )}
        </>
      ),
      confirm: words.confirm,
      action: () => post(`/v1/workers/${encodeURIComponent(worker.name)}/scheduling`, {scheduling, reason}),
    });
    if (!yes) return;
    toast(`${worker.name} ${words.done}.`);
    changed();
  };
  const offered: Scheduling[] = worker.scheduling === 'OPEN' ? ['CORDONED', 'DRAINING'] : worker.scheduling === 'CORDONED' ? ['OPEN', 'DRAINING'] : ['OPEN'];
  return (
    <div class="worker-actions">
      {offered.map((scheduling) => (
        <Button small key={scheduling} aria-label={`${kActions[scheduling].label} ${worker.name}`} onClick={() => void schedule(scheduling)}>
          {kActions[scheduling].label}
        </Button>
      ))}
    </div>
  );
}
