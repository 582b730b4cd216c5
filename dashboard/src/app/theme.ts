import {effect, signal} from '@preact/signals';

export type ThemeChoice = 'system' | 'light' | 'dark';
const kKey = 'winnow-theme';

function stored(): ThemeChoice {
  try {
    const value = localStorage.getItem(kKey);
    return value === 'light' || value === 'dark' ? value : 'system';
  } catch {
    return 'system';
  }
}

export const themeChoice = signal<ThemeChoice>(stored());
const systemDark = matchMedia('(prefers-color-scheme: dark)');
// What is shown. What is drawn on a canvas reads it, and so is drawn anew when it changes.
export const theme = signal<'light' | 'dark'>('light');

export const reducedMotion = matchMedia('(prefers-reduced-motion: reduce)');

export function startTheme(): void {
  const system = signal(systemDark.matches);
  systemDark.addEventListener('change', () => (system.value = systemDark.matches));
  effect(() => {
    const choice = themeChoice.value;
    const shown = choice === 'system' ? (system.value ? 'dark' : 'light') : choice;
    document.documentElement.dataset.theme = shown;
    theme.value = shown;
    try {
      if (choice === 'system') localStorage.removeItem(kKey);
      else localStorage.setItem(kKey, choice);
    } catch {
      // Private windows may have no storage: the choice holds until the page is left.
    }
  });
}
