import type {Importance} from '../../api/types';
import {param, setParams} from '../../app/router';
import {counted} from '../../format';

// The level at which importance and slices compare trials, as requests have it: 0 is the one that says most, -1 each
// trial's own value. It stands in the address ("level").
const kOwnLevels = -1;

export function askedLevel(): number {
  const text = param('level');
  return text === 'own' ? kOwnLevels : Math.max(0, Math.floor(Number(text)) || 0);
}

// "compared at 27 units"
export function levelText(level: number): string {
  if (level === kOwnLevels) return 'each trial at its own level';
  return level > 0 ? `compared at ${counted(level, 'unit')}` : 'no values to compare yet';
}

// Which levels there are, and how many trials have a value at each.
export function LevelChooser({importance}: {importance: Importance}) {
  const {resource, levels, levelTrials} = importance;
  if (levels.length === 0) return null;
  const options = levels.map((level, i) => ({value: String(level), label: `compared at ${counted(level, 'unit')} (${counted(levelTrials[i], 'trial')})`})).reverse();
  const chosen = resource === kOwnLevels ? 'own' : String(resource);
  const isOffered = chosen === 'own' || options.some((option) => option.value === chosen);
  return (
    <select class="input small level" aria-label="Level at which trials are compared" value={chosen} onChange={(event) => setParams({level: event.currentTarget.value}, {replace: true})}>
      {!isOffered && <option value={chosen}>compared at {counted(resource, 'unit')}</option>}
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
      <option value="own">each at its own level</option>
    </select>
  );
}
