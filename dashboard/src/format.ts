// How numbers, times and names are written; one place, so that they read alike everywhere.

const kNone = '–';

// Six significant digits at most, as the command line writes them; very large and small ones with an exponent.
export function number(value: number | undefined | null, digits = 6): string {
  if (value === undefined || value === null || Number.isNaN(value)) return kNone;
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-4) {
    const [mantissa, exponent] = value.toExponential(Math.max(0, digits - 3)).split('e');
    return minus(`${trimZeros(mantissa)}e${Number(exponent)}`);
  }
  return minus(trimZeros(value.toPrecision(Math.max(digits, Math.ceil(Math.log10(size + 1))))));
}

function trimZeros(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}
function minus(text: string): string {
  return text.replace('-', '−');
}

// 12,345
export function count(value: number | undefined | null): string {
  if (value === undefined || value === null || Number.isNaN(value)) return kNone;
  return Math.round(value).toLocaleString('en-US');
}

// 950, 12.3k, 4.56M
export function shortCount(value: number): string {
  if (!Number.isFinite(value)) return kNone;
  const size = Math.abs(value);
  const units: [number, string][] = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']];
  for (const [unit, letter] of units) if (size >= unit * 0.9995) return minus(trimZeros((value / unit).toPrecision(3)) + letter);
  return minus(trimZeros(size >= 1 || size === 0 ? value.toPrecision(3) : value.toPrecision(2)));
}

// As count, but in short where it is long: 3.2M.
export function amount(value: number): string {
  return Math.abs(value) >= 1e6 ? shortCount(value) : count(value);
}

// "1 trial", "2,000 trials"
export function counted(value: number, singular: string, plural = `${singular}s`): string {
  return `${count(value)} ${value === 1 ? singular : plural}`;
}

// Where the number stands by itself.
export const unitWord = (value: number) => (value === 1 ? 'unit' : 'units');

export function percent(part: number, digits = 0): string {
  return Number.isFinite(part) ? `${(part * 100).toFixed(digits)} %` : kNone;
}

// 0.35 s, 12.4 s, 3 min 20 s, 5 h 12 min, 3 d 4 h
export function duration(seconds: number | undefined | null): string {
  if (seconds === undefined || seconds === null || !Number.isFinite(seconds)) return kNone;
  if (seconds < 0) return minus(`-${duration(-seconds)}`);
  if (seconds < 1) return seconds === 0 ? '0 s' : `${trimZeros(seconds.toPrecision(2))} s`;
  if (seconds < 59.95) return `${trimZeros(seconds.toFixed(1))} s`;
  const whole = Math.round(seconds);
  const two = (value: number, unit: string, rest: number, restUnit: string) => (rest ? `${value} ${unit} ${rest} ${restUnit}` : `${value} ${unit}`);
  if (whole < 3600) return two(Math.floor(whole / 60), 'min', whole % 60, 's');
  const minutes = Math.round(seconds / 60);
  if (minutes < 1440) return two(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
  const hours = Math.round(seconds / 3600);
  return two(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

export function bytes(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (value >= 1023.5 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${trimZeros(unit === 0 ? value.toFixed(0) : value.toPrecision(3))} ${units[unit]}`;
}

// Seconds from a proto3 JSON duration, "3.5s".
export function secondsOf(text: string | undefined): number {
  return text ? Number.parseFloat(text) : Number.NaN;
}

// 22 Nov 05:31, with the year if it is another one.
export function moment(time: string | Date | undefined): string {
  if (!time) return kNone;
  const date = new Date(time);
  const sameYear = date.getFullYear() === new Date().getFullYear();
  return date.toLocaleString('en-GB', {day: 'numeric', month: 'short', year: sameYear ? undefined : 'numeric', hour: '2-digit', minute: '2-digit'});
}
export function exactMoment(time: string | Date | undefined): string {
  return time ? new Date(time).toLocaleString('en-GB', {dateStyle: 'medium', timeStyle: 'medium'}) : kNone;
}
// "3 min ago"
export function ago(time: string | undefined, now = Date.now()): string {
  if (!time) return kNone;
  const seconds = (now - new Date(time).getTime()) / 1000;
  if (seconds < 10) return 'just now';
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

// A trial's value of a hyperparameter, unrounded; undefined: it is not active there.
export function plainHyperparameter(trial: {hyperparameters: readonly {name: string; integer?: number; continuous?: number; categorical?: string}[]}, name: string): string | number | undefined {
  const value = trial.hyperparameters.find((each) => each.name === name);
  return value?.categorical ?? value?.integer ?? value?.continuous;
}

// A hyperparameter as text.
export function hyperparameter(value: {integer?: number; continuous?: number; categorical?: string} | undefined): string {
  if (!value) return kNone;
  if (value.categorical !== undefined) return value.categorical;
  if (value.integer !== undefined) return minus(String(value.integer));
  return number(value.continuous);
}

// "validation:auc = 0.775"
export function metric(name: string, value: number | undefined): string {
  return `${name} ${number(value)}`;
}

// COMPLETED -> completed
export function word(name: string): string {
  return name.toLowerCase().replace(/_/g, ' ');
}
