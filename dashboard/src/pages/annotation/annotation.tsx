import {useEffect, useRef, useState} from 'preact/hooks';
import {annotate, readAnnotation} from '../../api/calls';
import type {Annotation} from '../../api/types';
import {paths} from '../../app/router';
import {Button, Icon, toast} from '../../design';
import {ago, exactMoment} from '../../format';
import {changedText, parseTags} from './tags';
import './annotation.css';

// `href`: where a chip leads to.
export function TagChips({tags, href = (tag) => paths.tagged(tag)}: {tags: readonly string[]; href?(tag: string): string}) {
  return (
    <>
      {tags.map((tag) => (
        <a key={tag} class="tag" href={href(tag)} title={`All with the tag ${tag}`}>
          {tag}
        </a>
      ))}
    </>
  );
}

interface Props {
  job: string;
  may: boolean; // whether the caller may write them
  trial?: number;                   // none: of the job itself
  given: Annotation | undefined;    // as the server said it last
  href?(tag: string): string;
}

// Tags and note of a job or of a trial, edited in place.
export function AnnotationBox({job, may, trial = 0, given, href}: Props) {
  // What was written here is newer than an answer that was asked for before.
  const [written, setWritten] = useState<Annotation | undefined>(undefined);
  const [editing, setEditing] = useState(false);
  // What the form began with, or what its writer was told of since.
  const known = useRef<Annotation | undefined>(undefined);
  const isOlder = written !== undefined && (given?.time === undefined || new Date(given.time) < new Date(written.time!));
  const shown = isOlder ? written : given;
  const tags = shown?.tags ?? [];
  const note = shown?.note ?? '';
  if (editing) {
    return (
      <AnnotationForm
        tags={tags}
        note={note}
        save={async (nextTags, nextNote) => {
          const now = await readAnnotation(job, trial);
          const changed = changedText(known.current, now);
          known.current = now;
          if (changed) throw new Error(changed);
          const answer = await annotate(job, trial, nextTags, nextNote);
          setWritten(answer.annotation);
          setEditing(false);
          toast('Saved.');
        }}
        close={() => setEditing(false)}
      />
    );
  }
  if (!may && tags.length === 0 && note === '') return null;
  return (
    <div class="annotation" role="group" aria-label="Tags and note">
      {tags.length > 0 && (
        <span class="tags">
          <TagChips tags={tags} href={href} />
        </span>
      )}
      {note && (
        <p class="note-text" title={shown?.time ? `${shown.author ? `${shown.author}, ` : ''}${exactMoment(shown.time)}` : undefined}>
          {note}
          {shown?.author && (
            <span class="quiet">
              {' '}
              – {shown.author}, {ago(shown.time)}
            </span>
          )}
        </p>
      )}
      {may && (
        <button type="button" class="link-button annotate" onClick={() => ((known.current = shown), setEditing(true))}>
          <Icon name={tags.length || note ? 'edit' : 'plus'} />
          {tags.length || note ? 'Edit tags and note' : 'Add tags or a note'}
        </button>
      )}
    </div>
  );
}

const kMostNoteBytes = 4096;

function AnnotationForm({tags, note, save, close}: {tags: readonly string[]; note: string; save(tags: string[], note: string): Promise<void>; close(): void}) {
  const [tagText, setTagText] = useState(tags.join(' '));
  const [noteText, setNoteText] = useState(note);
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  useEffect(() => document.querySelector<HTMLInputElement>('.annotation-form input')?.focus(), []);
  const parsed = parseTags(tagText);
  const bytes = new TextEncoder().encode(noteText).length;
  const problem = parsed.problem || (bytes > kMostNoteBytes ? `The note has ${bytes} bytes; at most ${kMostNoteBytes} fit.` : '');
  const submit = async () => {
    setBusy(true);
    try {
      await save(parsed.tags, noteText.trim());
    } catch (failure) {
      setError((failure as Error).message);
      setBusy(false);
    }
  };
  return (
    <form
      class="annotation-form"
      aria-label="Tags and note"
      onSubmit={(event) => {
        event.preventDefault();
        if (!problem && !busy) void submit();
      }}
      onKeyDown={(event) => event.key === 'Escape' && close()}
    >
      <label>
        <span>Tags</span>
        <input class="input small" value={tagText} placeholder="baseline nightly/gpu v1.2" spellcheck={false} onInput={(event) => setTagText(event.currentTarget.value)} />
      </label>
      <label>
        <span>Note</span>
        <textarea class="input" rows={3} value={noteText} placeholder="What people should know" onInput={(event) => setNoteText(event.currentTarget.value)} />
      </label>
      <p class={problem || error ? 'failed-ink' : 'quiet'} role="status">
        {problem || error || 'Tags are separated by blanks: letters, digits and - _ . : /'}
      </p>
      <div class="row">
        <Button small kind="primary" type="submit" disabled={Boolean(problem) || busy}>
          Save
        </Button>
        <Button small onClick={close}>
          Cancel
        </Button>
      </div>
    </form>
  );
}
