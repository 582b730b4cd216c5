import {jobPath} from '../../api/calls';
import {useGet} from '../../api/query';
import type {Importance, TuningJob} from '../../api/types';
import {setParams} from '../../app/router';
import {useNear} from '../../charts/canvas';
import {tableOf} from '../../data_table';
import {Button, Card, EmptyState, ErrorState, Skeleton} from '../../design';
import {counted, percent} from '../../format';
import {Download} from '../download';
import {askedFilters} from './filters';
import {askedLevel, LevelChooser} from './level';
import {asOf} from './live';

const kLeastHeight = 340;
// Pairs that are shown; the most important come first.
const kPairs = 5;

export function ImportanceCard({job, version, filters}: {job: TuningJob; version: number; filters: readonly string[]}) {
  const [place, near] = useNear<HTMLDivElement>();
  const answer = useGet<Importance>(near ? `${jobPath(job.id)}/importance` : null, {filters: askedFilters(filters), resource: askedLevel()}, {...asOf(job, version, filters, 5), debounce: 200, priority: 'low'});
  const importance = answer.data;
  let content;
  if (answer.error && !importance) content = <ErrorState error={answer.error} retry={answer.reload} height={kLeastHeight} />;
  else if (!importance) content = <Skeleton height={kLeastHeight} />;
  else if (importance.parameters.length === 0) {
    content = (
      <EmptyState title="Too few values yet" height={kLeastHeight} actions={filters.length > 0 && <Button onClick={() => setParams({f: null})}>Clear filters</Button>}>
        {importance.note || 'More trials have to report the objective first.'}
      </EmptyState>
    );
  } else {
    const pairs = importance.pairs.slice(0, kPairs).map((pair) => ({name: `${pair.first} × ${pair.second}`, ...pair}));
    const all = [...importance.parameters, ...pairs];
    const most = Math.max(...all.map((each) => each.importance + each.deviation), 0.01);
    content = (
      <>
        <ul class="bars" aria-label="Importance of hyperparameters">
          {importance.parameters.map((each) => (
            <Bar key={each.parameter} name={each.parameter} importance={each.importance} deviation={each.deviation} most={most} />
          ))}
        </ul>
        {pairs.length > 0 && (
          <>
            <h3 class="bars-title">Interactions of pairs, beyond their separate effects</h3>
            <ul class="bars" aria-label="Importance of pairs of hyperparameters">
              {pairs.map((each) => (
                <Bar key={each.name} name={each.name} importance={each.importance} deviation={each.deviation} most={most} />
              ))}
            </ul>
          </>
        )}
        {importance.note && <p class="quiet card-note">{importance.note}</p>}
      </>
    );
  }
  return (
    <Card
      id="importance"
      class="span-5"
      title="Importance"
      hint={importance && importance.trials > 0 ? `share of the variance, ± deviation; ${counted(importance.trials, 'trial')}` : 'share of the variance'}
      actions={
        importance && (
          <div class="row">
            <LevelChooser importance={importance} />
            {importance.parameters.length > 0 && <Download name={`${job.id} importance`} table={() => tableFor(importance)} />}
          </div>
        )
      }
      updating={answer.loading && importance !== undefined && filters.length > 0}
    >
      <div ref={place} style={{minHeight: `${kLeastHeight}px`}}>
        {content}
      </div>
    </Card>
  );
}

function tableFor({parameters, pairs}: Importance) {
  const all = [...parameters.map(({parameter, ...rest}) => ({first: parameter, second: '', ...rest})), ...pairs];
  return tableOf({
    hyperparameter: all.map((each) => each.first),
    with: all.map((each) => each.second),
    importance: all.map((each) => each.importance),
    deviation: all.map((each) => each.deviation),
  });
}

function Bar({name, importance, deviation, most}: {name: string; importance: number; deviation: number; most: number}) {
  const part = (value: number) => `${(Math.min(Math.max(value, 0), most) / most) * 100}%`;
  const low = Math.max(0, importance - deviation);
  const high = Math.min(most, importance + deviation);
  return (
    <li>
      <span class="bar-name" title={name}>
        {name}
      </span>
      <span class="bar-track" aria-hidden="true">
        <i class="bar-fill" style={{width: part(importance)}} />
        <i class="bar-range" style={{left: part(low), width: part(high - low)}} />
      </span>
      <span class="bar-value">
        {percent(importance, importance < 0.1 ? 1 : 0)} <span class="quiet">± {(deviation * 100).toFixed(deviation < 0.1 ? 1 : 0)}</span>
      </span>
    </li>
  );
}
