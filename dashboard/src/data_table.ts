import {csvLine} from './csv';

// Data of a chart or a table as it is downloaded: plain values, unrounded. Pure.

export type Cell = string | number | undefined | null;
export interface DataTable {
  columns: string[];
  rows: Cell[][];
}

// Of parallel arrays; those that end early have no values there.
export function tableOf(arrays: Record<string, ArrayLike<Cell>>): DataTable {
  const columns = Object.keys(arrays);
  const length = Math.max(0, ...columns.map((name) => arrays[name].length));
  return {columns, rows: Array.from({length}, (_, i) => columns.map((name) => arrays[name][i]))};
}

// Of objects: what each column has of one.
export function tableOfItems<Item>(items: readonly Item[], columns: Record<string, (item: Item) => Cell>): DataTable {
  const cells = Object.values(columns);
  return {columns: Object.keys(columns), rows: items.map((item) => cells.map((cell) => cell(item)))};
}

// RFC 4180, with a line of names. A value that is no number is empty.
export function csvText({columns, rows}: DataTable): string {
  const plain = (cell: Cell) => (typeof cell === 'number' && Number.isNaN(cell) ? undefined : cell);
  return csvLine(columns) + rows.map((row) => csvLine(row.map(plain))).join('');
}

// A list of objects; JSON has no NaN and no infinity, so that these are null.
export function jsonText({columns, rows}: DataTable): string {
  const value = (cell: Cell) => (cell === undefined || (typeof cell === 'number' && !Number.isFinite(cell)) ? null : cell);
  return `[\n${rows.map((row) => `  ${JSON.stringify(Object.fromEntries(columns.map((name, i) => [name, value(row[i])])))}`).join(',\n')}\n]\n`;
}
