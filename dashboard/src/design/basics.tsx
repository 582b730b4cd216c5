import type {ButtonHTMLAttributes, ComponentChildren} from 'preact';
import {useEffect, useState} from 'preact/hooks';
import {isAbort, ApiError} from '../api/client';
import {word} from '../format';
import {Icon, type IconName} from './icons';

export function useTitle(title: string) {
  useEffect(() => {
    document.title = `${title} · Winnow`;
  }, [title]);
}

// The top of a page; `children` are its actions.
export function PageHead({title, about, children}: {title: string; about?: string; children?: ComponentChildren}) {
  return (
    <div class="page-head">
      <div class="titles">
        <h1>{title}</h1>
        {about && <p class="muted">{about}</p>}
      </div>
      {children}
    </div>
  );
}

interface CardProps {
  title: ComponentChildren;
  hint?: ComponentChildren;     // in small letters beside the title
  actions?: ComponentChildren;  // at the right end of the title's line
  class?: string;               // span-4, span-6 … in a .grid
  id?: string;                  // for links to it
  updating?: boolean;           // shows a running line after a moment
  children: ComponentChildren;
}
const kUpdatingMs = 250;
export function Card({title, hint, actions, class: extra = '', id, updating = false, children}: CardProps) {
  const lasts = useLasting(updating, kUpdatingMs);
  return (
    <section class={`card ${extra}`} id={id} aria-label={typeof title === 'string' ? title : undefined} aria-busy={updating}>
      <div class="card-head">
        <div class="card-title">
          <h2>{title}</h2>
          {hint && <span class="card-hint">{hint}</span>}
        </div>
        {actions}
      </div>
      <div class={`card-body${lasts ? ' updating' : ''}`}>{children}</div>
    </section>
  );
}

// A heading of a plain table: `num` above numbers; false: no such column.
type Heading = ComponentChildren | {num: ComponentChildren};

// A table of few rows; it scrolls sideways where it does not fit.
export function PlainTable({label, class: extra = '', headings, children}: {label: string; class?: string; headings: Heading[]; children: ComponentChildren}) {
  return (
    <div class={`scroll-x ${extra}`} tabIndex={0} role="group" aria-label={label}>
      <table class="table">
        <thead>
          <tr>
            {headings.map((heading) =>
              heading === false ? null : heading instanceof Object && 'num' in heading ? (
                <th scope="col" class="num">{heading.num}</th>
              ) : (
                <th scope="col">{heading}</th>
              ),
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

// Whether `is` has held for so long. What ends sooner changes nothing on the page: painting it would hold up its end.
function useLasting(is: boolean, ms: number): boolean {
  const [lasts, setLasts] = useState(false);
  useEffect(() => {
    if (!is) return;
    const timer = setTimeout(() => setLasts(true), ms);
    return () => {
      clearTimeout(timer);
      setLasts(false);
    };
  }, [is]);
  return is && lasts;
}

export function Stats({children}: {children: ComponentChildren}) {
  return <div class="stats">{children}</div>;
}
export function Stat({label, value, note}: {label: string; value: ComponentChildren; note?: ComponentChildren}) {
  return (
    <dl class="stat">
      <dt>{label}</dt>
      <dd class="value">{value}</dd>
      {note !== undefined && <dd class="note">{note}</dd>}
    </dl>
  );
}

export type Tone = 'pending' | 'running' | 'paused' | 'completed' | 'pruned' | 'failed' | 'cancelled' | 'best' | '';
export function Badge({tone = '', children}: {tone?: Tone; children: ComponentChildren}) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

const kTones: Record<string, Tone> = {
  RUNNING: 'running', STOPPING: 'running', LIVE: 'completed', PENDING: 'pending', PAUSED: 'paused', COMPLETED: 'completed',
  PRUNED: 'pruned', CANCELLED: 'cancelled', STOPPED: 'cancelled', GONE: 'pruned', LEAVING: 'paused', FAILED: 'failed', LOST: 'failed', QUARANTINED: 'failed',
  CORDONED: 'paused', DRAINING: 'paused', OPEN: 'completed',
};
// Of a job, a trial or a worker.
export function StateBadge({state}: {state: string}) {
  return <Badge tone={kTones[state] ?? ''}>{word(state)}</Badge>;
}

type ButtonKind = 'plain' | 'primary' | 'danger' | 'ghost';
interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'icon'> {
  kind?: ButtonKind;
  small?: boolean;
  strong?: boolean;    // of danger: filled
  icon?: IconName;
  iconOnly?: boolean;  // the children are read out, not shown
  disabled?: boolean;
  type?: 'button' | 'submit';
}
export function Button({kind = 'plain', small, strong, icon, iconOnly, class: extra, type = 'button', children, ...rest}: ButtonProps) {
  const classes = ['button', kind, small && 'small', strong && 'strong', iconOnly && 'icon-only', extra].filter(Boolean).join(' ');
  return (
    <button type={type} class={classes} title={iconOnly && typeof children === 'string' ? children : undefined} {...rest}>
      {icon && <Icon name={icon} />}
      {iconOnly ? <span class="sr">{children}</span> : children}
    </button>
  );
}
export function LinkButton({href, kind = 'plain', small, icon, children}: {href: string; kind?: ButtonKind; small?: boolean; icon?: IconName; children: ComponentChildren}) {
  return (
    <a class={`button ${kind}${small ? ' small' : ''}`} href={href}>
      {icon && <Icon name={icon} />}
      {children}
    </a>
  );
}
export function CopyButton({text, children = 'Copy'}: {text: () => string | Promise<string>; children?: ComponentChildren}) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await copyText(await text());
    setDone(true);
    setTimeout(() => setDone(false), 1600);
  };
  return (
    <Button small icon={done ? 'check' : 'copy'} onClick={() => void copy()}>
      {done ? 'Copied' : children}
    </Button>
  );
}
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Pages that did not come over TLS, nor from this machine, have no clipboard.
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}

interface SegmentedProps<V extends string> {
  label: string;
  value: V;
  options: readonly {value: V; label: string}[];
  onChange(value: V): void;
}
export function Segmented<V extends string>({label, value, options, onChange}: SegmentedProps<V>) {
  return (
    <div class="segmented" role="group" aria-label={label}>
      {options.map((option) => (
        <button type="button" key={option.value} aria-pressed={option.value === value} onClick={() => onChange(option.value)}>
          {option.label}
        </button>
      ))}
    </div>
  );
}

// `tone`: of what did not come to its end.
export function Meter({part, label, tone = ''}: {part: number; label: string; tone?: Tone}) {
  const bounded = Math.min(1, Math.max(0, Number.isFinite(part) ? part : 0));
  return (
    <div class={`meter ${tone}`} role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(bounded * 100)}>
      <i style={{width: `${bounded * 100}%`}} />
    </div>
  );
}

export function Skeleton({height, width}: {height: number | string; width?: number | string}) {
  const size = (length: number | string | undefined) => (typeof length === 'number' ? `${length}px` : length);
  return <div class="skeleton" role="status" aria-label="Loading" style={{height: size(height), width: size(width)}} />;
}

export function EmptyState({title, actions, children, height}: {title: string; actions?: ComponentChildren; children?: ComponentChildren; height?: number}) {
  return (
    <div class="state" style={height ? {minHeight: `${height}px`} : undefined}>
      <h2>{title}</h2>
      <div class="state-text">{children}</div>
      {actions && <div class="row">{actions}</div>}
    </div>
  );
}

const kErrorTitles: Partial<Record<number, string>> = {400: 'This is not possible', 404: 'Not found'};
export function ErrorState({error, retry, height}: {error: Error; retry?: () => void; height?: number}) {
  if (isAbort(error)) return null;
  const title = error instanceof ApiError ? kErrorTitles[error.status] : undefined;
  return (
    <div class="state" role="alert" style={height ? {minHeight: `${height}px`} : undefined}>
      <h2>{title ?? 'Something went wrong'}</h2>
      <div class="state-text">{error.message}</div>
      {error instanceof ApiError && error.violations.length > 0 && (
        <ul>
          {error.violations.map((violation) => (
            <li>
              <code>{violation.field}</code> {violation.description}
            </li>
          ))}
        </ul>
      )}
      {retry && (
        <Button small icon="repeat" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}

// Of a DOM element, on hover and focus; charts place a <div class="tip"> themselves.
export function Tooltip({text, children}: {text: ComponentChildren; children: ComponentChildren}) {
  return (
    <span class="tip-anchor">
      {children}
      <span class="tip" role="tooltip">
        {text}
      </span>
    </span>
  );
}

export interface LegendItem {
  label: ComponentChildren;
  color: string;  // a CSS colour: var(--best)
  shape?: 'dot' | 'line' | 'dashed' | 'band' | 'ring' | 'cross' | 'bar';
}
const kOutlined = new Set<LegendItem['shape']>(['ring', 'dashed', 'cross']);
// The shapes are those of the marks.
export function Legend({items}: {items: LegendItem[]}) {
  return (
    <ul class="legend">
      {items.map(({label, color, shape = 'dot'}) => (
        <li>
          <i class={`swatch ${shape}`} style={kOutlined.has(shape) ? {borderColor: color} : {background: color}} />
          {label}
        </li>
      ))}
    </ul>
  );
}

interface TabsProps<V extends string> {
  label: string;
  value: V;
  items: readonly {value: V; label: ComponentChildren}[];
  onChange(value: V): void;
}
// The panel is the caller's: <div role="tabpanel" aria-label=…>.
export function Tabs<V extends string>({label, value, items, onChange}: TabsProps<V>) {
  const move = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    const at = items.findIndex((item) => item.value === value);
    const next = (at + step + items.length) % items.length;
    onChange(items[next].value);
    (event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('[role=tab]')[next].focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {items.map((item) => (
        <button type="button" role="tab" key={item.value} aria-selected={item.value === value} tabIndex={item.value === value ? 0 : -1} onClick={() => onChange(item.value)}>
          {item.label}
        </button>
      ))}
    </div>
  );
}
