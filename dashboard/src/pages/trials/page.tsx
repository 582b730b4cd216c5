import {useEffect, useState} from 'preact/hooks';
import {jobPath} from '../../api/calls';
import {useGet} from '../../api/query';
import type {LearningCurves, QueryTrialsResponse, Trial, TuningJob} from '../../api/types';
import {go, param, paths} from '../../app/router';
import {type Layer, Plot} from '../../charts/plot';
import {extent} from '../../charts/scale';
import {tableOf} from '../../data_table';
import {Button, Card, EmptyState, ErrorState, Legend, PlainTable, Skeleton, StateBadge, useTitle} from '../../design';
import {count, counted, duration, hyperparameter, number, plainHyperparameter, shortCount} from '../../format';
import {TagChips} from '../annotation/annotation';
import {Download} from '../download';
import {tagFilter} from '../job/filters';
import {isLive} from '../job_words';
import {figuresOf} from '../objectives';
import {seriesStyle} from '../series';
import {chosenTrials, differs} from './chosen';
import './trials.css';

const kHeight = 360;
const kLiveMs = 3000;

// Trials of one job side by side; they stand in the address ("trials").
export default function CompareTrialsPage({id}: {id: string}) {
  const trials = chosenTrials(param('trials'));
  useTitle(`Trials of ${id}`);
  // While the job runs; what is shown is asked for once more after its end.
  const [every, setEvery] = useState<number | undefined>(undefined);
  const job = useGet<TuningJob>(jobPath(id), {}, {every});
  const live = job.data !== undefined && isLive(job.data);
  useEffect(() => setEvery(live ? kLiveMs : undefined), [live]);
  const rows = useGet<QueryTrialsResponse>(trials.length ? `${jobPath(id)}/table` : null, {filters: [`#number:${trials.join('|')}`], limit: trials.length || 1}, {every, version: every});
  const head = (
    <div class="page-head">
      <div class="titles">
        <nav class="crumbs" aria-label="Breadcrumbs">
          <a href={paths.home}>Jobs</a> / <a href={paths.job(id)}>{id}</a> /
        </nav>
        <h1>{counted(trials.length, 'trial')} side by side</h1>
      </div>
    </div>
  );
  const error = job.error ?? rows.error;
  let content;
  if (trials.length === 0) {
    content = (
      <EmptyState title="No trials are chosen" actions={<Button onClick={() => go(paths.job(id, {part: 'trials'}))}>Choose trials</Button>}>
        Choose some in the table of trials of the job.
      </EmptyState>
    );
  } else if (error && (!job.data || !rows.data)) content = <ErrorState error={error} retry={rows.reload} height={320} />;
  else if (!job.data || !rows.data) content = <Skeleton height={520} />;
  else {
    // In the order in which they were chosen.
    const found = trials.flatMap((number) => rows.data!.trials.filter((trial) => trial.number === number));
    content = (
      <div class="stack">
        <Curves job={job.data} trials={found} every={every} />
        <SideBySide job={job.data} trials={found} />
      </div>
    );
  }
  return (
    <>
      {head}
      {content}
    </>
  );
}

function Curves({job, trials, every}: {job: TuningJob; trials: Trial[]; every?: number}) {
  const answer = useGet<LearningCurves>(`${jobPath(job.id)}/curves`, {maxCurves: 1, trials: trials.map((trial) => trial.number)}, {every, version: every});
  const curves = trials.flatMap((trial) => (answer.data?.curves ?? []).filter((curve) => curve.trial === trial.number && curve.resource.length > 0));
  const xs = extent(curves.flatMap((curve) => curve.resource));
  const ys = extent(curves.flatMap((curve) => curve.value));
  let content;
  if (answer.error && !answer.data) content = <ErrorState error={answer.error} retry={answer.reload} height={kHeight} />;
  else if (!answer.data) content = <Skeleton height={kHeight} />;
  else if (!xs || !ys) content = <EmptyState title="No reports yet" height={kHeight} />;
  else {
    const pad = (ys[1] - ys[0]) * 0.05 || Math.abs(ys[1]) * 0.05 || 1;
    const styleOf = (number: number) => seriesStyle(trials.findIndex((trial) => trial.number === number));
    const layers: Layer[] = curves.map((curve) => ({kind: 'line', x: curve.resource, y: curve.value, width: 1.9, dots: curve.resource.length < 30, ...styleOf(curve.trial)}));
    content = (
      <>
        <Plot
          label={`Learning curves of ${counted(curves.length, 'trial')}`}
          height={kHeight}
          x={{label: 'level (units)', min: Math.min(0, xs[0]), max: xs[1] * 1.02, format: shortCount}}
          y={{label: answer.data.metric, min: ys[0] - pad, max: ys[1] + pad}}
          layers={layers}
          tip={({layer, index}) => (
            <>
              <strong>Trial {count(curves[layer].trial)}</strong> {number(curves[layer].value[index])} at {counted(curves[layer].resource[index], 'unit')}
            </>
          )}
          onPick={({layer}) => go(paths.trial(job.id, curves[layer].trial))}
        />
        <Legend items={trials.map((trial) => ({label: `trial ${trial.number}`, color: `var(${styleOf(trial.number).color})`, shape: styleOf(trial.number).dash.length ? ('dashed' as const) : ('line' as const)}))} />
      </>
    );
  }
  const table = () =>
    tableOf({
      trial: curves.flatMap((curve) => curve.resource.map(() => curve.trial)),
      resource: curves.flatMap((curve) => curve.resource),
      [answer.data!.metric]: curves.flatMap((curve) => curve.value),
    });
  return (
    <Card title="Learning curves" actions={curves.length > 0 && <Download name={`${job.id} chosen curves`} table={table} />}>
      {content}
    </Card>
  );
}

function SideBySide({job, trials}: {job: TuningJob; trials: Trial[]}) {
  const value = (trial: Trial, name: string) => trial.hyperparameters.find((each) => each.name === name);
  const figures: {name: string; of(trial: Trial): string; raw(trial: Trial): string | number | undefined}[] = [
    ...figuresOf(job.spec, 'best ').map(({name, of}) => ({name, of: (trial: Trial) => number(of(trial)), raw: of})),
    {name: 'level (units)', of: (trial) => count(trial.resource), raw: (trial) => trial.resource},
    {name: 'training time', of: (trial) => duration(trial.trainingSeconds), raw: (trial) => trial.trainingSeconds},
    {name: 'attempts', of: (trial) => count(trial.attempts), raw: (trial) => trial.attempts},
  ];
  const parameters = job.spec.parameters.map(({name}) => ({name, of: (trial: Trial) => hyperparameter(value(trial, name))}));
  const table = () =>
    tableOf({
      trial: trials.map((trial) => trial.number),
      state: trials.map((trial) => trial.state),
      ...Object.fromEntries(figures.map(({name, raw}) => [name, trials.map(raw)])),
      ...Object.fromEntries(job.spec.parameters.map(({name}) => [name, trials.map((trial) => plainHyperparameter(trial, name))])),
      reason: trials.map((trial) => trial.stateReason),
    });
  return (
    <Card title="Configurations" hint="differences are highlighted" actions={<Download name={`${job.id} chosen trials`} table={table} />}>
      <PlainTable
        label="Trials side by side"
        class="side-by-side"
        headings={[
          '',
          ...trials.map((trial) => ({
            num: (
              <a href={paths.trial(job.id, trial.number)}>
                Trial {count(trial.number)}
              </a>
            ),
          })),
        ]}
      >
        <tr>
          <th scope="row">state</th>
          {trials.map((trial) => (
            <td class="num" key={trial.number}>
              <StateBadge state={trial.state} />
            </td>
          ))}
        </tr>
        {trials.some((trial) => trial.annotation) && (
          <tr>
            <th scope="row">tags and note</th>
            {trials.map((trial) => (
              <td class="num" key={trial.number}>
                <TagChips tags={trial.annotation?.tags ?? []} href={(tag) => paths.job(job.id, {f: [tagFilter(tag)], part: 'trials'})} /> {trial.annotation?.note}
              </td>
            ))}
          </tr>
        )}
        {[...figures, ...parameters].map(({name, of}) => {
          const texts = trials.map(of);
          return (
            <tr key={name} class={differs(texts) ? 'differs' : undefined}>
              <th scope="row">{name}</th>
              {texts.map((text, i) => (
                <td class="num" key={trials[i].number}>
                  {text}
                </td>
              ))}
            </tr>
          );
        })}
        <tr>
          <th scope="row">reason</th>
          {trials.map((trial) => (
            <td class="reason" key={trial.number}>
              {trial.stateReason}
            </td>
          ))}
        </tr>
      </PlainTable>
    </Card>
  );
}
