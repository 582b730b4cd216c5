import type {Attempt} from '../../api/types';
import {tableOfItems} from '../../data_table';
import {Badge, Card, EmptyState, PlainTable, type Tone} from '../../design';
import {count, duration, exactMoment, moment} from '../../format';
import {Download} from '../download';

const kTones: Record<string, Tone> = {'': 'running', finished: 'completed', stopped: 'pruned', failed: 'failed', lost: 'failed', 'handed back': 'paused'};

function seconds(attempt: Attempt): number {
  if (!attempt.startTime) return Number.NaN;
  return ((attempt.endTime ? new Date(attempt.endTime).getTime() : Date.now()) - new Date(attempt.startTime).getTime()) / 1000;
}

function tableFor(attempts: Attempt[]) {
  return tableOfItems(attempts, {
    attempt: (each) => each.number,
    outcome: (each) => each.outcome,
    reason: (each) => each.reason,
    from: (each) => each.resourceFrom,
    to: (each) => each.resourceTo,
    workers: (each) => each.ranks.map((rank) => rank.worker).join(' '),
    start_time: (each) => each.startTime,
    end_time: (each) => each.endTime,
    seconds,
  });
}

// Newest first. `name`: of the trial, for files.
export function Attempts({attempts, name}: {attempts: Attempt[]; name: string}) {
  return (
    <Card title="Attempts" class="span-7" hint={attempts.length > 1 ? 'each part of the training is an attempt' : undefined} actions={attempts.length > 0 && <Download name={`${name} attempts`} table={() => tableFor(attempts)} />}>
      {attempts.length === 0 ? (
        <EmptyState title="Not placed yet" height={140}>
          It waits for free slots. The Workers page shows which trials use them.
        </EmptyState>
      ) : (
        <PlainTable label="Attempts, newest first" class="attempts" headings={[{num: 'No.'}, 'Outcome', 'Trained', 'Ranks', 'Started', {num: 'Duration'}]}>
          {[...attempts].reverse().map((attempt) => (
            <tr key={attempt.number}>
              <td class="num">{count(attempt.number)}</td>
              <td>
                <Badge tone={kTones[attempt.outcome] ?? ''}>{attempt.outcome || 'running'}</Badge>
                {attempt.reason && <p class="attempt-reason">{attempt.reason}</p>}
              </td>
              <td class="nowrap">
                {count(attempt.resourceFrom)} → {attempt.resourceTo ? count(attempt.resourceTo) : 'its end'}
              </td>
              <td>
                <ul class="ranks">
                  {attempt.ranks.map((rank) => (
                    <li key={rank.rank}>
                      {attempt.ranks.length > 1 && <span class="quiet">rank {rank.rank} </span>}
                      {rank.worker} <span class="quiet">on {rank.host}</span>
                      {rank.preparing && <p class="attempt-reason">{rank.preparing}</p>}
                    </li>
                  ))}
                </ul>
              </td>
              <td class="nowrap" title={exactMoment(attempt.startTime)}>
                {moment(attempt.startTime)}
              </td>
              <td class="num nowrap">{duration(seconds(attempt))}</td>
            </tr>
          ))}
        </PlainTable>
      )}
    </Card>
  );
}
