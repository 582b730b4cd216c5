import {useState} from 'preact/hooks';
import type {TuningJob} from '../../api/types';
import {setParams} from '../../app/router';
import {Button, Icon} from '../../design';
import {number} from '../../format';
import {kStates} from '../job_words';
import {fieldName, type Filter, parseFilter, withFilter} from './filters';

// What is filtered, as chips to be taken away, and a way to add a filter without a mouse.
export function FilterBar({job, filters}: {job: TuningJob; filters: readonly string[]}) {
  const [adding, setAdding] = useState(false);
  const metric = job.spec.objective.metric;
  return (
    <div class={`filter-bar${filters.length ? ' active' : ''}`} role="group" aria-label="Filters">
      {filters.map((text) => {
        const filter = parseFilter(text);
        return (
          <span class="chip" key={text}>
            {filter ? (
              <>
                <strong>{fieldName(filter.field, metric)}</strong> {valueText(filter)}
              </>
            ) : (
              text
            )}
            <button type="button" aria-label={`Remove the filter on ${filter ? fieldName(filter.field, metric) : text}`} onClick={() => setParams({f: filters.filter((each) => each !== text)})}>
              <Icon name="close" />
            </button>
          </span>
        );
      })}
      {filters.length > 1 && (
        <Button small kind="ghost" onClick={() => setParams({f: null})}>
          Clear all
        </Button>
      )}
      <Button small kind="ghost" icon="filter" aria-expanded={adding} onClick={() => setAdding(!adding)}>
        Filter
      </Button>
      {adding && <AddFilter job={job} filters={filters} done={() => setAdding(false)} />}
    </div>
  );
}

function valueText(filter: Filter): string {
  if (filter.oneOf) return `is ${filter.oneOf.join(' or ')}`;
  if (filter.min === undefined) return `≤ ${number(filter.max)}`;
  if (filter.max === undefined) return `≥ ${number(filter.min)}`;
  return filter.min === filter.max ? `= ${number(filter.min)}` : `${number(filter.min)} to ${number(filter.max)}`;
}

function AddFilter({job, filters, done}: {job: TuningJob; filters: readonly string[]; done(): void}) {
  const fields = ['#objective', '#state', '#resource', '#training_seconds', '#number', '#bracket', '#rung', '#nodes', '#tag', ...job.spec.parameters.map((each) => each.name)];
  const [field, setField] = useState('#state');
  const [chosen, setChosen] = useState<string[]>([]);
  const [min, setMin] = useState('');
  const [max, setMax] = useState('');
  const choices = field === '#state' ? [...kStates] : job.spec.parameters.find((each) => each.name === field)?.categorical?.values;
  const bound = (text: string) => (text.trim() === '' ? undefined : Number(text));
  const words = field === '#tag' ? min.split(/[\s,]+/).filter(Boolean) : null;
  const filter: Filter | null = words ? (words.length ? {field, oneOf: words} : null) : choices ? (chosen.length ? {field, oneOf: chosen} : null) : {field, min: bound(min), max: bound(max)};
  const valid = filter !== null && (filter.oneOf !== undefined || ((filter.min !== undefined || filter.max !== undefined) && [filter.min, filter.max].every((each) => each === undefined || Number.isFinite(each))));
  return (
    <form
      class="add-filter"
      onSubmit={(event) => {
        event.preventDefault();
        if (!valid) return;
        setParams({f: withFilter(filters, field, filter)});
        done();
      }}
    >
      <select
        class="input small"
        aria-label="Field to filter by"
        value={field}
        onChange={(event) => {
          setField(event.currentTarget.value);
          setChosen([]);
        }}
      >
        {fields.map((name) => (
          <option value={name}>{fieldName(name, job.spec.objective.metric)}</option>
        ))}
      </select>
      {choices ? (
        <span class="row">
          {choices.map((value) => (
            <label class="check">
              <input type="checkbox" checked={chosen.includes(value)} onChange={() => setChosen(chosen.includes(value) ? chosen.filter((each) => each !== value) : [...chosen, value])} /> {value}
            </label>
          ))}
        </span>
      ) : words ? (
        <input class="input small" aria-label="Tags" placeholder="one of these tags" value={min} onInput={(event) => setMin(event.currentTarget.value)} />
      ) : (
        <span class="row">
          <input class="input small bound" inputMode="decimal" aria-label="At least" placeholder="at least" value={min} onInput={(event) => setMin(event.currentTarget.value)} />
          <span class="quiet">to</span>
          <input class="input small bound" inputMode="decimal" aria-label="At most" placeholder="at most" value={max} onInput={(event) => setMax(event.currentTarget.value)} />
        </span>
      )}
      <Button small kind="primary" type="submit" disabled={!valid}>
        Apply
      </Button>
    </form>
  );
}
