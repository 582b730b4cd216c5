import {signal} from '@preact/signals';
import {get, onSignedOut, request} from '../api/client';
import {forgetAnswers} from '../api/query';
import type {Caller} from '../api/types';
import {go, path, paths} from './router';

// Who looks at the page; undefined until the server has said it.
export const caller = signal<Caller | undefined>(undefined);

// Whether the server shows a file and changes nothing, whoever asks. It has no model files either.
export const isReadOnly = () => !!caller.value?.readOnly;
const isOne = (roles: Caller['role'][]) => !isReadOnly() && (!caller.value || !caller.value.tokensRequired || roles.includes(caller.value.role));
export const maySubmit = () => isOne(['SUBMITTER', 'ADMIN']);
export const mayAdminister = () => isOne(['ADMIN']);

// Whether the caller may change the job.
export const mayChange = ({owner, project}: {owner: string; project: string}) =>
  mayAdminister() || (maySubmit() && ((owner !== '' && caller.value?.name === owner) || (project !== '' && !!caller.value?.ledProjects?.includes(project))));

export async function learnCaller(): Promise<void> {
  try {
    caller.value = await get<Caller>('/v1/caller');
  } catch {
    // 401 leads to /login; anything else is said by the page that asks for more.
  }
}

// The path to come back to stands in the login page's address. Whoever looked at the page is logged in no more: their token has
// expired or was revoked.
export function toLogin(): void {
  caller.value = undefined;
  forgetAnswers();
  if (path.value === paths.login) return;
  const from = location.pathname + location.search;
  go(`${paths.login}?to=${encodeURIComponent(from)}`, {replace: true});
}

// Throws ApiError: 401 for a token that is none.
export async function signIn(token: string): Promise<void> {
  await request('/login', {method: 'POST', body: JSON.stringify({token}), headers: {'Content-Type': 'application/json'}});
  forgetAnswers();
  await learnCaller();
}

export async function signOut(): Promise<void> {
  await request('/logout', {method: 'POST', body: '{}', headers: {'Content-Type': 'application/json'}});
  forgetAnswers();
  caller.value = undefined;
  go(paths.login);
}

export function startSession(): void {
  onSignedOut(toLogin);
  if (path.value !== paths.login) void learnCaller();
}
