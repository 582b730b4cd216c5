import {EmptyState} from '../../design';
import {count, number} from '../../format';
import {hasRungs, levelsText, type SieveColumn} from './sieve_layout';

// The sieve in numbers.
export function SieveTable({columns, metric}: {columns: SieveColumn[]; metric: string}) {
  if (!columns.length) return <EmptyState title="No trials yet" />;
  const rungs = columns.every(hasRungs);
  return (
    <div class="scroll-x sieve-table" tabIndex={0}>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Bracket</th>
            <th scope="col" class="num">Level (units)</th>
            {rungs && <th scope="col" class="num">Entered</th>}
            {rungs && <th scope="col" class="num">Promoted</th>}
            {rungs && <th scope="col" class="num">Cut-off, {metric}</th>}
            <th scope="col" class="num">Pruned</th>
            <th scope="col" class="num">Failed</th>
            <th scope="col" class="num">Cancelled</th>
            <th scope="col" class="num">{rungs ? 'Here now' : 'Completed or not ended'}</th>
            {rungs && <th scope="col">Ended early</th>}
          </tr>
        </thead>
        <tbody>
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
        </tbody>
      </table>
    </div>
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
