import {useState} from 'preact/hooks';
import type {TuningJob} from '../../api/types';
import {Card, EmptyState, Skeleton, StateBadge} from '../../design';
import {count, number} from '../../format';
import {shownState} from '../job_words';
import {objectivesOf} from '../objectives';

interface Props {
  jobs: TuningJob[] | undefined;
  chosen: string[];
  onToggle(id: string): void;
}

// Jobs to tick, those that are chosen first.
export function Chooser({jobs, chosen, onToggle}: Props) {
  const [text, setText] = useState('');
  const known = jobs?.map((job) => job.id) ?? [];
  const wanted = (id: string) => id.toLowerCase().includes(text.toLowerCase());
  const elsewhere = chosen.filter((id) => !known.includes(id));  // older than the list goes back
  const shown = (jobs ?? []).filter((job) => wanted(job.id) || chosen.includes(job.id));
  return (
    <Card title="Jobs" class="span-3 chooser" hint={chosen.length ? `${count(chosen.length)} chosen` : undefined}>
      <input class="input small chooser-search" type="search" aria-label="Search jobs" placeholder="Search" value={text} onInput={(event) => setText(event.currentTarget.value)} />
      {!jobs ? (
        <Skeleton height={110} />
      ) : jobs.length === 0 ? (
        <EmptyState title="No jobs yet">There is nothing to compare.</EmptyState>
      ) : (
        <ul class="chooser-list" tabIndex={0} aria-label="Jobs to compare">
          {elsewhere.map((id) => (
            <li key={id}>
              <label>
                <input type="checkbox" checked onChange={() => onToggle(id)} />
                <span class="chooser-name">{id}</span>
              </label>
            </li>
          ))}
          {shown.map((job) => (
            <li key={job.id}>
              <label>
                <input type="checkbox" checked={chosen.includes(job.id)} onChange={() => onToggle(job.id)} />
                <span class="chooser-name">{job.id}</span>
                <StateBadge state={shownState(job)} />
                <span class="quiet chooser-best">
                  {objectivesOf(job).length ? `front of ${count(job.frontTrials ?? 0)}` : `${job.spec.objective.metric} ${number(job.best?.objective)}`}
                </span>
              </label>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
