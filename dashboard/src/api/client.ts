import {decode} from './decode';

// What the server answered instead of a result, or that it did not answer (code UNAVAILABLE, status 0).
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly violations: {field: string; description: string}[] = [],
  ) {
    super(message);
    this.name = 'ApiError';
  }
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

// The server answers the same, however often it is asked.
export function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429;
}

type QueryValue = string | number | boolean | undefined | null | readonly (string | number)[];
export type Query = Record<string, QueryValue>;

// "/v1/x?a=1&b=2&b=3"; what is undefined or "" is left out.
export function address(path: string, query: Query = {}): string {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === '') continue;
    if (Array.isArray(value)) for (const element of value) parts.append(name, String(element));
    else parts.append(name, String(value));
  }
  const text = parts.toString();
  return text ? `${path}?${text}` : path;
}

export async function errorOf(response: Response): Promise<ApiError> {
  let code = '';
  let message = '';
  let violations: {field: string; description: string}[] = [];
  try {
    const body = await response.json();
    code = body.code ?? '';
    message = body.message ?? '';
    violations = body.violations ?? [];
  } catch {
    // Not one of our errors: a proxy's page, or nothing.
  }
  return new ApiError(response.status, code || `HTTP ${response.status}`, message || `The server answered ${response.status}.`, violations);
}

let signedOut: () => void = () => {};
// What to do when the server wants a token that it was not given.
export function onSignedOut(callback: () => void): void {
  signedOut = callback;
}

export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, {credentials: 'same-origin', ...init});
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new ApiError(0, 'UNAVAILABLE', 'winnow-server does not answer. Is it running, and is this the right address?');
  }
  if (response.ok) return response;
  const error = await errorOf(response);
  if (response.status === 401 && path !== '/login') signedOut();
  throw error;
}

export async function getText(path: string, init: RequestInit = {}): Promise<string> {
  return (await request(path, init)).text();
}

export async function get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
  return decode<T>(JSON.parse(await getText(address(path, query), {signal})));
}

export async function post<T>(path: string, body: unknown = {}, signal?: AbortSignal): Promise<T> {
  const response = await request(path, {method: 'POST', body: JSON.stringify(body), headers: {'Content-Type': 'application/json'}, signal});
  const text = await response.text();
  return decode<T>(text ? JSON.parse(text) : {});
}

export async function del<T>(path: string): Promise<T> {
  const response = await request(path, {method: 'DELETE'});
  const text = await response.text();
  return decode<T>(text ? JSON.parse(text) : {});
}
