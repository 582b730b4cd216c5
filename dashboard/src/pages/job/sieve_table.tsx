import {EmptyState, PlainTable} from '../../design';
import {count, number} from '../../format';
import {hasRungs, levelsText, type SieveColumn} from './sieve_layout';

// The sieve in numbers.
export function SieveTable({columns, metric}: {columns: SieveColumn[]; metric: string}) {
  if (!columns.length) return <EmptyState title="No trials yet" />;
  const rungs = columns.every(hasRungs);
  return (
    <PlainTable
      label="The sieve in numbers"
      class="sieve-table"
      headings={[
        'Bracket',
        {num: 'Level (units)'},
        rungs && {num: 'Entered'},
        rungs && {num: 'Promoted'},
        rungs && {num: `Cut-off, ${metric}`},
        {num: 'Pruned'},
        {num: 'Failed'},
        {num: 'Cancelled'},
        {num: rungs ? 'Here now' : 'Completed or not ended'},
        rungs && 'Ended early',
      ]}
    >
      {columns.flatMap((column) =>
        column.shelves.map((shelf, i) => (
          <tr key={`${column.key}/${i}`}>
            <td>{i === 0 ? bracketsText(column) : ''}</td>
            <td class="num">{rungs ? count(shelf.resource) : levelsText(shelf)}</td>
            {rungs && <td class="num">{count(shelf.entered)}</td>}
            {rungs && <td class="num">{count(shelf.passed)}</td>}
            {rungs && <td class="num">{cutoffText(shelf.cutoffs) || '–'}</td>}
            <td class="num">{count(shelf.counts.pruned)}</td>
            <td class="num">{count(shelf.counts.failed)}</td>
            <td class="num">{count(shelf.counts.cancelled)}</td>
            <td class="num">{count(shelf.counts.pending + shelf.counts.running + shelf.counts.paused + shelf.counts.completed)}</td>
            {rungs && <td>{i === 0 ? (column.endReasons[0] ?? '') : ''}</td>}
          </tr>
        )),
      )}
    </PlainTable>
  );
}

function bracketsText(column: SieveColumn): string {
  if (column.brackets.length > 1) return `${count(column.brackets.length)} brackets`;
  return column.brackets[0] < 0 ? 'all trials' : String(column.brackets[0] + 1);
}

export function cutoffText(cutoffs: number[]): string {
  if (!cutoffs.length) return '';
  const low = number(cutoffs[0], 5);
  const high = number(cutoffs[cutoffs.length - 1], 5);
  return low === high ? low : `${number(cutoffs[0], 3)} to ${number(cutoffs[cutoffs.length - 1], 3)}`;
}
