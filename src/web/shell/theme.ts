/** Light or dark: as the system says, until you choose. A choice is kept in this browser. */

export type Theme = 'light' | 'dark';

const STORED_THEME = 'gannet-theme';

/** Shows the page in the chosen theme, or in that of the system. */
export function applyTheme(): void {
  document.documentElement.style.colorScheme = localStorage.getItem(STORED_THEME) ?? '';
}

export function theme(): Theme {
  const chosen = localStorage.getItem(STORED_THEME);
  if (chosen === 'light' || chosen === 'dark') return chosen;
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}

export function chooseTheme(chosen: Theme): void {
  localStorage.setItem(STORED_THEME, chosen);
  applyTheme();
}
