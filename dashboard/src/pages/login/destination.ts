// The view from which a visitor was sent to the login; only ever one of this server's.
export function destination(to: string | null): string {
  return to && /^\/(?![/\\])/.test(to) && !/^\/login(?![\w-])/.test(to) ? to : '/';
}
