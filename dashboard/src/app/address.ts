// Addresses of views as text. Pure.

export type ParamChange = Record<string, string | readonly string[] | null>;

// `search` with these values; null, "" and [] take a parameter away.
export function withParams(searchText: string, change: ParamChange): string {
  const query = new URLSearchParams(searchText);
  for (const [name, value] of Object.entries(change)) {
    query.delete(name);
    if (value === null || value === '') continue;
    if (typeof value === 'string') query.set(name, value);
    else for (const element of value) query.append(name, element);
  }
  // Readable addresses: these need no escape in a query.
  const text = query.toString().replace(/%3A/g, ':').replace(/%2C/g, ',').replace(/%7C/g, '|').replace(/%2F/g, '/');
  return text ? `?${text}` : '';
}

// Pattern "/jobs/:id/trials/:n" against a path: its values, or null.
export function match(pattern: string, pathname: string): Record<string, string> | null {
  const want = pattern.split('/').filter(Boolean);
  const have = pathname.split('/').filter(Boolean);
  if (want.length !== have.length) return null;
  const values: Record<string, string> = {};
  for (let i = 0; i < want.length; i++) {
    if (want[i].startsWith(':')) {
      try {
        values[want[i].slice(1)] = decodeURIComponent(have[i]);
      } catch {
        return null;
      }
    } else if (want[i] !== have[i]) {
      return null;
    }
  }
  return values;
}
