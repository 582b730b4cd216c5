import {useGet} from '../../api/query';
import {jobPath} from '../../api/calls';
import type {QueryTrialsResponse, TuningJob} from '../../api/types';
import {paths} from '../../app/router';
import {Card, EmptyState, ErrorState, Meter, Skeleton, Stat, Stats} from '../../design';
import {amount, count, counted, duration, hyperparameter, number, percent, unitWord} from '../../format';
import {asOf} from './live';
import {bestLevelText, bestValueText, isLive, kStates, noBestText, objectiveName, progressOf, savedOf, trialsOf} from '../job_words';
import {violationsText} from '../objectives';
import {stateFilter} from './filters';

// What it found, what it cost, and what it would have cost.
export function Headline({job}: {job: TuningJob}) {
  const {spend, best} = job;
  const saved = savedOf(job);
  const trials = trialsOf(job.trialCounts);
  const live = isLive(job);
  const progress = progressOf(job);
  const speedup = spend.elapsedSeconds > 0 ? spend.trainingSeconds / spend.elapsedSeconds : Number.NaN;
  return (
    <div class="headline">
      <Stats>
        {Boolean(job.spec.objectives?.length) && (
          <Stat
            label="Pareto front"
            value={counted(job.frontTrials ?? 0, 'trial')}
            note={job.spec.objectives!.map((objective) => objective.metric).join(', ')}
          />
        )}
        {!job.spec.objectives?.length && <Stat
          label={`Best ${objectiveName(job.spec.objective)} (${job.spec.objective.goal === 'MINIMIZE' ? 'lowest' : 'highest'})`}
          value={best ? <span class="best-ink">{bestValueText(best)}</span> : '–'}
          note={
            best ? (
              <>
                <a href={paths.trial(job.id, best.trial)}>trial {count(best.trial)}</a>, {bestLevelText(job, best)}
                {Boolean(best.unreported?.length) && `; no value of ${best.unreported!.join(', ')} yet`}
              </>
            ) : (
              noBestText(job)
            )
          }
        />}
        <Stat
          label="Trained"
          value={
            <>
              {amount(spend.resource)} <small>{unitWord(spend.resource)}</small>
            </>
          }
          note={
            saved.units > 0 ? (
              <strong class="saved">{live ? `${amount(saved.units)} ${unitWord(saved.units)} saved so far by pruning` : `${percent(saved.part)} saved by pruning: ${counted(saved.units, 'unit')}`}</strong>
            ) : job.trialCounts.pruned > 0 ? (
              'what pruning saved is not known'
            ) : live ? (
              'nothing pruned so far'
            ) : (
              'nothing was pruned'
            )
          }
        />
        <Stat
          label="Elapsed"
          value={duration(spend.elapsedSeconds)}
          note={
            spend.trainingSeconds > 0
              ? `${duration(spend.trainingSeconds)} of trial time${speedup > 1.05 ? `, ${number(speedup, 2)} in parallel` : ''}${startupText(job)}`
              : live
                ? 'no attempt has ended yet'
                : 'nothing was trained'
          }
        />
        <Stat
          label="Trials"
          value={
            <>
              {count(trials)} {job.plannedTrials > trials && <small>of {count(job.plannedTrials)} planned</small>}
            </>
          }
          note={
            <>
              {live && Number.isFinite(progress.part) && <Meter part={progress.part} label={`Progress of the job: ${progress.text}`} />}
              <Counts job={job} />
            </>
          }
        />
        <Stat label="Node time" value={duration(spend.billableNodeSeconds)} note={spend.cost > 0 ? `cost ${spend.cost.toFixed(2)} · ${job.strategyText}` : job.strategyText} />
      </Stats>
    </div>
  );
}

// Below this share of the trial time start-up is not worth a word.
const kMuchStartup = 0.05;
function startupText({spend}: TuningJob): string {
  const part = spend.startupSeconds / spend.trainingSeconds;
  return part >= kMuchStartup ? `; ${percent(part)} of it is start-up` : '';
}

// "12 completed, 3 failed", each a link to these trials.
function Counts({job}: {job: TuningJob}) {
  const present = kStates.filter((name) => job.trialCounts[name] > 0);
  if (!present.length) return <>none yet</>;
  return (
    <>
      {present.map((name, i) => (
        <>
          {i > 0 && ', '}
          <a key={name} class={name === 'failed' ? 'failed-ink' : undefined} href={paths.job(job.id, {f: [stateFilter(name)], part: 'trials'})}>
            {count(job.trialCounts[name])} {name}
          </a>
        </>
      ))}
    </>
  );
}

const kLeastHeight = 150;

// What the model expects of the best trial, beside the value seen. Events of a running job do not tell it.
function Expected({job, version}: {job: TuningJob; version: number}) {
  const answer = useGet<TuningJob>(jobPath(job.id), {}, {...asOf(job, version, [], 5), priority: 'low'});
  const best = answer.data?.best ?? job.best;
  if (best?.expected === undefined || best.trial !== job.best?.trial) return <p class="expected quiet">&nbsp;</p>;
  const {value = 'BEST', selection} = job.spec.objective;
  return (
    <p class="expected muted" title="What a model of all results expects of this configuration if it is trained again to its end">
      expected {number(best.expected, 4)} ± {number(best.expectedError, 2)}
      {value === 'BEST' && !job.spec.repeats && ' at the end of training'}
      {selection === 'EXPECTED' && ', the best of all'}
    </p>
  );
}

const sentence = (text: string) => `${text[0].toUpperCase()}${text.slice(1)}.`;

// Where no trial satisfies the constraints, the one that violates them least.
function Nearest({job, version}: {job: TuningJob; version: number}) {
  const constrained = Boolean(job.spec.metricConstraints?.length);
  const filters = ['#objective:..', '#state:pending|running|paused|completed|pruned|cancelled'];
  const answer = useGet<QueryTrialsResponse>(constrained ? `${jobPath(job.id)}/table` : null, {filters, orderBy: 'violation', limit: 1}, asOf(job, version, [], 5));
  const nearest = answer.data?.trials[0];
  if (!nearest) return null;
  return (
    <p>
      The nearest is <a href={paths.trial(job.id, nearest.number)}>trial {count(nearest.number)}</a>: {violationsText(job.spec, nearest)}
    </p>
  );
}

// The best trial's hyperparameters.
export function BestCard({job, version}: {job: TuningJob; version: number}) {
  const best = job.best;
  // Asked for again when another trial becomes the best, not on every report.
  const answer = useGet<QueryTrialsResponse>(best ? `${jobPath(job.id)}/table` : null, {filters: [`#number:${best?.trial}..${best?.trial}`], limit: 1});
  let content;
  if (!best) {
    content = (
      <EmptyState title={isLive(job) ? 'No best trial yet' : 'No best trial'} height={kLeastHeight}>
        {sentence(noBestText(job))}
        <Nearest job={job} version={version} />
      </EmptyState>
    );
  } else if (answer.error && !answer.data) content = <ErrorState error={answer.error} retry={answer.reload} height={kLeastHeight} />;
  else if (!answer.data) content = <Skeleton height={kLeastHeight} />;
  else {
    content = (
      <>
        <Expected job={job} version={version} />
        <dl class="best-configuration">
          {(answer.data.trials[0]?.hyperparameters ?? []).map((each) => (
            <>
              <dt>{each.name}</dt>
              <dd>{hyperparameter(each)}</dd>
            </>
          ))}
        </dl>
      </>
    );
  }
  return (
    <Card
      title="Best configuration"
      actions={
        best && (
          <a class="nowrap" href={paths.trial(job.id, best.trial)}>
            Trial {count(best.trial)}
          </a>
        )
      }
    >
      <div style={{minHeight: `${kLeastHeight}px`}}>{content}</div>
    </Card>
  );
}
