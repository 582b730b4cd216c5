import {trialPath} from '../../api/calls';
import {isRefusal} from '../../api/client';
import {useGet} from '../../api/query';
import type {Attempt, DescribeTrialResponse, Neighbours, Trial, TuningJob, TuningJobEvent, TuningJobSpec} from '../../api/types';
import {param, paths} from '../../app/router';
import {mayChange} from '../../app/session';
import {tableOf, tableOfItems} from '../../data_table';
import {Badge, Button, Card, EmptyState, ErrorState, LinkButton, Skeleton, Stat, StateBadge, Stats, useTitle} from '../../design';
import {count, counted, duration, exactMoment, number, percent, plainHyperparameter} from '../../format';
import {toggleKept} from '../actions';
import {AnnotationBox} from '../annotation/annotation';
import {Download} from '../download';
import {tagFilter} from '../job/filters';
import {useLiveJob} from '../job/live';
import {ModelButton} from '../model/button';
import {isLive, trialsOf} from '../job_words';
import {bestName, figuresOf, objectivesOf, violationsText} from '../objectives';
import {Attempts} from './attempts';
import {Configuration} from './configuration';
import {Curves} from './curves';
import {Log} from './log';
import {Usage} from './usage';
import './trial.css';

const kNeighbours = 5;
const kEventsShown = 200;
const kUnended = ['PENDING', 'RUNNING', 'PAUSED'];

export default function TrialPage({id, trial: text}: {id: string; trial: string}) {
  const trial = Number(text);
  const {job, error: jobError, version} = useLiveJob(id);
  const described = useGet<DescribeTrialResponse>(trialPath(id, trial), {}, {version});
  const near = useGet<Neighbours>(`${trialPath(id, trial)}/neighbours`, {limit: kNeighbours}, {version});
  useTitle(`Trial ${text} of ${id}`);

  const answer = described.data;
  const refused = !job && isRefusal(jobError);
  const error = refused ? jobError : (described.error ?? (job ? undefined : jobError));
  if (error && (refused || !answer)) {
    return (
      <>
        <Head id={id} number={text} />
        <div class="card">
          <ErrorState error={error} retry={refused ? undefined : described.reload} height={320} />
        </div>
      </>
    );
  }
  const live = answer !== undefined && kUnended.includes(answer.trial.state);
  const attempts = answer?.attempts ?? [];
  const shownAttempt = Number(param('attempt')) || (attempts.length ? attempts[attempts.length - 1].number : 0);
  return (
    <>
      <Head id={id} number={text} trial={answer?.trial} attempts={attempts} job={job} reload={described.reload} />
      <div class="stack">
        {answer && job ? <Headline trial={answer.trial} attempts={attempts} job={job} near={near.data} /> : <Waits name="figures" />}
        {answer && job ? <Why trial={answer.trial} job={job} /> : <Waits name="why" />}
        <div class="grid">
          <Curves job={id} trial={trial} near={near.data} bestName={job ? bestName(job.spec) : 'best'} version={version} />
          {answer ? <Log job={id} trial={trial} attempts={attempts} failed={answer.trial.state === 'FAILED'} /> : <Skeleton height={400} />}
          <Card
            title="Configuration"
            hint="beside the best trial and the most similar ones"
            updating={near.loading && !near.data}
            actions={near.data && job && <Download name={`${id} trial ${trial} configuration`} table={() => neighboursTable(near.data!, job.spec)} />}
          >
            <div class="configuration-room">
              {near.data && job ? (
                <Configuration answer={near.data} spec={job.spec} />
              ) : near.error ? (
                <ErrorState error={near.error} retry={near.reload} height={220} />
              ) : (
                <Skeleton height={260} />
              )}
            </div>
          </Card>
          <div class="span-7 cell">
            {answer ? <Attempts attempts={attempts} name={`${id} trial ${trial}`} /> : <Skeleton height={200} />}
            {answer && <Events events={answer.events} name={`${id} trial ${trial}`} />}
          </div>
          {answer ? <Usage job={id} trial={trial} attempt={shownAttempt} live={live} /> : <Skeleton height={200} />}
        </div>
      </div>
    </>
  );
}

// As high as what comes, which depends on the window's width.
function Waits({name}: {name: 'figures' | 'why'}) {
  return (
    <div class={`trial-waits ${name}`}>
      <Skeleton height="100%" />
    </div>
  );
}

// A trial that failed has the model of a part before.
const mayHaveModel = (trial: Trial, attempts: Attempt[]) =>
  trial.attempts > 0 && (trial.state !== 'FAILED' || attempts.some((attempt) => !['failed', 'lost'].includes(attempt.outcome)));

interface HeadProps {
  id: string;
  number: string;
  trial?: Trial;
  attempts?: Attempt[];
  job?: TuningJob;
  reload?: () => void;
}

function Head({id, number: text, trial, attempts = [], job, reload}: HeadProps) {
  const own = Number(text);
  const mayKeep = trial && job && mayChange(job) && isLive(job) && kUnended.includes(trial.state);
  const last = job ? trialsOf(job.trialCounts) : own;
  return (
    <div class="page-head">
      <div class="titles">
        <p class="crumbs">
          <a href={paths.home}>Jobs</a> / <a href={paths.job(id)}>{id}</a>
        </p>
        <h1>Trial {text}</h1>
        <div class="row trial-badges">
          {trial && <StateBadge state={trial.state} />}
          {trial && job?.best?.trial === own && <Badge tone="best">the best</Badge>}
          {trial && trial.bracket >= 0 && (
            <span class="quiet">
              bracket {trial.bracket + 1}, rung {trial.rung + 1}
            </span>
          )}
        </div>
        <div class="annotation-room">
          {trial && job && (
            <AnnotationBox job={id} may={mayChange(job)} trial={own} given={trial.annotation} href={(tag) => paths.job(id, {f: [tagFilter(tag)], part: 'trials'})} />
          )}
        </div>
      </div>
      <div class="actions">
        {/* There from the start, so that nothing moves. */}
        <Button
          small
          kind={trial?.kept ? 'primary' : 'plain'}
          icon="check"
          disabled={!mayKeep}
          aria-pressed={Boolean(trial?.kept)}
          title="A kept trial is not pruned: it trains to its full level, within the budget"
          onClick={() => void (trial && toggleKept(trial).then((done) => done && reload?.()))}
        >
          Keep
        </Button>
        <ModelButton job={id} trial={own} label="Model" disabled={!trial || !mayHaveModel(trial, attempts)} />
        {/* Both are there from the start, so that nothing moves. */}
        <Step id={id} to={own - 1} icon="left" there={own > 1} />
        <Step id={id} to={own + 1} icon="right" there={own < last} />
      </div>
    </div>
  );
}

function Step({id, to, icon, there}: {id: string; to: number; icon: 'left' | 'right'; there: boolean}) {
  const label = `Trial ${to}`;
  if (there) {
    return (
      <LinkButton small icon={icon} href={paths.trial(id, to)}>
        {label}
      </LinkButton>
    );
  }
  return (
    <Button small icon={icon} disabled>
      {to < 1 ? 'No earlier trial' : label}
    </Button>
  );
}

// The server counts an attempt once it has ended; the one that runs is added, by this machine's clock.
function trainingSeconds(trial: Trial, attempts: Attempt[]): number {
  const newest = attempts[attempts.length - 1];
  if (!newest?.startTime || newest.endTime) return trial.trainingSeconds;
  return trial.trainingSeconds + Math.max(0, (Date.now() - new Date(newest.startTime).getTime()) / 1000);
}

function Headline({trial, attempts, job, near}: {trial: Trial; attempts: Attempt[]; job: TuningJob; near?: Neighbours}) {
  const seconds = trainingSeconds(trial, attempts);
  const several = objectivesOf(job).length > 0;
  return (
    <Stats>
      {figuresOf(job.spec, 'Best ').map(({name, goal, of}) => {
        const value = of(trial);
        const note = several ? 'its newest value' : `at ${counted(trial.valueResource, 'unit')}; now ${number(trial.objective)}`;
        return (
          <Stat
            key={name}
            label={`${name} (${goal === 'MINIMIZE' ? 'lowest' : 'highest'})`}
            value={value === undefined ? '–' : <span class={job.best?.trial === trial.number ? 'best-ink' : undefined}>{number(value)}</span>}
            note={value === undefined ? 'not reported' : note}
          />
        );
      })}
      <Stat
        label={several ? `Rank by ${job.spec.objective.metric}` : 'Rank'}
        value={
          near?.rank ? (
            <>
              {count(near.rank)} <small>of {count(near.ranked)}</small>
            </>
          ) : (
            '–'
          )
        }
        note={near?.rank ? rankNote(near.rank, near.ranked) : 'no value'}
      />
      <Stat label="Trained" value={<>{count(trial.resource)} <small>{trial.resource === 1 ? 'unit' : 'units'}</small></>} note={trial.trainedResource > trial.resource ? `${count(trial.trainedResource)} over all attempts` : counted(trial.attempts, 'attempt')} />
      <Stat label="Training time" value={duration(seconds)} note={`${duration(trial.billableNodeSeconds + (seconds - trial.trainingSeconds) * trial.nodes)} of node time`} />
      <Stat label="Nodes" value={count(trial.nodes)} note={trial.nodes > 1 ? 'one trial cluster, all at once' : 'one process'} />
    </Stats>
  );
}

function rankNote(rank: number, ranked: number): string {
  if (rank === 1) return 'no trial is better';
  return `better than ${percent((ranked - rank) / Math.max(1, ranked - 1))} of the others`;
}

const kWhyTitle: Record<string, string> = {
  PENDING: 'Why it waits',
  RUNNING: 'What it is doing',
  PAUSED: 'Why it is paused',
  COMPLETED: 'Why it ended',
  PRUNED: 'Why it was pruned',
  FAILED: 'Why it failed',
  CANCELLED: 'Why it was cancelled',
};
const kWhyElse: Record<string, string> = {
  PENDING: 'It is waiting for free slots.',
  RUNNING: 'It is training.',
  PAUSED: 'It is waiting at a rung for the others.',
  COMPLETED: 'It was trained to the end of its budget.',
  PRUNED: 'No reason was recorded.',
  FAILED: 'No reason was recorded.',
  CANCELLED: 'The job ended before it did.',
};

function Why({trial, job}: {trial: Trial; job?: TuningJob}) {
  const violations = job && trial.violation ? violationsText(job.spec, trial) : '';
  return (
    <section class="card why" aria-label="Why">
      <div>
        <h2>{kWhyTitle[trial.state] ?? 'State'}</h2>
        <p class={trial.state === 'FAILED' ? 'why-failed' : undefined}>{trial.stateReason || kWhyElse[trial.state]}</p>
      </div>
      <div>
        <h2>Why it was chosen</h2>
        <p>{trial.choiceReason || 'No reason was recorded.'}</p>
      </div>
      {violations && (
        <div>
          <h2>Constraints that it violates</h2>
          <p>{violations}</p>
        </div>
      )}
      {trial.kept && (
        <div>
          <h2>Why it is kept</h2>
          <p>{trial.kept}</p>
        </div>
      )}
    </section>
  );
}

function eventsTable(events: TuningJobEvent[]) {
  return tableOfItems(events, {sequence: (event) => event.sequence, time: (event) => event.time, kind: (event) => event.kind, text: (event) => event.text});
}

// The trial, the best one and the most similar ones, as rows.
function neighboursTable({trial, best, neighbours, distance}: Neighbours, spec: TuningJobSpec) {
  const parameters = spec.parameters.map((each) => each.name);
  const figures = spec.objectives?.length ? figuresOf(spec, '') : [{name: 'objective', of: (each: Trial) => each.value}];
  // A metric may have the name of another column.
  const taken = new Set(['trial', 'distance', ...parameters]);
  const trials = [trial, ...(best && best.number !== trial.number ? [best] : []), ...neighbours.filter((each) => each.number !== best?.number)];
  return tableOf({
    trial: trials.map((each) => each.number),
    distance: trials.map((each) => (each === trial ? 0 : distance[neighbours.findIndex((found) => found.number === each.number)])),
    ...Object.fromEntries(figures.map(({name, of}) => [taken.has(name) ? `metric.${name}` : name, trials.map(of)])),
    ...Object.fromEntries(parameters.map((name) => [name, trials.map((each) => plainHyperparameter(each, name))])),
  });
}

function Events({events, name}: {events: TuningJobEvent[]; name: string}) {
  const shown = events.slice(-kEventsShown).reverse();
  return (
    <Card
      title="Events"
      hint={events.length > shown.length ? `the newest ${count(shown.length)} of ${count(events.length)}` : 'newest first'}
      actions={events.length > 0 && <Download name={`${name} events`} table={() => eventsTable(events)} />}
    >
      {shown.length === 0 ? (
        <EmptyState title="No events yet" height={120}>
          {null}
        </EmptyState>
      ) : (
        <ol class="events" tabIndex={0} aria-label="Events">
          {shown.map((event) => (
            <li key={event.sequence}>
              <time class="quiet" dateTime={event.time} title={exactMoment(event.time)}>
                {new Date(event.time).toLocaleTimeString('en-GB')}
              </time>
              <code class="quiet">{event.kind}</code>
              <span>{event.text}</span>
            </li>
          ))}
        </ol>
      )}
    </Card>
  );
}
