import {useEffect, useRef} from 'preact/hooks';
import type {Place} from './places';

export interface Mark {
  place: Place;
  field: string;
  text: string;
}

const kLeastLines = 24;
const kLinePx = 20;  // as submit.css has it

interface EditorProps {
  text: string;
  marks: Mark[];
  label: string;
  readOnly?: boolean;
  onChange(text: string): void;
  // Called with what moves the cursor to a mark.
  handle(show: (mark: Mark) => void): void;
}

// Text with numbered lines; what is wrong stands at its line.
export function Editor({text, marks, label, readOnly, onChange, handle}: EditorProps) {
  const area = useRef<HTMLTextAreaElement>(null);
  const lines = Math.max(kLeastLines, text.split('\n').length);
  useEffect(() => {
    handle((mark) => {
      const field = area.current!;
      field.focus({preventScroll: true});
      field.setSelectionRange(mark.place.start, mark.place.end);
      const box = field.closest<HTMLElement>('.editor')!;
      box.scrollTo({top: Math.max(0, (mark.place.line - 4) * kLinePx)});
      box.scrollIntoView({block: 'nearest'});
    });
  }, []);

  // Tab indents; Escape, then Tab, leaves the field.
  const leaving = useRef(false);
  const keys = (event: KeyboardEvent) => {
    if (event.key === 'Escape') {
      leaving.current = true;
      return;
    }
    if (event.key === 'Tab' && !leaving.current && !event.shiftKey) {
      event.preventDefault();
      document.execCommand('insertText', false, '  ');
    }
    if (event.key !== 'Shift') leaving.current = false;
  };
  const wrong = new Map(marks.map((mark) => [mark.place.line, mark]));
  return (
    <div class="editor">
      <div class="editor-lines" style={{height: `${lines * kLinePx + 16}px`}}>
        <ol class="editor-numbers" aria-hidden="true">
          {Array.from({length: lines}, (_, i) => (
            <li key={i} class={wrong.has(i + 1) ? 'wrong' : undefined}>
              {i + 1}
            </li>
          ))}
        </ol>
        <div class="editor-room">
          {[...wrong.values()].map((mark) => (
            <div key={mark.place.line} class="editor-wrong" style={{top: `${8 + (mark.place.line - 1) * kLinePx}px`}} aria-hidden="true">
              <span>{mark.text}</span>
            </div>
          ))}
          <textarea
            ref={area}
            class="editor-text"
            aria-label={label}
            aria-describedby="editor-help"
            aria-invalid={marks.length > 0}
            wrap="off"
            spellcheck={false}
            autocapitalize="off"
            readOnly={readOnly}
            rows={lines}
            value={text}
            onInput={(event) => onChange(event.currentTarget.value)}
            onKeyDown={keys}
          />
        </div>
      </div>
      <p class="sr" id="editor-help">
        Tab indents; Escape, then Tab, leaves the text. Problems are listed after it.
      </p>
    </div>
  );
}
