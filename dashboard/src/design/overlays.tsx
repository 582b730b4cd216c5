import {signal} from '@preact/signals';
import type {ComponentChildren} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';
import {Button} from './basics';
import {Problem} from './form';
import {Icon, type IconName} from './icons';

interface Question {
  title: string;
  text: ComponentChildren;
  confirm: string;    // what the button does: "Stop the job"
  danger?: boolean;
  // Done before the dialog closes; what it throws is shown in it.
  action?: () => Promise<unknown>;
}
const question = signal<(Question & {answer(yes: boolean): void}) | null>(null);

// Asks before something is done. True once it is.
export function ask(what: Question): Promise<boolean> {
  question.value?.answer(false);
  return new Promise((resolve) => {
    question.value = {
      ...what,
      answer(yes) {
        question.value = null;
        resolve(yes);
      },
    };
  });
}

export function DialogHost() {
  const open = question.value;
  return open ? <QuestionDialog key={open.title} open={open} /> : null;
}

function QuestionDialog({open}: {open: NonNullable<typeof question.value>}) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState('');
  const confirm = async () => {
    setBusy(true);
    try {
      await open.action?.();
      open.answer(true);
    } catch (problem) {
      setError((problem as Error).message);
      setBusy(false);
    }
  };
  return (
    <Dialog title={open.title} onClose={() => open.answer(false)}>
      <div class="dialog-text">{open.text}</div>
      <Problem text={error} />
      <div class="dialog-actions">
        <Button onClick={() => open.answer(false)}>Cancel</Button>
        <Button kind={open.danger ? 'danger' : 'primary'} strong={open.danger} disabled={busy} onClick={() => void confirm()}>
          {open.confirm}
        </Button>
      </div>
    </Dialog>
  );
}

export function Dialog({title, onClose, children}: {title: string; onClose(): void; children: ComponentChildren}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    dialog.current!.showModal();
    return () => before?.focus?.();
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose();
      }}
    >
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}

const toasts = signal<{id: number; text: string}[]>([]);
let nextToast = 1;
const kToastMs = 4000;
export function toast(text: string): void {
  const id = nextToast++;
  toasts.value = [...toasts.value, {id, text}];
  setTimeout(() => (toasts.value = toasts.value.filter((each) => each.id !== id)), kToastMs);
}
export function ToastHost() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({id, text}) => (
        <div class="toast" key={id}>
          {text}
        </div>
      ))}
    </div>
  );
}

interface MenuProps {
  label: string;
  icon?: IconName;
  text?: ComponentChildren;  // shown beside the icon; without it the label is read out only
  stays?: boolean;           // open while things in it are chosen
  children: ComponentChildren;
}
// A button and what it opens: children are buttons, links or labels with a checkbox.
export function Menu({label, icon, text, stays, children}: MenuProps) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    const list = root.current!.querySelector<HTMLElement>('.menu-list')!;
    list.querySelector<HTMLElement>('button, a, input')?.focus();
    const outside = (event: Event) => {
      const target = event.target as Node;
      // A press on what cannot be focused, a label, gives the focus to what is around the menu.
      const around = event.type === 'focusin' && target.contains(root.current);
      if (!around && !root.current!.contains(target)) setOpen(false);
    };
    document.addEventListener('pointerdown', outside);
    document.addEventListener('focusin', outside);
    return () => {
      document.removeEventListener('pointerdown', outside);
      document.removeEventListener('focusin', outside);
    };
  }, [open]);
  const keys = (event: KeyboardEvent) => {
    if (!open) return;
    if (event.key === 'Escape') {
      setOpen(false);
      root.current!.querySelector<HTMLElement>('.menu-button')!.focus();
      return;
    }
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    const items = [...root.current!.querySelectorAll<HTMLElement>('.menu-list button, .menu-list a, .menu-list input')];
    items[(items.indexOf(document.activeElement as HTMLElement) + step + items.length) % items.length]?.focus();
  };
  return (
    <div class="menu" ref={root} onKeyDown={keys}>
      <button type="button" class={`button ${text ? 'small' : 'ghost icon-only'} menu-button`} aria-haspopup="true" aria-expanded={open} title={text ? undefined : label} onClick={() => setOpen(!open)}>
        {icon && <Icon name={icon} />}
        {text ?? <span class="sr">{label}</span>}
      </button>
      {open && (
        <div class="menu-list" role={stays ? 'group' : 'menu'} aria-label={label} onClick={() => !stays && setOpen(false)}>
          {children}
        </div>
      )}
    </div>
  );
}
