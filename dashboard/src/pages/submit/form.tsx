import {useState} from 'preact/hooks';
import {Button} from '../../design';
import {parseTags} from '../annotation/tags';
import type {Mark} from './editor';
import {freshParameter, isMessage, joinWords, type Json, type Kind, kindOf, kKinds, listOf, listText, numberOf, splitWords, valueAt, withKind, withValue} from './form_fields';
import {fieldText, type Path} from './places';

const kStrategies = ['FREEZE_THAW', 'HYPERBAND', 'ASHA', 'BOHB', 'BAYESIAN', 'PBT', 'RANDOM', 'GRID'];
const kTypes: Record<Kind, string> = {continuous: 'number', integer: 'whole number', categorical: 'choice', discrete: 'list of numbers'};

interface Props {
  spec: Json;
  marks: Mark[];
  change(spec: Json): void;
}

// The fields that most jobs have. Whatever else the job file has stays as it is.
export function JobForm({spec, marks, change}: Props) {
  const set = (path: Path, value: Json) => change(withValue(spec, path, value));
  const wrong = (path: Path) => marks.find((mark) => mark.field === fieldText(path) || mark.field.startsWith(`${fieldText(path)}.`) || mark.field.startsWith(`${fieldText(path)}[`));
  const field = {spec, set, wrong};
  const metric = String(valueAt(spec, ['objective', 'metric']) ?? '');
  const metrics = valueAt(spec, ['trainer', 'metrics']);
  const definition = Array.isArray(metrics) ? metrics.findIndex((each) => valueAt(each, ['name']) === metric) : -1;
  const builtin = valueAt(spec, ['trainer', 'builtin']);
  const isProgram = builtin === undefined && valueAt(spec, ['trainer', 'external']) !== true;
  const several = Array.isArray(valueAt(spec, ['objectives']));
  const parameters = valueAt(spec, ['parameters']);
  const list: Json[] = Array.isArray(parameters) ? parameters : [];
  const strategy = String(valueAt(spec, ['strategy']) ?? '');
  // The expression that reads the metric follows the metric's name.
  const setMetric = (text: string) => {
    let next = withValue(spec, ['objective', 'metric'], text);
    if (isProgram && definition >= 0) next = withValue(next, ['trainer', 'metrics', definition, 'name'], text);
    change(next);
  };
  return (
    <div class="job-form">
      <fieldset>
        <legend>Job</legend>
        <Text {...field} label="Name" path={['name']} />
        <TextOf {...field} label="Tags" path={['tags']} hint="separated by spaces" read={(value) => (Array.isArray(value) ? value.join(' ') : '')} write={(text) => parseTags(text).tags} />
        <Text {...field} label="Note" path={['note']} />
      </fieldset>
      <fieldset>
        <legend>Trainer</legend>
        {isProgram ? (
          <>
            <TextOf
              {...field}
              label="Command"
              path={['trainer', 'command']}
              hint="{{name}} stands for a hyperparameter's value; without any, --name=value is added"
              mono
              read={(value) => (Array.isArray(value) ? joinWords(value.map(String)) : '')}
              write={(text) => splitWords(text)}
            />
            <Text {...field} label="Directory" path={['working_directory']} mono hint="absolute, on the workers" />
          </>
        ) : (
          <p class="quiet">{typeof builtin === 'string' ? `The built-in trainer ${builtin}. ` : 'Clients train the trials of this job. '}Its data and fixed hyperparameters are in the JSON.</p>
        )}
      </fieldset>
      {!several && (
        <fieldset>
          <legend>Objective</legend>
          <label class="form-field">
            <span>Metric</span>
            <input class="input small" value={metric} aria-invalid={wrong(['objective', 'metric']) !== undefined} data-field="objective.metric" onInput={(event) => setMetric(event.currentTarget.value)} />
          </label>
          <Choice {...field} label="Goal" path={['objective', 'goal']} options={['MINIMIZE', 'MAXIMIZE']} />
          {isProgram && definition >= 0 && <Text {...field} label="Read by" path={['trainer', 'metrics', definition, 'regex']} mono hint="a regular expression on standard output; its group is the value" />}
          {isProgram && definition >= 0 && <Text {...field} label="Level by" path={['trainer', 'resource_regex']} mono hint="the epoch or round, so that trials can be stopped early" />}
        </fieldset>
      )}
      <fieldset>
        <legend>Search</legend>
        <Choice {...field} label="Strategy" path={['strategy']} options={strategy && !kStrategies.includes(strategy) ? [strategy, ...kStrategies] : kStrategies} none="default" />
        <Numeric {...field} label="Maximum trials" path={['limits', 'max_trials']} />
        <Numeric {...field} label="Trials in parallel" path={['limits', 'max_parallel_trials']} />
        <Numeric {...field} label="Maximum units, all trials" path={['limits', 'max_total_resource']} />
        <Numeric {...field} label="Seed" path={['seed']} />
      </fieldset>
      <fieldset class="form-parameters">
        <legend>Hyperparameters</legend>
        <ul>
          {list.map((parameter, i) => (
            <ParameterRow key={i} parameter={parameter} index={i} wrong={wrong} change={(next) => set(['parameters', i], next)} remove={() => set(['parameters'], list.filter((_, k) => k !== i))} />
          ))}
        </ul>
        <Button small icon="plus" onClick={() => set(['parameters'], [...list, freshParameter(list.map((each) => String(valueAt(each, ['name']))))])}>
          Add a hyperparameter
        </Button>
      </fieldset>
    </div>
  );
}

interface FieldProps {
  spec: Json;
  set(path: Path, value: Json): void;
  wrong(path: Path): Mark | undefined;
  label: string;
  path: Path;
  hint?: string;
  mono?: boolean;
}

function Text(props: FieldProps) {
  return <TextOf {...props} read={(value) => (value === undefined ? '' : String(value))} write={(text) => text} />;
}

function Numeric(props: FieldProps) {
  return <TextOf {...props} short read={(value) => (value === undefined ? '' : String(value))} write={numberOf} />;
}

// What is typed stays as it is typed, while the field has the focus. `write` gives null for what cannot be used yet.
function TextOf({spec, set, wrong, label, path, hint, mono, short, read, write}: FieldProps & {short?: boolean; read(value: Json): string; write(text: string): Json}) {
  const [typed, setTyped] = useState<string | null>(null);
  const mark = wrong(path);
  const shown = typed ?? read(valueAt(spec, path));
  // An input has one line, and would put several together.
  const hasLines = /[\n\r]/.test(shown);
  return (
    <label class={`form-field${short ? ' short' : ''}`} title={mark?.text ?? (hasLines ? 'of several lines: to be changed in the JSON' : hint)}>
      <span>{label}</span>
      <input
        class={`input small${mono ? ' mono' : ''}`}
        value={shown}
        readOnly={hasLines}
        placeholder={hint}
        aria-invalid={mark !== undefined}
        data-field={fieldText(path)}
        spellcheck={false}
        inputMode={short ? 'decimal' : undefined}
        onInput={(event) => {
          const text = event.currentTarget.value;
          setTyped(text);
          const value = write(text);
          if (value !== null) set(path, value);
        }}
        onBlur={() => setTyped(null)}
      />
    </label>
  );
}

function Choice({spec, set, wrong, label, path, options, none}: FieldProps & {options: readonly string[]; none?: string}) {
  const value = String(valueAt(spec, path) ?? '').toUpperCase();
  return (
    <label class="form-field short">
      <span>{label}</span>
      <select class="input small" value={value} aria-invalid={wrong(path) !== undefined} data-field={fieldText(path)} onChange={(event) => set(path, event.currentTarget.value)}>
        {(none || !options.includes(value)) && <option value="">{none ?? '–'}</option>}
        {options.map((option) => (
          <option key={option} value={option}>
            {option.toLowerCase().replace('_', '-')}
          </option>
        ))}
      </select>
    </label>
  );
}

interface RowProps {
  parameter: Json;
  index: number;
  wrong(path: Path): Mark | undefined;
  change(parameter: Json): void;
  remove(): void;
}
function ParameterRow({parameter, index, wrong, change, remove}: RowProps) {
  const kind = kindOf(parameter);
  const name = String(valueAt(parameter, ['name']) ?? '');
  const at = ['parameters', index];
  const field = {spec: parameter, set: (path: Path, value: Json) => change(withValue(parameter, path, value)), wrong: (path: Path) => wrong([...at, ...path])};
  const condition = valueAt(parameter, ['condition']);
  return (
    <li class={wrong(at) ? 'wrong' : undefined}>
      <Text {...field} label="Name" path={['name']} />
      <label class="form-field short">
        <span>Type</span>
        <select class="input small" aria-label={`Type of ${name}`} value={kind} onChange={(event) => change(withKind(parameter, event.currentTarget.value as Kind))}>
          {kKinds.map((each) => (
            <option key={each} value={each}>
              {kTypes[each]}
            </option>
          ))}
        </select>
      </label>
      {kind === 'continuous' || kind === 'integer' ? (
        <>
          <Numeric {...field} label="From" path={[kind, 'min']} />
          <Numeric {...field} label="To" path={[kind, 'max']} />
          <Choice {...field} label="Scale" path={[kind, 'scaling']} options={['LOG', 'REVERSE_LOG']} none="linear" />
        </>
      ) : (
        <TextOf {...field} label="Values" path={[kind, 'values']} hint='separated by commas; one with a comma in "quotes"' read={(value) => (Array.isArray(value) ? listText(value) : '')} write={(text) => listOf(text, kind)} />
      )}
      <Button small kind="ghost" icon="trash" iconOnly onClick={remove}>
        {`Remove ${name}`}
      </Button>
      {isMessage(condition) && <p class="quiet">only if {String(valueAt(condition, ['parameter']))} is {([] as Json[]).concat(valueAt(condition, ['values']) ?? []).join(' or ')}</p>}
    </li>
  );
}
