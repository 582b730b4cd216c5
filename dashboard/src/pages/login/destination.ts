// The view from which a visitor was sent to the login; only ever one of this server's. A browser drops tabs and line ends, and reads
// a second slash or a backslash as the beginning of another host: as OwnPath of server/http/sign_in.cc.
export function destination(to: string | null): string {
  return to && /^\/(?!\/)[!-[\]-~]*$/.test(to) && !/^\/login(?![\w-])/.test(to) ? to : '/';
}
