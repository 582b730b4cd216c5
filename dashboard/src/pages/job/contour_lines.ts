// Where a grid of values has one value, by marching squares. Pure.

export type Segment = [x0: number, y0: number, x1: number, y1: number];

// `values`: rows of x.length, a row for each of y. Both rise.
export function contourLines(x: readonly number[], y: readonly number[], values: readonly number[], level: number): Segment[] {
  const segments: Segment[] = [];
  const at = (i: number, j: number) => values[j * x.length + i];
  const part = (a: number, b: number) => (level - a) / (b - a);
  for (let j = 0; j + 1 < y.length; j++) {
    for (let i = 0; i + 1 < x.length; i++) {
      // Corners in turn from the lower left; each edge is between a corner and the next.
      const corners: [number, number, number][] = [
        [x[i], y[j], at(i, j)],
        [x[i + 1], y[j], at(i + 1, j)],
        [x[i + 1], y[j + 1], at(i + 1, j + 1)],
        [x[i], y[j + 1], at(i, j + 1)],
      ];
      const crossings: [number, number][] = [];
      corners.forEach(([ax, ay, a], k) => {
        const [bx, by, b] = corners[(k + 1) % 4];
        if (a < level === b < level) return;
        crossings.push([ax + (bx - ax) * part(a, b), ay + (by - ay) * part(a, b)]);
      });
      // Four crossings: a saddle, which is cut at two of its corners.
      for (let k = 0; k + 1 < crossings.length; k += 2) segments.push([...crossings[k], ...crossings[k + 1]] as Segment);
    }
  }
  return segments;
}

// The cells around places on an axis from 0 to 1: one edge more than there are places.
export function cellEdges(places: readonly number[]): number[] {
  return [0, ...places.slice(1).map((place, i) => (places[i] + place) / 2), 1];
}
