// A browser gives a server few connections, all tabs together: those that nobody looks at hold none.

// Resolves once the page is looked at, at once if it is.
export async function untilVisible(signal: AbortSignal): Promise<void> {
  while (document.hidden && !signal.aborted) {
    await new Promise<void>((resolve) => {
      const done = () => {
        document.removeEventListener('visibilitychange', done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      document.addEventListener('visibilitychange', done);
      signal.addEventListener('abort', done);
    });
  }
}

// Aborts `part` when the page is hidden. Returns what ends that.
export function abortWhenHidden(part: AbortController): () => void {
  const look = () => {
    if (document.hidden) part.abort();
  };
  document.addEventListener('visibilitychange', look);
  return () => document.removeEventListener('visibilitychange', look);
}
