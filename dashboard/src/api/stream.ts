import {ApiError, isAbort, isRefusal, request} from './client';
import {decode} from './decode';
import {SseParser} from './sse';
import {abortWhenHidden, untilVisible} from './visible';

const kFirstRetryMs = 500;
const kLastRetryMs = 15_000;
// The server sends a comment every 15 s: after twice as long and a bit the line is dead.
const kSilenceMs = 35_000;

export interface StreamHandlers<T> {
  message(message: T): void;
  // "open" again after every loss that was mended.
  state?(state: 'open' | 'lost'): void;
  // The stream is over, or was refused for good (`error`).
  end?(error?: ApiError): void;
}

// Server-sent events of `path`, resumed after a loss where they were left. Returns what closes it.
export function stream<T>(path: string, handlers: StreamHandlers<T>): () => void {
  const whole = new AbortController();
  let lastId = '';

  async function once(): Promise<'end' | 'lost'> {
    const part = new AbortController();
    whole.signal.addEventListener('abort', () => part.abort(), {once: true});
    let timer = setTimeout(() => part.abort(), kSilenceMs);
    const looked = abortWhenHidden(part);
    try {
      const headers: Record<string, string> = {Accept: 'text/event-stream'};
      if (lastId) headers['Last-Event-ID'] = lastId;
      const response = await request(path, {headers, signal: part.signal});
      handlers.state?.('open');
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      const parser = new SseParser();
      for (;;) {
        const {value, done} = await reader.read();
        clearTimeout(timer);
        if (done) return 'lost';
        timer = setTimeout(() => part.abort(), kSilenceMs);
        for (const event of parser.push(value)) {
          if (event.id) lastId = event.id;
          if (event.event === 'end') return 'end';
          if (event.event === 'error') {
            const body = JSON.parse(event.data);
            throw new ApiError(503, body.code ?? 'UNAVAILABLE', body.message ?? 'The stream was interrupted.');
          }
          handlers.message(decode<T>(JSON.parse(event.data)));
        }
      }
    } finally {
      clearTimeout(timer);
      looked();
      part.abort();
    }
  }

  void (async () => {
    let wait = kFirstRetryMs;
    while (!whole.signal.aborted) {
      await untilVisible(whole.signal);
      if (whole.signal.aborted) return;
      const started = Date.now();
      try {
        if ((await once()) === 'end') {
          handlers.end?.();
          return;
        }
      } catch (error) {
        if (whole.signal.aborted) return;
        if (isRefusal(error)) {
          handlers.end?.(error);
          return;
        }
        if (!(error instanceof ApiError) && !isAbort(error) && !(error instanceof TypeError)) console.error(error);
      }
      if (whole.signal.aborted) return;
      if (document.hidden) continue;
      handlers.state?.('lost');
      if (Date.now() - started > kLastRetryMs) wait = kFirstRetryMs;
      // Half of it at random, so that pages do not come back all at once.
      await new Promise((resolve) => setTimeout(resolve, wait * (0.5 + Math.random() / 2)));
      wait = Math.min(wait * 2, kLastRetryMs);
    }
  })();
  return () => whole.abort();
}
