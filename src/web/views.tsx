/** Every view of the page, in the order in which they are named at its top. */
import type { JSX } from 'preact';
import type { Right } from './session.ts';
import { SearchView } from './views/search.tsx';

export interface View {
  /** In the address. */
  readonly name: string;
  readonly title: string;
  /** null: every key may see it. */
  readonly right: Right | null;
  show(argument: string | null): JSX.Element;
}

export const VIEWS: readonly View[] = [
  { name: 'search', title: 'Search', right: null, show: (uid) => <SearchView uid={uid} /> },
];
