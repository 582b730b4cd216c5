import {theme} from '../app/theme';

// A token's colour, for canvases. Reading it inside a component subscribes to the theme.
export function token(name: string): string {
  return tokens(theme.value)(name);
}

const seen = new Map<string, string>();
function tokens(of: string): (name: string) => string {
  return (name) => {
    const key = `${of} ${name}`;
    let color = seen.get(key);
    if (color === undefined) {
      color = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
      if (color) seen.set(key, color);
    }
    return color;
  };
}

export type Rgb = readonly [number, number, number];
// From chaff over green to ripe; lightness changes throughout, so that it reads without hue too.
const kLight: Rgb[] = [[208, 213, 208], [150, 182, 168], [72, 148, 126], [23, 104, 84], [150, 92, 8]];
const kDark: Rgb[] = [[52, 63, 58], [62, 98, 84], [66, 146, 120], [134, 190, 128], [245, 194, 92]];
const kSteps = 64;

const ramps: Record<string, string[]> = {};
function rampOf(stops: Rgb[]): string[] {
  const colors = [];
  for (let i = 0; i < kSteps; i++) {
    const at = (i / (kSteps - 1)) * (stops.length - 1);
    const low = Math.min(stops.length - 2, Math.floor(at));
    const part = at - low;
    const mix = stops[low].map((from, k) => Math.round(from + (stops[low + 1][k] - from) * part));
    colors.push(`rgb(${mix.join(' ')})`);
  }
  return colors;
}

// Of a token's colour, or a ramp's.
export function rgbOf(color: string): Rgb {
  const hex = /^#(..)(..)(..)$/.exec(color);
  const found = hex ? hex.slice(1).map((each) => parseInt(each, 16)) : (color.match(/[\d.]+/g) ?? []).map(Number);
  return [found[0] ?? 0, found[1] ?? 0, found[2] ?? 0];
}

// How good something is, 0 to 1, as a colour.
export function goodness(part: number): string {
  const name = theme.value;
  ramps[name] ??= rampOf(name === 'dark' ? kDark : kLight);
  if (Number.isNaN(part)) return token('--pruned');
  return ramps[name][Math.max(0, Math.min(kSteps - 1, Math.round(part * (kSteps - 1))))];
}

export function goodnessStops(): string[] {
  return [0, 0.25, 0.5, 0.75, 1].map(goodness);
}
