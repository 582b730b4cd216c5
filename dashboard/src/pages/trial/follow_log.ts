import {trialPath} from '../../api/calls';
import {get, isAbort, isRefusal} from '../../api/client';
import type {GetLogsResponse} from '../../api/types';
import {abortWhenHidden, untilVisible} from '../../api/visible';
import {bytesOf} from './log_text';

const kWait = '25s';
const kPieceBytes = 256 * 1024;
const kRetryMs = 2000;

export interface LogSource {
  job: string;
  trial: number;
  attempt: number;  // 0: the newest
  rank: number;
  stream: 'STDOUT' | 'STDERR';
}

interface Handlers {
  // Bytes that follow those of the last call; none if only `ended` has become true.
  piece(bytes: Uint8Array, answer: GetLogsResponse): void;
  // null: mended.
  trouble(error: Error | null): void;
}

const piece = (source: LogSource, offset: number, wait: string | undefined, signal: AbortSignal) =>
  get<GetLogsResponse>(
    `${trialPath(source.job, source.trial)}/logs`,
    {attempt: source.attempt, rank: source.rank, stream: source.stream, offset, limit: kPieceBytes, wait},
    signal,
  );

// Reads a log from its start to its end and then what is printed, until it has ended. Returns what ends it before.
export function followLog(source: LogSource, handlers: Handlers): () => void {
  const abort = new AbortController();
  void (async () => {
    let offset = 0;
    let troubled = false;
    while (!abort.signal.aborted) {
      await untilVisible(abort.signal);
      const part = new AbortController();
      const stopPart = () => part.abort();
      abort.signal.addEventListener('abort', stopPart);
      const looked = abortWhenHidden(part);
      try {
        const answer = await piece(source, offset, kWait, part.signal);
        if (troubled) handlers.trouble(null);
        troubled = false;
        offset = answer.nextOffset;
        handlers.piece(bytesOf(answer.data), answer);
        if (answer.ended) return;
      } catch (error) {
        if (abort.signal.aborted) return;
        if (isAbort(error)) continue;  // nobody looks
        handlers.trouble(error as Error);
        troubled = true;
        if (isRefusal(error)) return;
        await new Promise((resolve) => setTimeout(resolve, kRetryMs));
      } finally {
        looked();
        abort.signal.removeEventListener('abort', stopPart);
      }
    }
  })();
  return () => abort.abort();
}

// All that is kept of it now.
export async function wholeLog(source: LogSource, signal: AbortSignal): Promise<Blob> {
  const parts: BlobPart[] = [];
  for (let offset = 0; ; ) {
    const answer = await piece(source, offset, undefined, signal);
    if (answer.nextOffset === offset) return new Blob(parts, {type: 'text/plain'});
    parts.push(bytesOf(answer.data) as BlobPart);
    offset = answer.nextOffset;
  }
}
