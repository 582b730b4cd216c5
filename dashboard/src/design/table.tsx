import type {ComponentChildren, VNode} from 'preact';
import {useEffect, useLayoutEffect, useRef, useState} from 'preact/hooks';
import {useWidth} from '../charts/canvas';
import {counted} from '../format';
import {Icon} from './icons';

export interface Column<Row> {
  key: string;
  title: ComponentChildren;
  hint?: string;      // the whole name, where the title may be cut
  width: number;      // px, at least
  grow?: boolean;     // takes what is left
  numeric?: boolean;
  sortable?: boolean;
  cell(row: Row, index: number): ComponentChildren;
}

interface VirtualTableProps<Row> {
  label: string;
  columns: Column<Row>[];
  total: number;                            // rows in all
  row(index: number): Row | undefined;      // undefined: not fetched yet
  onRange(first: number, last: number): void;  // rows that are seen, or are next
  height: number;                           // px
  sort?: {key: string; descending: boolean};
  onSort?(key: string): void;
  onOpen?(row: Row): void;
  marked?(row: Row): boolean;
}

interface DrawnRow<Row> {
  data: Row | undefined;
  columns: Column<Row>[];
  y: number;
  isMarked: boolean;
  vnode: VNode;
}

const kRowPx = 34;
const kAhead = 12;
// Browsers do not lay out boxes that are much taller.
const kTallestPx = 8_000_000;

// Only rows that are seen are in the document, however many there are.
export function VirtualTable<Row>({label, columns, total, row, onRange, height, sort, onSort, onOpen, marked}: VirtualTableProps<Row>) {
  const [box, width] = useWidth<HTMLDivElement>();
  const [left, setLeft] = useState(0);
  const [top, setTop] = useState(0);
  const tall = Math.min(total * kRowPx, kTallestPx);
  const shownRows = Math.ceil(height / kRowPx);
  // Beyond the tallest box a pixel of the scroll bar stands for more than a pixel of the table.
  const span = Math.max(1, tall - height + kRowPx);
  const ratio = tall < total * kRowPx ? (total * kRowPx - height + kRowPx) / span : 1;
  const firstSeen = Math.floor((top * ratio) / kRowPx);
  const first = Math.max(0, firstSeen - kAhead);
  const last = Math.min(total, firstSeen + shownRows + kAhead);
  const shift = top - (top * ratio) % kRowPx;

  useEffect(() => {
    if (last > first) onRange(first, last);
  }, [first, last, total, onRange]);
  useLayoutEffect(() => {
    // Fewer rows than were scrolled past.
    if (box.current && box.current.scrollTop !== top) setTop(box.current.scrollTop);
  }, [total]);

  const template = columns.map((column) => (column.grow ? `minmax(${column.width}px, 1fr)` : `${column.width}px`)).join(' ');
  const wide = columns.reduce((sum, column) => sum + column.width, 0);
  // A row that is as it was is not gone through again.
  const drawn = useRef(new Map<number, DrawnRow<Row>>());
  const before = drawn.current;
  drawn.current = new Map();
  const open = useRef(onOpen);
  open.current = onOpen;
  const rows = [];
  for (let i = first; i < last; i++) {
    const data = row(i);
    const y = ratio === 1 ? i * kRowPx : shift + (i - firstSeen) * kRowPx;
    const isMarked = data !== undefined && marked?.(data) === true;
    const old = before.get(i);
    if (old && old.data === data && old.columns === columns && old.y === y && old.isMarked === isMarked) {
      drawn.current.set(i, old);
      rows.push(old.vnode);
      continue;
    }
    const vnode = (
      <div
        role="row"
        key={i}
        aria-rowindex={i + 2}
        class={isMarked ? 'marked' : undefined}
        style={{gridTemplateColumns: template, transform: `translateY(${y}px)`, cursor: onOpen ? 'pointer' : undefined}}
        onClick={(event) => {
          if (data && open.current && !(event.target as Element).closest('a, button, label')) open.current(data);
        }}
      >
        {columns.map((column) => (
          <div role="cell" key={column.key} class={column.numeric ? 'num' : undefined}>
            {data ? column.cell(data, i) : <span class="quiet">…</span>}
          </div>
        ))}
      </div>
    );
    drawn.current.set(i, {data, columns, y, isMarked, vnode});
    rows.push(vnode);
  }
  const beyond = width > 0 && wide > width ? columnsFrom(columns, left + width) : null;
  return (
    <>
      <div
        class="vtable"
        role="table"
        aria-label={label}
        aria-rowcount={total + 1}
        tabIndex={0}
        ref={box}
        style={{height: `${height}px`}}
        onScroll={(event) => {
          const {scrollTop, scrollLeft} = event.currentTarget as HTMLElement;
          setTop(scrollTop);
          setLeft(scrollLeft);
        }}
      >
        <div class="vhead" role="rowgroup" style={{minWidth: `${wide}px`}}>
          <div role="row" aria-rowindex={1} style={{gridTemplateColumns: template}}>
            {columns.map((column) => {
              const sorted = sort?.key === column.key;
              return (
                <div
                  role="columnheader"
                  key={column.key}
                  class={column.numeric ? 'num' : undefined}
                  title={column.hint}
                  aria-sort={sorted ? (sort!.descending ? 'descending' : 'ascending') : undefined}
                >
                  {column.sortable && onSort ? (
                    <button type="button" onClick={() => onSort(column.key)}>
                      <span>{column.title}</span>
                      {sorted && <Icon name={sort!.descending ? 'down' : 'up'} />}
                    </button>
                  ) : (
                    column.title
                  )}
                </div>
              );
            })}
          </div>
        </div>
        <div class="vbody" role="rowgroup" style={{height: `${tall}px`, minWidth: `${wide}px`}}>
          {rows}
        </div>
      </div>
      {beyond && (
        <p class="vtable-more quiet">
          {beyond.length > 0 ? (
            <button type="button" class="link-button" onClick={() => box.current?.scrollBy({left: width * 0.8})}>
              {counted(beyond.length, 'more column')} to the right: {beyond.slice(0, kNamedBeyond).map((column) => column.hint ?? column.key).join(', ')}
              {beyond.length > kNamedBeyond && ' …'}
            </button>
          ) : (
            'These are the last columns.'
          )}
        </p>
      )}
    </>
  );
}

const kNamedBeyond = 5;
// A column of which less than this is seen, and not the whole, is still to come.
const kSeenPx = 160;
function columnsFrom<Row>(columns: Column<Row>[], right: number): Column<Row>[] {
  let start = 0;
  return columns.filter((column) => {
    const hidden = start + Math.min(column.width, kSeenPx) > right;
    start += column.width;
    return hidden;
  });
}
