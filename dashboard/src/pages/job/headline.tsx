import {useGet} from '../../api/query';
import {jobPath} from '../../api/calls';
import type {QueryTrialsResponse, TuningJob} from '../../api/types';
import {paths} from '../../app/router';
import {Card, EmptyState, ErrorState, Meter, Skeleton, Stat, Stats} from '../../design';
import {amount, count, counted, duration, hyperparameter, number, percent} from '../../format';
import {isLive} from '../actions';
import {countsText, progressOf, savedOf, trialsOf} from '../job_words';

// What it found, what it cost, and what it would have cost.
export function Headline({job}: {job: TuningJob}) {
  const {spend, best} = job;
  const saved = savedOf(job);
  const trials = trialsOf(job.trialCounts);
  const progress = progressOf(job);
  const speedup = spend.elapsedSeconds > 0 ? spend.trainingSeconds / spend.elapsedSeconds : Number.NaN;
  return (
    <div class="headline">
      <Stats>
        <Stat
          label={`Best ${job.spec.objective.metric} (${job.spec.objective.goal === 'MINIMIZE' ? 'lowest' : 'highest'})`}
          value={best ? <span class="best-ink">{number(best.objective)}</span> : '–'}
          note={
            best ? (
              <>
                <a href={paths.trial(job.id, best.trial)}>trial {count(best.trial)}</a>, at {counted(best.resource, 'unit')}
              </>
            ) : isLive(job) ? (
              'no trial has reported it yet'
            ) : (
              'no trial reported it'
            )
          }
        />
        <Stat
          label="Trained"
          value={
            <>
              {amount(spend.resource)} <small>{spend.fullResource > 0 ? `of ${amount(spend.fullResource)} units` : 'units'}</small>
            </>
          }
          note={saved > 0.005 ? <strong class="saved">{percent(saved)} saved by stopping early</strong> : 'nothing saved by stopping early yet'}
        />
        <Stat
          label="Elapsed"
          value={duration(spend.elapsedSeconds)}
          note={
            spend.trainingSeconds > 0
              ? `one after the other ${duration(spend.trainingSeconds)}${speedup > 1.05 ? `: ${number(speedup, 2)} at a time` : ''}`
              : 'nothing trained yet'
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
              {isLive(job) && Number.isFinite(progress) && <Meter part={progress} label="Progress of the job" />}
              {countsText(job.trialCounts) || 'none yet'}
            </>
          }
        />
        <Stat label="Node time" value={duration(spend.billableNodeSeconds)} note={job.strategyText} />
      </Stats>
    </div>
  );
}

const kLeastHeight = 150;

// The best trial's hyperparameters.
export function BestCard({job}: {job: TuningJob}) {
  const best = job.best;
  // Asked for again when another trial becomes the best, not on every report.
  const answer = useGet<QueryTrialsResponse>(best ? `${jobPath(job.id)}/table` : null, {filters: [`#number:${best?.trial}..${best?.trial}`], limit: 1});
  let content;
  if (!best) {
    content = (
      <EmptyState title="No best yet" height={kLeastHeight}>
        The configuration of the best trial stands here once one has reported {job.spec.objective.metric}.
      </EmptyState>
    );
  } else if (answer.error && !answer.data) content = <ErrorState error={answer.error} retry={answer.reload} height={kLeastHeight} />;
  else if (!answer.data) content = <Skeleton height={kLeastHeight} />;
  else {
    content = (
      <dl class="best-configuration">
        {(answer.data.trials[0]?.hyperparameters ?? []).map((each) => (
          <>
            <dt>{each.name}</dt>
            <dd>{hyperparameter(each)}</dd>
          </>
        ))}
      </dl>
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
