import {useEffect, useState} from 'preact/hooks';
import {address} from '../../api/client';
import {useGet} from '../../api/query';
import type {JobState, Progress, Project, TuningJob} from '../../api/types';
import {go, param, params, paths, setParams} from '../../app/router';
import {mayChange, maySubmit} from '../../app/session';
import {Sparkline} from '../../charts/sparkline';
import {Button, EmptyState, ErrorState, Icon, LinkButton, Menu, Meter, PageHead, Skeleton, StateBadge, useTitle} from '../../design';
import {ago, amount, count, counted, duration, exactMoment, number, percent, shortCount, unitWord} from '../../format';
import {askToDelete, askToDeleteAll, askToStop, isFavourite, kFavourite, toggleFavourite, toneOf} from '../actions';
import {TagChips} from '../annotation/annotation';
import {Download} from '../download';
import {countsText, isLive, progressOf, savedOf, secondsLeft, shownState} from '../job_words';
import {objectivesOf} from '../objectives';
import {jobsTable} from './table';
import './home.css';

const kPageSize = 50;
const kLiveMs = 2000;
const kIdleMs = 10_000;

type Show = 'all' | 'favourites' | 'running' | 'completed' | 'stopped' | 'failed' | 'ended';
const kShows: {value: Show; label: string; states: JobState[]}[] = [
  {value: 'all', label: 'All', states: []},
  {value: 'favourites', label: 'Favourites', states: []},
  {value: 'running', label: 'Running', states: ['RUNNING', 'STOPPING']},
  {value: 'ended', label: 'Ended', states: ['COMPLETED', 'STOPPED', 'FAILED']},
  {value: 'completed', label: 'Completed', states: ['COMPLETED']},
  {value: 'stopped', label: 'Stopped', states: ['STOPPED']},
  {value: 'failed', label: 'Failed', states: ['FAILED']},
];
// While the search is typed into.
const kTypingMs = 200;

export default function JobsPage() {
  const show = kShows.find((each) => each.value === param('show')) ?? kShows[0];
  const text = param('q') ?? '';
  const tags = params('tag');
  const project = param('project') ?? '';
  const projects = useGet<{projects: Project[]}>('/v1/projects').data?.projects ?? [];
  const filter = {states: show.states, search: text, project, tags: show.value === 'favourites' ? [...tags, kFavourite] : tags};
  const isFiltered = show.value !== 'all' || text !== '' || tags.length > 0 || project !== '';
  // The pages that were gone through; a new filter begins with the first.
  const filterKey = JSON.stringify(filter);
  const [walked, setWalked] = useState({filterKey, tokens: ['']});
  const pages = walked.filterKey === filterKey ? walked.tokens : [''];
  const setPages = (tokens: string[]) => setWalked({filterKey, tokens});
  const token = pages[pages.length - 1];
  const [live, setLive] = useState(false);
  const answer = useGet<{jobs: TuningJob[]; nextPageToken: string}>('/v1/tuning-jobs', {pageSize: kPageSize, pageToken: token, ...filter}, {every: live ? kLiveMs : kIdleMs, debounce: kTypingMs});
  const shown = answer.data?.jobs ?? [];
  const someLive = shown.some(isLive);
  useEffect(() => setLive(someLive), [someLive]);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const ended = shown.filter((job) => chosen.has(job.id) && !isLive(job) && mayChange(job));
  const clear = () => setParams({q: null, show: null, tag: null, project: null});

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
          {ended.length > 0 && (
            <Button kind="danger" small icon="trash" onClick={() => void askToDeleteAll(ended).finally(() => (setChosen(new Set()), answer.reload()))}>
              Delete {count(ended.length)} ended
            </Button>
          )}
          {tags.map((tag) => (
            <span class="chip" key={tag}>
              <strong>tag</strong> {tag}
              <button type="button" aria-label={`Remove the filter on the tag ${tag}`} onClick={() => setParams({tag: tags.filter((each) => each !== tag)})}>
                <Icon name="close" />
              </button>
            </span>
          ))}
          {(projects.length > 0 || project !== '') && (
            <select class="input small" aria-label="Project" value={project} onChange={(event) => setParams({project: event.currentTarget.value || null}, {replace: true})}>
              <option value="">All projects</option>
              {[...new Set(['default', ...projects.map((each) => each.name), ...(project ? [project] : [])])].map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          )}
          <select class="input small" aria-label="Which jobs" value={show.value} onChange={(event) => setParams({show: event.currentTarget.value === 'all' ? null : event.currentTarget.value}, {replace: true})}>
            {kShows.map((each) => (
              <option key={each.value} value={each.value}>
                {each.label}
              </option>
            ))}
          </select>
          <input
            class="input small"
            type="search"
            aria-label="Search jobs"
            title="Text of a job's id, tags, note, owner, metrics or hyperparameters"
            placeholder="Search"
            value={text}
            onInput={(event) => setParams({q: event.currentTarget.value}, {replace: true})}
          />
          {shown.length > 0 && <Download name="jobs" table={() => jobsTable(filter)} />}
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
      ) : shown.length === 0 && token === '' && !isFiltered && answer.current ? (
        <FirstJob />
      ) : (
        <>
          {answer.error && <p class="banner" role="status">{answer.error.message} What is shown may be out of date.</p>}
          <ul class="jobs" aria-label="Tuning jobs">
            {shown.map((job) => (
              <JobRow key={job.id} job={job} curve={curveOf.get(job.id)} chosen={chosen.has(job.id)} onChoose={() => toggle(job.id)} reload={answer.reload} />
            ))}
          </ul>
          {shown.length === 0 && answer.current && (
            <div class="card">
              <EmptyState title="No matching jobs" actions={<Button onClick={clear}>Show all</Button>}>
                The search looks at ids, tags, notes, owners, metrics and hyperparameters.
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
      <label class="job-choose" title="Select to compare or delete">
        <input type="checkbox" checked={chosen} onChange={onChoose} />
        <span class="sr">Choose {job.id} to compare</span>
      </label>
      <div class="job-name">
        <a href={paths.job(job.id)}>{job.id}</a>
        <div class="row">
          <StateBadge state={shownState(job)} />
          {job.trialCounts.failed > 0 && (
            <a class="badge failed" href={paths.job(job.id, {f: ['#state:failed'], part: 'trials'})}>
              {count(job.trialCounts.failed)} failed
            </a>
          )}
          <span class="quiet nowrap" title={exactMoment(job.createTime)}>
            {ago(job.createTime)}
            {job.owner && ` · ${job.owner}`}
            {job.project && ` · project ${job.project}`}
          </span>
        </div>
        {(job.annotation?.tags.length ?? 0) > 0 && (
          <span class="tags">
            <TagChips tags={job.annotation!.tags} />
          </span>
        )}
        {job.annotation?.note && (
          <p class="job-note" title={job.annotation.note}>
            {job.annotation.note}
          </p>
        )}
        <p class="quiet job-strategy" title={job.strategyText}>
          {job.strategyText}
        </p>
      </div>
      <FoundSoFar job={job} />
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
            {amount(job.spend.resource)} <span class="quiet">{unitWord(job.spend.resource)}</span>
          </dd>
        </div>
        <div>
          <dt>saved</dt>
          <dd class={saved.units > 0 ? 'job-saved' : 'quiet'} title={saved.units > 0 ? `${counted(saved.units, 'unit')} that pruned trials were not trained${live ? ', so far' : ''}` : undefined}>
            {saved.units === 0 ? '–' : live ? `${shortCount(saved.units)} ${unitWord(saved.units)}` : percent(saved.part)}
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
            {mayChange(job) && (
              <button type="button" role="menuitem" onClick={() => void done(toggleFavourite(job))}>
                {isFavourite(job) ? 'Remove from favourites' : 'Add to favourites'}
              </button>
            )}
            {!mayChange(job) ? null : live ? (
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

const kCommands = `# what a job would run, without running it
winnow plan examples/direct-marketing.json
# run it, and follow it in the terminal too
winnow submit examples/direct-marketing.json --watch`;

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

// The best value; with several objectives, how many trials the Pareto front has.
function FoundSoFar({job}: {job: TuningJob}) {
  const {metric, goal} = job.spec.objective;
  const several = objectivesOf(job);
  const front = job.frontTrials ?? 0;
  const label = several.length ? several.map((each) => each.metric).join(', ') : `${goal === 'MINIMIZE' ? 'lowest' : 'highest'} ${metric}`;
  const none = isLive(job) ? 'none reported yet' : 'none reported';
  return (
    <div class="job-best">
      <span class="quiet job-metric" title={several.length ? label : metric}>
        {label}
      </span>
      {several.length ? (
        <>
          <strong>{front > 0 ? count(front) : '–'}</strong>
          <span class="quiet">{front > 0 ? 'on the Pareto front' : none}</span>
        </>
      ) : (
        <>
          <strong>{job.best ? number(job.best.objective) : '–'}</strong>
          <span class="quiet">{job.best ? `trial ${count(job.best.trial)}` : none}</span>
        </>
      )}
    </div>
  );
}

// "about 45.9 s left"
function leftText(job: TuningJob): string {
  const left = secondsLeft(job);
  return Number.isFinite(left) ? `about ${duration(left)} left` : '';
}
