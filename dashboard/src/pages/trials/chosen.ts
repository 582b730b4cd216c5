// Which trials are put side by side. Pure.

export const kMostChosen = 20;

// "3,1,3" -> [3, 1]; what is no number of a trial is left out.
export function chosenTrials(text: string | null): number[] {
  const numbers = (text ?? '').split(',').map(Number).filter((number) => Number.isSafeInteger(number) && number > 0);
  return [...new Set(numbers)].slice(0, kMostChosen);
}

export const differs = (texts: readonly string[]) => texts.some((text) => text !== texts[0]);
