import {useEffect, useLayoutEffect, useRef, useState} from 'preact/hooks';
import type {Attempt} from '../../api/types';
import {param, setParams} from '../../app/router';
import {Button, Card, Segmented, toast} from '../../design';
import {count} from '../../format';
import {followLog, type LogSource, wholeLog} from './follow_log';
import {LogText} from './log_text';

const kStreams = [
  {value: 'STDOUT' as const, label: 'Output'},
  {value: 'STDERR' as const, label: 'Errors'},
];
// So far from the end still counts as being there.
const kNearPx = 24;

interface Shown {
  version: number;
  ended: boolean;
  truncated: boolean;
  trouble: Error | null;
}
const kNothing: Shown = {version: 0, ended: false, truncated: false, trouble: null};

// What a rank printed, as it is printed; follows the end unless the reader has scrolled away from it.
// Of a failed trial the errors come first.
export function Log({job, trial, attempts, failed}: {job: string; trial: number; attempts: Attempt[]; failed: boolean}) {
  const newest = attempts.length ? attempts[attempts.length - 1].number : 0;
  const attempt = Number(param('attempt')) || newest;
  const rank = Number(param('rank')) || 0;
  const first = failed ? 'STDERR' : 'STDOUT';
  const stream = kStreams.find((each) => each.value.toLowerCase() === param('log'))?.value ?? first;
  const ranks = attempts.find((each) => each.number === attempt)?.ranks ?? [];

  const text = useRef(new LogText());
  const [shown, setShown] = useState<Shown>(kNothing);
  const [follow, setFollow] = useState(true);
  const box = useRef<HTMLDivElement>(null);
  const source: LogSource = {job, trial, attempt, rank, stream};

  useEffect(() => {
    text.current = new LogText();
    setShown(kNothing);
    setFollow(true);
    if (attempt === 0) return;
    let frame = 0;
    let state = kNothing;
    // Many pieces may come between two frames.
    const show = (change: Partial<Shown>) => {
      state = {...state, ...change, version: state.version + 1};
      if (!frame) {
        frame = requestAnimationFrame(() => {
          frame = 0;
          setShown(state);
        });
      }
    };
    const stop = followLog(source, {
      piece(bytes, answer) {
        text.current.push(bytes);
        show({ended: answer.ended, truncated: answer.truncated});
      },
      trouble: (trouble) => show({trouble}),
    });
    return () => {
      stop();
      cancelAnimationFrame(frame);
    };
  }, [job, trial, attempt, rank, stream]);

  useLayoutEffect(() => {
    if (follow && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [shown.version, follow]);

  const scrolled = () => {
    const {scrollTop, scrollHeight, clientHeight} = box.current!;
    setFollow(scrollHeight - scrollTop - clientHeight < kNearPx);
  };
  const download = async () => {
    try {
      const address = URL.createObjectURL(await wholeLog(source, new AbortController().signal));
      const link = document.createElement('a');
      link.href = address;
      link.download = `${job}-trial-${trial}-attempt-${attempt}-rank-${rank}.${stream.toLowerCase()}.log`;
      link.click();
      URL.revokeObjectURL(address);
    } catch (error) {
      toast((error as Error).message);
    }
  };

  const {blocks, dropped, empty} = text.current;
  let state = 'Live';
  if (attempt === 0) state = 'Not started';
  else if (shown.trouble) state = shown.trouble.message;
  else if (shown.ended) state = shown.truncated ? 'Ended; only part of the output was kept' : 'Ended';
  else if (!follow) state = 'Live, scrolling paused';
  else if (shown.truncated) state = 'Live; the rest comes when the program has ended';
  return (
    <Card
      title="Log"
      class="span-6"
      hint={<span role="status">{state}</span>}
      actions={
        <div class="row">
          {attempts.length > 1 && (
            <select class="input small" aria-label="Attempt" value={String(attempt)} onChange={(event) => setParams({attempt: event.currentTarget.value === String(newest) ? null : event.currentTarget.value}, {replace: true})}>
              {[...attempts].reverse().map((each) => (
                <option key={each.number} value={String(each.number)}>
                  attempt {each.number}
                </option>
              ))}
            </select>
          )}
          {ranks.length > 1 && (
            <select class="input small" aria-label="Rank" value={String(rank)} onChange={(event) => setParams({rank: event.currentTarget.value === '0' ? null : event.currentTarget.value}, {replace: true})}>
              {ranks.map((each) => (
                <option key={each.rank} value={String(each.rank)}>
                  rank {each.rank}
                </option>
              ))}
            </select>
          )}
          <Segmented label="Stream" value={stream} options={kStreams} onChange={(value) => setParams({log: value === first ? null : value.toLowerCase()}, {replace: true})} />
          <Button small iconOnly icon="download" disabled={attempt === 0} onClick={() => void download()}>
            Download the log
          </Button>
        </div>
      }
    >
      <div class="log-room">
        <div class="log" ref={box} tabIndex={0} role="log" aria-live="off" aria-label={stream === 'STDERR' ? 'Errors' : 'Output'} onScroll={scrolled}>
          {dropped > 0 && <p class="log-note">{count(dropped)} earlier lines are not shown here; the download has them.</p>}
          {blocks.map((block) => (
            <pre key={block.id}>{block.text}</pre>
          ))}
          {empty && !shown.trouble && <p class="log-note">{shown.ended ? 'Nothing was printed.' : attempt === 0 ? 'Waiting for free slots.' : 'Nothing printed yet.'}</p>}
        </div>
        {!follow && !shown.ended && (
          <Button small class="log-follow" icon="down" onClick={() => setFollow(true)}>
            Follow
          </Button>
        )}
      </div>
    </Card>
  );
}
