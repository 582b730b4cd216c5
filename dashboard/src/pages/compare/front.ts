// Which rows nobody beats at both less cost and better quality. Pure.
export interface Point {
  cost: number;
  quality: number;
}

// Indices of the front, cheapest first; points without a number are on none.
export function front(points: readonly Point[], lowerIsBetter: boolean): number[] {
  const better = (a: number, b: number) => (lowerIsBetter ? a < b : a > b);
  const order = points
    .map((_, i) => i)
    .filter((i) => Number.isFinite(points[i].cost) && Number.isFinite(points[i].quality))
    .sort((a, b) => points[a].cost - points[b].cost || (better(points[a].quality, points[b].quality) ? -1 : 1));
  const found: number[] = [];
  let best = Number.NaN;
  for (const i of order) {
    if (Number.isNaN(best) || better(points[i].quality, best)) {
      found.push(i);
      best = points[i].quality;
    }
  }
  return found;
}

// Best rows first; those without a value last.
export function byQuality<Row extends {best?: number}>(rows: readonly Row[], lowerIsBetter: boolean): Row[] {
  const worst = lowerIsBetter ? Infinity : -Infinity;
  const value = (row: Row) => (row.best === undefined || Number.isNaN(row.best) ? worst : row.best);
  return [...rows].sort((a, b) => (value(a) === value(b) ? 0 : lowerIsBetter ? value(a) - value(b) : value(b) - value(a)));
}
