import {useEffect, useState} from 'preact/hooks';
import {address} from '../../api/client';
import {useGet} from '../../api/query';
import type {Progress, TuningJob} from '../../api/types';
import {go, param, paths, setParams} from '../../app/router';
import {maySubmit} from '../../app/session';
import {Sparkline} from '../../charts/sparkline';
import {Button, EmptyState, ErrorState, LinkButton, Menu, Meter, PageHead, Segmented, Skeleton, StateBadge, useTitle} from '../../design';
import {ago, amount, count, counted, duration, exactMoment, number, percent, shortCount} from '../../format';
import {askToDelete, askToStop, isLive, toneOf} from '../actions';
import {countsText, progressOf, savedOf, secondsLeft} from '../job_words';
import './home.css';

const kPageSize = 50;
const kLiveMs = 2000;
const kIdleMs = 10_000;

type Show = 'all' | 'running' | 'ended';
const kShows: {value: Show; label: string}[] = [
  {value: 'all', label: 'All'},
  {value: 'running', label: 'Running'},
  {value: 'ended', label: 'Ended'},
];

export default function JobsPage() {
  const [pages, setPages] = useState<string[]>(['']);
  const token = pages[pages.length - 1];
  const [live, setLive] = useState(false);
  const answer = useGet<{jobs: TuningJob[]; nextPageToken: string}>('/v1/tuning-jobs', {pageSize: kPageSize, pageToken: token}, {every: live ? kLiveMs : kIdleMs});
  const jobs = answer.data?.jobs ?? [];
  const someLive = jobs.some(isLive);
  useEffect(() => setLive(someLive), [someLive]);

  const show = (param('show') ?? 'all') as Show;
  const text = param('q') ?? '';
  const shown = jobs.filter((job) => (show === 'all' || (show === 'running') === isLive(job)) && job.id.toLowerCase().includes(text.toLowerCase()));
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());

  // Curves of jobs that have a best value; asked for again when one of them changes.
  const withBest = shown.filter((job) => job.best).map((job) => job.id);
  const version = shown.map((job) => job.lastSequence).join();
  const curves = useGet<{jobs: Progress[]}>(withBest.length ? address('/v1/progress', {jobIds: withBest, maxPoints: 80}) : null, {}, {version});
  const curveOf = new Map((curves.data?.jobs ?? []).map((each) => [each.jobId, each]));

  useTitle('Jobs');

  const toggle = (id: string) => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    setChosen(next);
  };

  return (
    <>
      <PageHead title="Tuning jobs">
        <div class="actions jobs-tools">
          {chosen.size > 0 && (
            <Button kind="primary" small icon="compare" disabled={chosen.size < 2} onClick={() => go(paths.compare([...chosen]))}>
              {chosen.size < 2 ? 'Select another to compare' : `Compare ${chosen.size} jobs`}
            </Button>
          )}
          <Segmented label="Which jobs" value={show} options={kShows} onChange={(value) => setParams({show: value === 'all' ? null : value}, {replace: true})} />
          <input
            class="input small"
            type="search"
            aria-label="Search by name"
            placeholder="Search by name"
            value={text}
            onInput={(event) => setParams({q: event.currentTarget.value}, {replace: true})}
          />
        </div>
      </PageHead>
      {answer.error && !answer.data ? (
        <div class="card">
          <ErrorState error={answer.error} retry={answer.reload} />
        </div>
      ) : !answer.data ? (
        <div class="jobs">
          {[0, 1, 2].map(() => (
            <Skeleton height={104} />
          ))}
        </div>
      ) : jobs.length === 0 && token === '' ? (
        <FirstJob />
      ) : (
        <>
          {answer.error && <p class="banner" role="status">{answer.error.message} What is shown may be out of date.</p>}
          <ul class="jobs" aria-label="Tuning jobs">
            {shown.map((job) => (
              <JobRow key={job.id} job={job} curve={curveOf.get(job.id)} chosen={chosen.has(job.id)} onChoose={() => toggle(job.id)} reload={answer.reload} />
            ))}
          </ul>
          {shown.length === 0 && (
            <div class="card">
              <EmptyState title="No matching jobs" actions={<Button onClick={() => setParams({q: null, show: null})}>Show all</Button>}>
                None of the {count(jobs.length)} jobs on this page matches the filter.
              </EmptyState>
            </div>
          )}
          {(pages.length > 1 || answer.data.nextPageToken) && (
            <div class="row pager">
              <Button small icon="left" disabled={pages.length === 1} onClick={() => setPages(pages.slice(0, -1))}>
                Newer
              </Button>
              <Button small disabled={!answer.data.nextPageToken} onClick={() => setPages([...pages, answer.data!.nextPageToken])}>
                Older
              </Button>
            </div>
          )}
        </>
      )}
    </>
  );
}

interface JobRowProps {
  job: TuningJob;
  curve?: Progress;
  chosen: boolean;
  onChoose(): void;
  reload(): void;
}
function JobRow({job, curve, chosen, onChoose, reload}: JobRowProps) {
  const saved = savedOf(job);
  const progress = progressOf(job);
  const live = isLive(job);
  const objective = job.spec.objective;
  const done = async (action: Promise<boolean>) => {
    if (await action) reload();
  };
  return (
    <li class="card job-row" data-job={job.id}>
      <label class="job-choose" title="Select to compare">
        <input type="checkbox" checked={chosen} onChange={onChoose} />
        <span class="sr">Choose {job.id} to compare</span>
      </label>
      <div class="job-name">
        <a href={paths.job(job.id)}>{job.id}</a>
        <div class="row">
          <StateBadge state={job.state} />
          {job.trialCounts.failed > 0 && (
            <a class="badge failed" href={paths.job(job.id, {f: ['#state:failed'], part: 'trials'})}>
              {count(job.trialCounts.failed)} failed
            </a>
          )}
          <span class="quiet nowrap" title={exactMoment(job.createTime)}>
            {ago(job.createTime)}
            {job.owner && ` · ${job.owner}`}
          </span>
        </div>
        <p class="quiet job-strategy" title={job.strategyText}>
          {job.strategyText}
        </p>
      </div>
      <div class="job-best">
        <span class="quiet job-metric" title={objective.metric}>
          {objective.goal === 'MINIMIZE' ? 'lowest' : 'highest'} {objective.metric}
        </span>
        <strong>{job.best ? number(job.best.objective) : '–'}</strong>
        <span class="quiet">{job.best ? `trial ${count(job.best.trial)}` : 'none reported yet'}</span>
      </div>
      <div class="job-curve">
        {curve ? (
          <Sparkline x={curve.elapsedSeconds} y={curve.best} width={180} height={52} label={`Best ${objective.metric} over time, now ${number(job.best?.objective)}`} />
        ) : (
          <span class="sparkline-none" />
        )}
      </div>
      <div class="job-progress">
        <div class="row between">
          <span>{progress.text}</span>
          <span class="quiet">{live ? leftText(job) : duration(job.spend.elapsedSeconds)}</span>
        </div>
        <Meter part={progress.part} label={`Progress of ${job.id}`} tone={toneOf(job)} />
        <p class="quiet job-counts" title={job.stateReason || countsText(job.trialCounts)}>
          {countsText(job.trialCounts) || job.stateReason}
        </p>
      </div>
      <dl class="job-spend">
        <div>
          <dt>trained</dt>
          <dd>
            {amount(job.spend.resource)} <span class="quiet">units</span>
          </dd>
        </div>
        <div>
          <dt>saved</dt>
          <dd class={saved.units > 0 ? 'job-saved' : 'quiet'} title={saved.units > 0 ? `${counted(saved.units, 'unit')} that pruned trials were not trained${live ? ', so far' : ''}` : undefined}>
            {saved.units === 0 ? '–' : live ? `${shortCount(saved.units)} units` : percent(saved.part)}
          </dd>
        </div>
        <div>
          <dt>node time</dt>
          <dd>{duration(job.spend.billableNodeSeconds)}</dd>
        </div>
      </dl>
      <div class="job-menu">
        {maySubmit() && (
          <Menu label={`Actions on ${job.id}`} icon="more">
            <a role="menuitem" href={paths.submit(job.id)}>
              Run again with changes
            </a>
            {live ? (
              <button type="button" role="menuitem" class="danger" disabled={job.state === 'STOPPING'} onClick={() => void done(askToStop(job))}>
                Stop…
              </button>
            ) : (
              <button type="button" role="menuitem" class="danger" onClick={() => void done(askToDelete(job))}>
                Delete…
              </button>
            )}
          </Menu>
        )}
      </div>
    </li>
  );
}

const kCommands = `winnow submit examples/direct-marketing.json --watch   # from the command line
winnow plan examples/direct-marketing.json             # what it would run, without running it`;

function FirstJob() {
  return (
    <div class="card">
      <EmptyState
        title="No jobs yet"
        height={320}
        actions={
          maySubmit() ? (
            <LinkButton href={paths.submit()} kind="primary" icon="plus">
              Write a job here
            </LinkButton>
          ) : undefined
        }
      >
        <p>A job is a search: ranges for hyperparameters, an objective and a trainer. Submit the first one and watch it here.</p>
        <pre class="code first-job">{kCommands}</pre>
      </EmptyState>
    </div>
  );
}

// "about 45.9 s left"
function leftText(job: TuningJob): string {
  const left = secondsLeft(job);
  return Number.isFinite(left) ? `about ${duration(left)} left` : '';
}
