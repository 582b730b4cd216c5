import {count} from '../../format';
import type {BracketState, SieveCell, TrialCounts, TrialState} from '../../api/types';

// Where each trial's mark stands: brackets are columns, rungs are shelves, higher is trained further. On a shelf stand those
// that may go on or are done, under it hang those that ended there: pruned, failed or cancelled. Pure.

export interface Mark {
  trial: number;
  best: number;
  state: TrialState;
  atResource: number;
  why: string;
  bracket: number;
  rung: number;
}
export interface Shelf {
  resource: number;
  entered: number;
  passed: number;
  counts: TrialCounts;
  cutoffs: number[];  // of its brackets, those that are cut; rising
  up: Mark[];
  down: Mark[];
}
export interface SieveColumn {
  key: string;
  brackets: number[];
  s: number;             // -1: no bracket
  endReasons: string[];  // of brackets that were ended early
  shelves: Shelf[];      // lowest first
}

const kNone: TrialCounts = {pending: 0, running: 0, paused: 0, completed: 0, pruned: 0, failed: 0, cancelled: 0};
const kCountNames = Object.keys(kNone) as (keyof TrialCounts)[];

export function sumOf(counts: TrialCounts): number {
  return kCountNames.reduce((sum, name) => sum + counts[name], 0);
}
const endedHere = (state: TrialState) => state === 'PRUNED' || state === 'FAILED' || state === 'CANCELLED';

// False for the one column of a job without rungs: its shelves are levels to which trials were trained, and nobody goes on
// from one to the next.
export const hasRungs = (column: SieveColumn) => column.brackets[0] >= 0;

// "15" or "15 to 17": the levels of those on a shelf of a job without rungs.
export function levelsText(shelf: Shelf): string {
  const levels = [...shelf.up, ...shelf.down].map((mark) => mark.atResource);
  const low = Math.min(shelf.resource, ...levels);
  const high = Math.max(shelf.resource, ...levels);
  return low === high ? count(low) : `${count(low)} to ${count(high)}`;
}

// `merge`: brackets with the same levels are one column.
export function columnsOf(cells: readonly SieveCell[], brackets: readonly BracketState[], merge: boolean): SieveColumn[] {
  const byBracket = new Map<number, SieveCell[]>();
  for (const cell of cells) {
    const list = byBracket.get(cell.bracket);
    if (list) list.push(cell);
    else byBracket.set(cell.bracket, [cell]);
  }
  const stateOf = new Map(brackets.map((each) => [each.index, each]));
  const columns = new Map<string, SieveColumn>();
  for (const [bracket, own] of byBracket) {
    own.sort((a, b) => a.rung - b.rung);
    const key = merge ? own.map((cell) => cell.resource).join() : String(bracket);
    let column = columns.get(key);
    if (!column) {
      column = {key, brackets: [], s: stateOf.get(bracket)?.s ?? -1, endReasons: [], shelves: []};
      columns.set(key, column);
    }
    column.brackets.push(bracket);
    const reason = stateOf.get(bracket)?.endReason;
    if (reason) column.endReasons.push(reason);
    own.forEach((cell, i) => addCell(column, i, cell));
  }
  for (const column of columns.values()) {
    for (const shelf of column.shelves) shelf.cutoffs.sort((a, b) => a - b);
  }
  return [...columns.values()];
}

function addCell(column: SieveColumn, level: number, cell: SieveCell): void {
  const shelf = (column.shelves[level] ??= {resource: cell.resource, entered: 0, passed: 0, counts: {...kNone}, cutoffs: [], up: [], down: []});
  for (const name of kCountNames) shelf.counts[name] += cell.counts[name];
  const passed = cell.bracket >= 0 ? cell.passed : 0;
  shelf.passed += passed;
  shelf.entered += sumOf(cell.counts) + passed;
  if (Number.isFinite(cell.cutoff)) shelf.cutoffs.push(cell.cutoff);
  cell.trial.forEach((trial, i) => {
    const mark = {trial, best: cell.best[i], state: cell.state[i], atResource: cell.atResource[i], why: cell.why[i], bracket: cell.bracket, rung: cell.rung};
    (endedHere(mark.state) ? shelf.down : shelf.up).push(mark);
  });
}

export interface PlacedMark extends Mark {
  x: number;
  y: number;
}
export interface PlacedShelf {
  shelf: Shelf;
  y: number;      // of its line
  left: number;
  right: number;
  more: number;   // trials that hang or stand here without a mark
}
export interface PlacedColumn {
  column: SieveColumn;
  left: number;
  width: number;
  shelves: PlacedShelf[];
}
export interface SieveLayout {
  width: number;
  height: number;
  pitch: number;
  radius: number;
  columns: PlacedColumn[];
  marks: PlacedMark[];
  levels: {resource: number; y: number}[];
}

export const kAxisPx = 62;
const kCaptionPx = 17;
const kFlowPx = 20;
const kColumnGapPx = 18;
const kLeastColumnPx = 112;
const kMostColumnPx = 560;
const kLeastShelfPx = 46;
const kMostRows = 9;
// The distance between marks, by how many there are at most.
const kPitches: [number, number][] = [[40, 18], [90, 15], [200, 12], [500, 9.5], [1200, 7.5], [Infinity, 6]];
// A low sieve is spread over so much, as long as a stream is no longer than this.
const kWantedPx = 500;
const kLongestFlowPx = 120;
const kLongestGapPx = 220;  // between levels of a job without rungs

export function layOut(columns: readonly SieveColumn[], available: number): SieveLayout {
  const drawn = columns.reduce((sum, column) => sum + column.shelves.reduce((n, shelf) => n + shelf.up.length + shelf.down.length, 0), 0);
  const pitch = kPitches.find(([most]) => drawn <= most)![1];
  const radius = pitch * 0.36;
  const room = available - kAxisPx - kColumnGapPx * Math.max(0, columns.length - 1);
  const columnWidth = Math.max(kLeastColumnPx, Math.min(columns.length === 1 ? room : kMostColumnPx, Math.floor(room / Math.max(1, columns.length))));
  const mostEntered = Math.max(1, ...columns.flatMap((column) => column.shelves.map((shelf) => shelf.entered)));
  // By the root, so that a few beside many are still seen.
  const widthOf = (entered: number) => Math.max(Math.min(kLeastShelfPx, columnWidth), columnWidth * Math.sqrt(entered / mostEntered));
  const perRow = (width: number) => Math.max(2, Math.floor(width / pitch));

  const resources = [...new Set(columns.flatMap((column) => column.shelves.map((shelf) => shelf.resource)))].sort((a, b) => b - a);
  const rowsOf = (marks: Mark[], width: number) => Math.min(kMostRows, Math.ceil(marks.length / perRow(width)));
  const rows = resources.map((resource) => {
    const shelves = columns.flatMap((column) => column.shelves.filter((shelf) => shelf.resource === resource));
    return {
      up: Math.max(1, ...shelves.map((shelf) => rowsOf(shelf.up, widthOf(shelf.entered)))),
      down: Math.max(0, ...shelves.map((shelf) => rowsOf(shelf.down, widthOf(shelf.entered)))),
    };
  });
  const least = rows.reduce((sum, {up, down}) => sum + (up + down) * pitch + 4 + kCaptionPx, 6);
  const longest = columns.every(hasRungs) ? kLongestFlowPx : kLongestGapPx;
  const flow = Math.max(kFlowPx, Math.min(longest, (kWantedPx - least) / Math.max(1, rows.length)));
  const levels: {resource: number; y: number}[] = [];
  const yOf = new Map<number, number>();
  let y = 6;
  resources.forEach((resource, i) => {
    y += rows[i].up * pitch + 4;
    yOf.set(resource, y);
    levels.push({resource, y});
    y += kCaptionPx + rows[i].down * pitch + (i + 1 < resources.length ? flow : 6);
  });

  const marks: PlacedMark[] = [];
  const placed = columns.map((column, c): PlacedColumn => {
    const left = kAxisPx + c * (columnWidth + kColumnGapPx);
    const shelves = column.shelves.map((shelf): PlacedShelf => {
      const width = widthOf(shelf.entered);
      const shelfLeft = left + (columnWidth - width) / 2;
      const line = yOf.get(shelf.resource)!;
      const inRow = perRow(width);
      const place = (list: Mark[], first: number, step: number) => {
        const shown = Math.min(list.length, inRow * kMostRows);
        for (let i = 0; i < shown; i++) {
          const row = Math.floor(i / inRow);
          const inThis = Math.min(inRow, shown - row * inRow);
          const start = left + columnWidth / 2 - ((inThis - 1) * pitch) / 2;
          marks.push({...list[i], x: start + (i % inRow) * pitch, y: first + step * row * pitch});
        }
        return shown;
      };
      const above = place(shelf.up, line - pitch / 2 - 1.5, -1);
      const below = place(shelf.down, line + kCaptionPx + pitch / 2, 1);
      return {shelf, y: line, left: shelfLeft, right: shelfLeft + width, more: sumOf(shelf.counts) - above - below};
    });
    return {column, left, width: columnWidth, shelves};
  });
  const width = columns.length ? kAxisPx + columns.length * (columnWidth + kColumnGapPx) - kColumnGapPx : available;
  return {width: Math.max(available, width), height: y, pitch, radius, columns: placed, marks, levels};
}

// The mark nearest to a place, within `reach`; -1: none.
export function markAt(layout: SieveLayout, x: number, y: number, reach: number): number {
  let found = -1;
  let nearest = reach * reach;
  layout.marks.forEach((mark, i) => {
    const distance = (mark.x - x) ** 2 + (mark.y - y) ** 2;
    if (distance < nearest) {
      nearest = distance;
      found = i;
    }
  });
  return found;
}

// From one mark to the next by an arrow key: the nearest within 45 degrees of that way.
export function markBeside(layout: SieveLayout, from: number, key: string): number {
  if (from < 0) return layout.marks.length ? 0 : -1;
  const start = layout.marks[from];
  let found = from;
  let nearest = Infinity;
  layout.marks.forEach((mark, i) => {
    const dx = mark.x - start.x;
    const dy = mark.y - start.y;
    const along = key === 'ArrowRight' ? dx : key === 'ArrowLeft' ? -dx : key === 'ArrowDown' ? dy : -dy;
    const across = key === 'ArrowRight' || key === 'ArrowLeft' ? Math.abs(dy) : Math.abs(dx);
    if (along <= 0.5 || across > along + 0.5) return;
    const distance = along + across * 2;
    if (distance < nearest) {
      nearest = distance;
      found = i;
    }
  });
  return found;
}
