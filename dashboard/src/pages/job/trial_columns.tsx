import type {ComponentChildren} from 'preact';
import type {Trial, TuningJob} from '../../api/types';
import {paths} from '../../app/router';
import {StateBadge} from '../../design';
import {count, duration, exactMoment, hyperparameter, moment, number, plainHyperparameter} from '../../format';
import {TagChips} from '../annotation/annotation';
import {objectiveName} from '../job_words';
import {tagFilter} from './filters';

// The columns that the table of trials can have.
export interface TrialColumn {
  key: string;
  title: string;
  order?: string;   // of QueryTrials; none: not sorted by it
  width: number;
  numeric?: boolean;
  byDefault: boolean;
  cell(trial: Trial): ComponentChildren;
  text(trial: Trial): string | number | undefined;  // in CSV: plain, unrounded
}

// More hyperparameters than this are there to be chosen, not shown at first.
const kMostParameters = 10;

// Brackets and rungs are counted from 0 by the server, from 1 where they are read; a trial may be in none.
const fromOne = (trial: Trial, index: number) => (trial.bracket < 0 ? undefined : index + 1);

// The metrics that rank trials beside the one that has a column of its own: further objectives, and those of constraints.
function rankingMetrics(job: TuningJob): string[] {
  const names = [...(job.spec.objectives ?? []), ...(job.spec.metricConstraints ?? [])].map((each) => each.metric);
  return [...new Set(names)].filter((name) => name !== job.spec.objective.metric);
}

export function columnsFor(job: TuningJob): TrialColumn[] {
  const metric = job.spec.objective.metric;
  const values = (trial: Trial) => new Map(trial.hyperparameters.map((each) => [each.name, each]));
  const parameters = job.spec.parameters.map((parameter, i): TrialColumn => {
    const value = (trial: Trial) => values(trial).get(parameter.name);
    return {
      key: `p:${parameter.name}`,
      title: parameter.name,
      order: parameter.name,
      width: Math.min(210, Math.max(114, parameter.name.length * 8 + 42)),
      numeric: !parameter.categorical,
      byDefault: i < kMostParameters,
      cell: (trial) => hyperparameter(value(trial)),
      text: (trial) => plainHyperparameter(trial, parameter.name),
    };
  });
  const plain = (key: string, title: string, order: string | undefined, width: number, byDefault: boolean, cell: (trial: Trial) => ComponentChildren, text: TrialColumn['text'], numeric = true): TrialColumn => ({key, title, order, width, byDefault, cell, text, numeric});
  const ranking = rankingMetrics(job);
  const reading = (trial: Trial, metric: string) => trial.metrics?.find((each) => each.metric === metric)?.value;
  const metrics = ranking.map((name): TrialColumn => plain(`m:${name}`, name, undefined, Math.min(230, 60 + name.length * 8), true, (t) => number(reading(t, name)), (t) => reading(t, name)));
  if (job.spec.metricConstraints?.length) metrics.push(plain('violation', 'violation', 'violation', 92, true, (t) => (t.violation ? <span class="failed-ink">{number(t.violation, 3)}</span> : '0'), (t) => t.violation ?? 0));
  return [
    plain('number', 'trial', 'number', 74, true, (t) => <a href={paths.trial(t.jobId, t.number)}>{count(t.number)}</a>, (t) => t.number),
    plain('state', 'state', 'state', 116, true, (t) => <StateBadge state={t.state} />, (t) => t.state, false),
    plain('best', job.spec.objectives?.length ? metric : objectiveName(job.spec.objective, 'best '), 'objective', Math.min(230, 80 + metric.length * 7), true, (t) => <strong>{number(t.value)}</strong>, (t) => t.value),
    ...metrics,
    plain('objective', `newest ${metric}`, undefined, Math.min(230, 80 + metric.length * 7), false, (t) => number(t.objective), (t) => t.objective),
    plain('resource', 'units', 'resource', 84, true, (t) => count(t.resource), (t) => t.resource),
    ...parameters,
    plain('training', 'training time', 'training_seconds', 118, true, (t) => duration(t.trainingSeconds), (t) => t.trainingSeconds),
    plain('bracket', 'bracket', 'bracket', 88, job.brackets.length > 0, (t) => count(fromOne(t, t.bracket)), (t) => fromOne(t, t.bracket)),
    plain('rung', 'rung', undefined, 70, false, (t) => count(fromOne(t, t.rung)), (t) => fromOne(t, t.rung)),
    plain('nodes', 'nodes', 'nodes', 78, Boolean(job.spec.cluster?.nodesParameter), (t) => count(t.nodes), (t) => t.nodes),
    plain('attempts', 'attempts', undefined, 90, false, (t) => count(t.attempts), (t) => t.attempts),
    plain('trained', 'units trained', undefined, 112, false, (t) => count(t.trainedResource), (t) => t.trainedResource),
    plain('ended', 'ended', 'end_time', 136, false, (t) => <span title={exactMoment(t.endTime)}>{moment(t.endTime)}</span>, (t) => t.endTime),
    plain('tags', 'tags', undefined, 150, false, (t) => <TagChips tags={t.annotation?.tags ?? []} href={(tag) => paths.job(t.jobId, {f: [tagFilter(tag)], part: 'trials'})} />, (t) => t.annotation?.tags.join(' '), false),
    plain('note', 'note', undefined, 240, false, (t) => <span title={t.annotation?.note}>{t.annotation?.note}</span>, (t) => t.annotation?.note, false),
    plain('reason', 'reason', undefined, 420, true, (t) => <span title={t.stateReason}>{t.stateReason}</span>, (t) => t.stateReason, false),
  ];
}
