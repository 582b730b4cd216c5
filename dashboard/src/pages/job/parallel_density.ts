import type {AxisDensity} from '../../api/types';

// Where the trials pass between two axes, and how good they are there. Pure.
export interface DensityField {
  width: number;          // places beside each other, from axis to axis
  height: number;         // places above each other, the axes' upper ends first
  trials: Float32Array;   // that pass a place's surroundings of a bin's height, row by row
  good: Float32Array;     // their mean; 0 where none passes
  most: number;           // of `trials`
}

// Between two axes a line bends as a cubic Bézier curve whose inner points lie so far from its ends, in parts of the way.
export const kBend = 0.38;

// How far a line has come from one axis's height to the next one's, for each place on its way.
export function bendAlong(width: number): Float32Array {
  const part = new Float32Array(width);
  let t = 0;
  for (let x = 0; x < width; x++) {
    const wanted = (x + 0.5) / width;
    // Newton's steps: the way along is steady and rising, so that a few do.
    for (let step = 0; step < 4; step++) {
      const s = 1 - t;
      const along = 3 * s * s * t * kBend + 3 * s * t * t * (1 - kBend) + t * t * t;
      const slope = 3 * s * s * kBend + 6 * s * t * (1 - 2 * kBend) + 3 * t * t * kBend;
      t += (wanted - along) / slope;
    }
    part[x] = t * t * (3 - 2 * t);
  }
  return part;
}

// `goods`: of each cell, 0 to 1; what is no number counts as 0. `bins` of each axis.
export function densityField(density: AxisDensity, goods: ArrayLike<number>, bins: number, width: number, height: number): DensityField {
  const field: DensityField = {width, height, trials: new Float32Array(width * height), good: new Float32Array(width * height), most: 0};
  const cells = density.count.length;
  const perBin = height / bins;
  const bend = bendAlong(width);
  const rise = Float64Array.from({length: cells}, (_, i) => (density.to[i] - density.from[i]) * perBin);
  const top = Float64Array.from({length: cells}, (_, i) => height - (density.from[i] + 1) * perBin + 0.5);
  const good = Float64Array.from({length: cells}, (_, i) => (goods[i] > 0 ? goods[i] : 0) * density.count[i]);
  const {count} = density;
  // Each cell is a ribbon as high as a bin: a column notes where ribbons begin and end, then sums from its top down.
  const tall = Math.max(1, Math.round(perBin));
  const trialsStep = new Float64Array(height + tall + 1);
  const goodStep = new Float64Array(height + tall + 1);
  for (let x = 0; x < width; x++) {
    trialsStep.fill(0);
    goodStep.fill(0);
    for (let i = 0; i < cells; i++) {
      const y = (top[i] - rise[i] * bend[x]) | 0;
      trialsStep[y] += count[i];
      trialsStep[y + tall] -= count[i];
      goodStep[y] += good[i];
      goodStep[y + tall] -= good[i];
    }
    let trials = 0;
    let goodSum = 0;
    for (let y = 0, place = x; y < height; y++, place += width) {
      trials += trialsStep[y];
      goodSum += goodStep[y];
      field.trials[place] = trials;
      // What is left of sums that went up and down again is no trial.
      if (trials >= 0.5) field.good[place] = goodSum / trials;
      if (trials > field.most) field.most = trials;
    }
  }
  return field;
}
