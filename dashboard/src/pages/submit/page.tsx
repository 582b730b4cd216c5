import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import {describeJob} from '../../api/calls';
import {ApiError, get, isAbort, post} from '../../api/client';
import {useGet} from '../../api/query';
import type {Project, TuningJob, TuningPlan, Worker} from '../../api/types';
import {go, param, paths, setParams} from '../../app/router';
import {isReadOnly, maySubmit} from '../../app/session';
import {ask, Button, Card, ErrorState, PageHead, Segmented, Skeleton, toast, useTitle} from '../../design';
import {counted} from '../../format';
import {jobFile, pretty} from '../job/job_file';
import {type Code, codeOf, sourceFor} from './code';
import {Editor, type Mark} from './editor';
import {JobForm} from './form';
import type {Message} from './form_fields';
import {marksOf, parse} from './marks';
import {Plan} from './plan';
import {rewritten} from './rewrite';
import {kStarters} from './starters';
import './submit.css';

const kPauseMs = 350;  // of typing, before the server is asked
const kRetryMs = 2000;  // after which it is asked again, where it did not answer

interface Draft {
  text: string;
  project: string;  // that the job will belong to; "": the default one
  unitSeconds: number;
  code?: Code;
}

export default function SubmitPage() {
  const from = param('from');
  const [draft, setDraft] = useState<Draft | null>(from ? null : {text: pretty(kStarters[0].spec), project: '', unitSeconds: 1});
  const [error, setError] = useState<Error | null>(null);
  const [turn, setTurn] = useState(0);
  useTitle('New job');
  useEffect(() => {
    if (!from) return;
    const abort = new AbortController();
    setError(null);
    draftOf(from, abort.signal).then(setDraft, (problem: Error) => !isAbort(problem) && setError(problem));
    return () => abort.abort();
  }, [from, turn]);
  return (
    <>
      <PageHead title={from ? `Run ${from} again, with changes` : 'New job'} about="A job file and its plan. Nothing starts until you submit it." />
      {error ? <ErrorState error={error} retry={() => setTurn(turn + 1)} height={400} /> : draft ? <Form key={from ?? ''} draft={draft} starters={!from} /> : <Skeleton height={560} />}
    </>
  );
}

async function draftOf(from: string, signal: AbortSignal): Promise<Draft> {
  const job = await describeJob(from, signal);
  return {text: pretty(jobFile(job.rawSpec, true)), project: job.project, unitSeconds: unitOf(job), code: await codeOf(job, signal)};
}

// Of what the job has trained; 1 s if it says nothing.
function unitOf(job: TuningJob): number {
  const seconds = job.spend.trainingSeconds / job.spend.resource;
  return Number.isFinite(seconds) && seconds > 0 ? Number(seconds.toPrecision(2)) : 1;
}

interface Checked {
  plan?: TuningPlan;
  error?: Error;
  marks: Mark[];
}

// Nothing is wrong with the job file: the server did not answer, or not in time. The same may be asked again.
const isPassing = (error: unknown) => error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status >= 500);

const kMostFileBytes = 8 << 20;
const kViews = [
  {value: 'form', label: 'Form'},
  {value: 'json', label: 'JSON'},
] as const;

// The form's input of the field, or of what holds it; null: the form has none.
function fieldFor(field: string): HTMLElement | null {
  for (let at = field; at; at = at.replace(/(\.[^.[\]]*|\[[^\]]*\])$/, '')) {
    const input = document.querySelector<HTMLElement>(`[data-field="${CSS.escape(at)}"]`);
    if (input) return input;
    if (!/[.[]/.test(at)) return null;
  }
  return null;
}

function requestId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function Form({draft, starters}: {draft: Draft; starters: boolean}) {
  const [text, setText] = useState(draft.text);
  const [project, setProject] = useState(draft.project);
  const projects = useGet<{projects: Project[]}>('/v1/projects').data?.projects ?? [];
  const [slots, setSlots] = useState(0);
  const [unitSeconds, setUnitSeconds] = useState(draft.unitSeconds);
  const [checked, setChecked] = useState<Checked>({marks: []});
  const [busy, setBusy] = useState(false);
  const [over, setOver] = useState(false);
  const [starter, setStarter] = useState(kStarters[0].value);
  const show = useRef<(mark: Mark) => void>(() => {});
  const [code, setCode] = useState(draft.code);
  const {spec, marks: syntax} = useMemo(() => parse(text, code), [text, code]);

  useEffect(() => {
    get<{workers: Worker[]}>('/v1/workers').then(
      ({workers}) => setSlots(Math.max(1, workers.filter((worker) => worker.state === 'LIVE').reduce((sum, worker) => sum + worker.slots, 0))),
      () => setSlots(1),
    );
  }, []);

  useEffect(() => {
    if (spec === undefined || slots === 0) return;
    const abort = new AbortController();
    const look = () =>
      void post<TuningPlan>('/v1/preview', {spec, slots, unitSeconds}, abort.signal).then(
        (plan) => setChecked({plan, marks: []}),
        (error: Error) => {
          if (isAbort(error)) return;
          setChecked((before) => ({plan: before.plan, error, marks: marksOf(text, error)}));
          if (isPassing(error)) timer = setTimeout(look, kRetryMs);
        },
      );
    let timer = setTimeout(look, kPauseMs);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text, slots, unitSeconds]);

  // Asked again after a lost answer, the server starts no second job.
  const request = useMemo(requestId, [text, project]);
  const submit = async () => {
    setBusy(true);
    try {
      const job = await post<TuningJob>('/v1/tuning-jobs', {spec, requestId: request, project, source: sourceFor(spec, code)});
      toast(`${job.id} has started.`);
      go(paths.job(job.id));
    } catch (error) {
      setChecked((before) => ({plan: before.plan, error: error as Error, marks: marksOf(text, error)}));
      setBusy(false);
    }
  };
  const begin = async (value: string) => {
    const chosen = kStarters.find((each) => each.value === value)!;
    const untouched = kStarters.some((each) => pretty(each.spec) === text);
    if (!untouched && !(await ask({title: 'Replace the job file?', text: 'The example replaces your text.', confirm: 'Replace it'}))) return;
    setStarter(value);
    setText(pretty(chosen.spec));
  };
  const open = async (file: File | undefined) => {
    if (file && file.size > kMostFileBytes) toast(`${file.name} is too large for a job file.`);
    else if (file) {
      setText(await file.text());
      setCode(undefined);  // that of another job file
    }
  };
  // As a form or as JSON: of what is no JSON there is no form.
  const asForm = param('as') === 'form' && spec !== undefined;
  const point = (mark: Mark) => {
    const input = asForm ? fieldFor(mark.field) : null;
    if (input) input.focus();
    else if (asForm) {
      setParams({as: null}, {replace: true});
      requestAnimationFrame(() => requestAnimationFrame(() => show.current(mark)));
    } else show.current(mark);
  };
  const marks = spec === undefined ? syntax : [...syntax, ...checked.marks.filter((mark) => !syntax.some((each) => each.field === mark.field))];
  const wrong = syntax.length > 0 || checked.error !== undefined;
  const mayTry = syntax.length === 0 && (!checked.error || isPassing(checked.error));
  return (
    <div class="grid">
      <Card
        class="span-7"
        title="Job file"
        hint="or drop one here"
        actions={
          <div class="row">
            <Segmented label="Shown as" value={asForm ? 'form' : 'json'} options={kViews} onChange={(value) => setParams({as: value === 'form' ? 'form' : null}, {replace: true})} />
            {starters && <Segmented label="Start from" value={starter} options={kStarters} onChange={(value) => void begin(value)} />}
            <label class="button small file-button">
              Open a file
              <input class="sr" type="file" accept=".json,application/json" onChange={(event) => {
                  void open(event.currentTarget.files?.[0]);
                  event.currentTarget.value = '';
                }} />
            </label>
          </div>
        }
      >
        <div
          class={over ? 'drop over' : 'drop'}
          onDragOver={(event) => {
            if (!event.dataTransfer?.types.includes('Files')) return;
            event.preventDefault();
            setOver(true);
          }}
          onDragLeave={() => setOver(false)}
          onDrop={(event) => {
            if (!event.dataTransfer?.files.length) return;
            event.preventDefault();
            setOver(false);
            void open(event.dataTransfer.files[0]);
          }}
        >
          {asForm ? (
            <JobForm spec={spec} marks={marks} change={(next) => setText(rewritten(text, next as Message))} />
          ) : (
            <Editor text={text} marks={marks} label="Job file" onChange={setText} handle={(move) => (show.current = move)} />
          )}
        </div>
      </Card>
      <div class="span-5 stack submit-side">
        <Card title="Plan" hint={wrong && checked.plan ? 'as it was before the last change' : undefined}>
          <div class="row plan-asked">
            <label>
              with{' '}
              <input class="input small" type="number" min={1} max={100_000} value={slots || ''} aria-label="Trials in parallel" onChange={(event) => setSlots(Math.max(1, Number(event.currentTarget.value) || 1))} />{' '}
              trials in parallel,
            </label>
            <label>
              <input class="input small" type="number" min={0} step="any" value={unitSeconds} aria-label="Seconds per unit" onChange={(event) => setUnitSeconds(Math.max(0, Number(event.currentTarget.value) || 0))} /> s per
              unit
            </label>
          </div>
          <div class="plan-room">{checked.plan ? <Plan plan={checked.plan} /> : wrong ? <p class="quiet">Shown once the job file is valid.</p> : <Skeleton height={220} />}</div>
        </Card>
        <Card title={!wrong ? 'Ready' : marks.length ? counted(marks.length, 'problem') : mayTry ? 'Try again' : 'Rejected by the server'}>
          <div class="mend" role="status">
            {!wrong && <p class="muted">{checked.plan ? `The job file is valid. ${sourceFor(spec, code) ? `It runs the code of ${code!.job}. ` : ''}Its directory, program and data are checked when you submit it.` : 'The server checks it …'}</p>}
            {wrong && marks.length === 0 && <p class="mend-text">{checked.error?.message}</p>}
            <ul>
              {marks.map((mark) => (
                <li key={mark.field + mark.text}>
                  <button type="button" class="mend-item" onClick={() => point(mark)}>
                    <span class="quiet">line {mark.place.line}</span> <code>{mark.field}</code>
                    <span class="mend-text">{mark.text}</span>
                  </button>
                </li>
              ))}
            </ul>
          </div>
          <div class="row">
            {(projects.length > 0 || project !== '') && (
              <label>
                in project{' '}
                <select class="input small" aria-label="Project" value={project} onChange={(event) => setProject(event.currentTarget.value)}>
                  <option value="">default</option>
                  {[...new Set([...projects.map((each) => each.name), ...(project ? [project] : [])])].map((name) => (
                    <option key={name} value={name}>
                      {name}
                    </option>
                  ))}
                </select>
              </label>
            )}
            <Button kind="primary" icon="plus" disabled={busy || !mayTry || !checked.plan || !maySubmit()} onClick={() => void submit()}>
              {busy ? 'Submitting …' : 'Submit the job'}
            </Button>
            {!maySubmit() && <span class="quiet">{isReadOnly() ? 'This server is read-only and starts no jobs.' : 'Your role may not start jobs.'}</span>}
          </div>
        </Card>
      </div>
    </div>
  );
}
