import {get} from '../../api/client';

// With whom people sign in; "": with nobody.
export async function providerOfServer(): Promise<string> {
  try {
    return (await get<{provider: string}>('/sign-in/provider')).provider;
  } catch {
    return '';
  }
}

// The server's words (server/http/sign_in.cc); nothing else of the address is shown.
const sentences: Record<string, string> = {
  expired: 'This sign-in took too long, was begun in another browser or at another address, or is over. Sign in again.',
  declined: 'The sign-in was declined at the provider.',
  provider: 'The provider does not answer as it should. Try again later; the log of winnow-server has the reason.',
  'not-allowed': 'You may not use this server. The log of winnow-server has the reason: ask an admin.',
  'name-taken': 'The name that the provider says you have belongs to someone else on this server. Ask an admin.',
  busy: 'Too many people sign in at this moment. Try again.',
};

// "" if nothing was refused.
export function whyRefused(word: string | null): string {
  return word ? (sentences[word] ?? 'The sign-in did not succeed. Sign in again.') : '';
}
