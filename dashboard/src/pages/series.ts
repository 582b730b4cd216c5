// How lines of several jobs, ranks or values are told apart: by colour, then by dashes.
const kColors = ['--accent', '--running', '--best', '--paused', '--failed', '--cancelled'];
const kDashes = [[], [6, 3], [2, 3], [9, 3, 2, 3]];

export interface SeriesStyle {
  color: string;  // a token
  dash: number[];
}

export function seriesStyle(index: number): SeriesStyle {
  return {color: kColors[index % kColors.length], dash: kDashes[Math.floor(index / kColors.length) % kDashes.length]};
}
