import {useMemo, useState} from 'preact/hooks';
import type {TuningJob} from '../../api/types';
import {go, params, path, paths, search} from '../../app/router';
import {mayChange, maySubmit} from '../../app/session';
import {Badge, Button, EmptyState, ErrorState, LinkButton, Skeleton, StateBadge, useTitle} from '../../design';
import {ApiError} from '../../api/client';
import {ago, duration, exactMoment} from '../../format';
import {askToDelete, askToStop, togglePaused} from '../actions';
import {countsText, isLive, secondsLeft, shownState} from '../job_words';
import {ModelButton} from '../model/button';
import {constraintText, objectivesOf, objectiveText} from '../objectives';
import {AnnotationBox} from '../annotation/annotation';
import {ChangesCard} from './changes';
import {ContourCard} from './contour';
import {CurvesCard} from './curves';
import {FilterBar} from './filter_bar';
import {BestCard, Headline} from './headline';
import {HistoryCard} from './history';
import {ImportanceCard} from './importance';
import {type LiveJob, useLiveJob} from './live';
import {FrontCards, ObjectivesCard} from './objectives';
import {ParallelCard} from './parallel';
import {NotifyButton} from './notify';
import {ScatterCard} from './scatter';
import {SieveCard} from './sieve';
import {SlicesCard} from './slices';
import {SpecCard} from './spec';
import {TrialsCard} from './trials';
import {Trouble} from './trouble';
import './job.css';

export default function JobPage({id}: {id: string}) {
  const live = useLiveJob(id);
  const {job, version} = live;
  const filters = params('f');
  // What is brushed comes first: everything else asks for its part once those lines are there.
  const [followed, follow] = useState(filters);
  useTitle(id);

  // The same objects are not gone through again.
  const above = useMemo(
    () =>
      job &&
      (objectivesOf(job).length ? (
        <>
          <div class="span-8 cell">
            <ObjectivesCard job={job} version={version} filters={followed} />
          </div>
          <div class="span-4 cell">
            <FrontCards job={job} version={version} />
          </div>
          <SieveCard job={job} version={version} filters={followed} />
        </>
      ) : (
        <>
          <div class="span-8 cell">
            <SieveCard job={job} version={version} filters={followed} />
          </div>
          <div class="span-4 cell">
            <HistoryCard job={job} version={version} />
            <BestCard job={job} version={version} />
          </div>
        </>
      )),
    [job, version, followed],
  );
  const below = useMemo(
    () =>
      job && (
        <>
          <CurvesCard job={job} version={version} filters={followed} />
          <ImportanceCard job={job} version={version} filters={followed} />
          <SlicesCard job={job} version={version} filters={followed} />
          <div class="span-6 cell">
            <ContourCard job={job} version={version} filters={followed} />
          </div>
          <div class={job.spec.parameters.length < 2 ? 'cell' : 'span-6 cell'}>
            <ScatterCard job={job} version={version} filters={followed} />
          </div>
          <TrialsCard job={job} version={version} filters={followed} />
          <ChangesCard job={job} />
          <SpecCard job={job} />
        </>
      ),
    [job, version, followed],
  );

  if (!job && live.error) {
    if (live.error instanceof ApiError && live.error.status === 404) {
      return (
        <div class="card">
          <EmptyState title={`There is no job ${id}`} height={320} actions={<LinkButton href={paths.home}>Back to jobs</LinkButton>}>
            It may have been deleted.
          </EmptyState>
        </div>
      );
    }
    return (
      <div class="card">
        <ErrorState error={live.error} retry={live.reload} height={320} />
      </div>
    );
  }
  return (
    <>
      <Head id={id} job={job} live={live} />
      {job ? (
        <>
          <Trouble job={job} />
          <Headline job={job} />
          <Contents job={job} />
          <FilterBar job={job} filters={filters} />
          <div class="grid" aria-busy={followed !== filters}>
            {above}
            <ParallelCard job={job} version={version} filters={filters} onShown={follow} />
            {below}
          </div>
        </>
      ) : (
        <div class="stack">
          <Skeleton height={98} />
          <Skeleton height={520} />
        </div>
      )}
    </>
  );
}

// "about 45.9 s left · 3 running, 12 pruned"
function liveText(job: TuningJob): string {
  const left = secondsLeft(job);
  return [Number.isFinite(left) ? `about ${duration(left)} left` : '', job.stateReason || countsText(job.trialCounts)].filter(Boolean).join(' · ');
}

const kFirstParts = [
  {id: 'sieve', title: 'Sieve'},
  {id: 'history', title: 'Best so far'},
];
const kFirstPartsOfSeveral = [
  {id: 'objectives', title: 'Objectives'},
  {id: 'hypervolume', title: 'Hypervolume'},
  {id: 'front', title: 'Pareto front'},
  {id: 'sieve', title: 'Sieve'},
];
const kParts = [
  {id: 'parallel', title: 'Parallel coordinates'},
  {id: 'curves', title: 'Curves'},
  {id: 'importance', title: 'Importance'},
  {id: 'slices', title: 'Slices'},
  {id: 'contour', title: 'Contour'},
  {id: 'scatter', title: 'Scatter'},
  {id: 'trials', title: 'Trials'},
  {id: 'spec', title: 'Job file'},
];

// Where the cards stand one under another, the way to each of them.
function Contents({job}: {job: TuningJob}) {
  const parts = [...(objectivesOf(job).length ? kFirstPartsOfSeveral : kFirstParts), ...kParts];
  return (
    <nav class="contents" aria-label="On this page">
      {parts.map(({id, title}) => (
        <a key={id} href={`${path.value}${search.value}#${id}`}>
          {title}
        </a>
      ))}
    </nav>
  );
}

// What a job with several objectives or with metric constraints looks for.
function Goals({job}: {job: TuningJob}) {
  const objectives = objectivesOf(job);
  const constraints = job.spec.metricConstraints ?? [];
  if (!objectives.length && !constraints.length) return null;
  return (
    <dl class="goals">
      {objectives.length > 0 && (
        <div>
          <dt>Objectives</dt>
          <dd>{objectives.map(objectiveText).join('; ')}</dd>
        </div>
      )}
      {constraints.length > 0 && (
        <div>
          <dt>Constraints</dt>
          <dd>{constraints.map(constraintText).join('; ')}</dd>
        </div>
      )}
    </dl>
  );
}

function Head({id, job, live}: {id: string; job: TuningJob | undefined; live: LiveJob}) {
  return (
    <div class="page-head job-head">
      <div class="titles">
        <nav class="crumbs" aria-label="Breadcrumbs">
          <a href={paths.home}>Jobs</a> /
        </nav>
        <h1>{id}</h1>
        <div class="row job-state">
          {job && <StateBadge state={shownState(job)} />}
          {live.line === 'lost' && <Badge tone="failed">not connected, trying again</Badge>}
          {job && (
            <span class="muted job-reason" title={job.stateReason}>
              {isLive(job) ? liveText(job) : job.stateReason}
            </span>
          )}
          {job && (
            <span class="quiet nowrap" title={exactMoment(job.createTime)}>
              {isLive(job) ? `started ${ago(job.createTime)}` : `ended ${ago(job.endTime)}`}
              {job.owner && `, submitted by ${job.owner}`}
              {job.project && (
                <>
                  {' '}
                  in project <a href={paths.project(job.project)}>{job.project}</a>
                </>
              )}
            </span>
          )}
        </div>
        {job && <Goals job={job} />}
        <div class="annotation-room">{job && <AnnotationBox job={job.id} may={mayChange(job)} given={job.annotation} />}</div>
      </div>
      {job && (
        <div class="actions">
          <NotifyButton job={job} />
          {job.best && <ModelButton job={job.id} trial={job.best.trial} label="Best model" />}
          {maySubmit() && <LinkButton small icon="repeat" href={paths.submit(job.id)}>
            Run again<span class="wide-only"> with changes</span>
          </LinkButton>}
          <LinkButton small icon="compare" href={paths.compare([job.id])}>
            Compare
          </LinkButton>
          {mayChange(job) && job.state === 'RUNNING' && (
            <Button small icon={job.paused ? 'play' : 'pause'} onClick={() => void togglePaused(job).then((done) => done && live.reload())}>
              {job.paused ? 'Resume' : 'Pause'}
            </Button>
          )}
          {!mayChange(job) ? null : isLive(job) ? (
            <Button small kind="danger" icon="stop" disabled={job.state === 'STOPPING'} onClick={() => void askToStop(job).then((done) => done && live.reload())}>
              Stop
            </Button>
          ) : (
            <Button small kind="danger" icon="trash" onClick={() => void askToDelete(job).then((done) => done && go(paths.home))}>
              Delete
            </Button>
          )}
        </div>
      )}
    </div>
  );
}
