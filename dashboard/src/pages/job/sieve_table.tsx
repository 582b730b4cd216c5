import {EmptyState} from '../../design';
import {count, number} from '../../format';
import type {SieveColumn} from './sieve_layout';

// The sieve in numbers.
export function SieveTable({columns, metric}: {columns: SieveColumn[]; metric: string}) {
  if (!columns.length) return <EmptyState title="No trials yet" />;
  return (
    <div class="scroll-x sieve-table" tabIndex={0}>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Bracket</th>
            <th scope="col" class="num">Level (units)</th>
            <th scope="col" class="num">Entered</th>
            <th scope="col" class="num">Went on</th>
            <th scope="col" class="num">Cut-off, {metric}</th>
            <th scope="col" class="num">Fell out</th>
            <th scope="col" class="num">Failed</th>
            <th scope="col" class="num">Here now</th>
            <th scope="col">Ended early</th>
          </tr>
        </thead>
        <tbody>
          {columns.flatMap((column) =>
            column.shelves.map((shelf, i) => (
              <tr key={`${column.key}/${i}`}>
                <td>{i === 0 ? bracketsText(column) : ''}</td>
                <td class="num">{count(shelf.resource)}</td>
                <td class="num">{count(shelf.entered)}</td>
                <td class="num">{count(shelf.passed)}</td>
                <td class="num">{cutoffText(shelf.cutoffs) || '–'}</td>
                <td class="num">{count(shelf.counts.stopped)}</td>
                <td class="num">{count(shelf.counts.failed)}</td>
                <td class="num">{count(shelf.counts.pending + shelf.counts.running + shelf.counts.paused + shelf.counts.completed)}</td>
                <td>{i === 0 ? (column.endReasons[0] ?? '') : ''}</td>
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
