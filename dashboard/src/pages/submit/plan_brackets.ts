import type {TuningPlan} from '../../api/types';

export type PlannedBracket = TuningPlan['brackets'][number];

// A bracket, or many of the same rungs.
export interface BracketKind {
  bracket: PlannedBracket;  // the first of them
  brackets: number;
}

// A plan with more brackets than this shows each kind once: 1,000,000 trials have 100,000.
const kMostShown = 40;

// In the order of the first bracket of each kind.
export function kindsOf(brackets: readonly PlannedBracket[]): BracketKind[] {
  if (brackets.length <= kMostShown) return brackets.map((bracket) => ({bracket, brackets: 1}));
  const kinds = new Map<string, BracketKind>();
  for (const bracket of brackets) {
    const key = bracket.rungs.map((rung) => `${rung.trials} ${rung.resource}`).join();
    const kind = kinds.get(key);
    if (kind) kind.brackets += 1;
    else kinds.set(key, {bracket, brackets: 1});
  }
  return [...kinds.values()];
}

// The most trials of a rung; at least 1.
export function widestOf(kinds: readonly BracketKind[]): number {
  return Math.max(1, ...kinds.flatMap((kind) => kind.bracket.rungs.map((rung) => rung.trials)));
}
