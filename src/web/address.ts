/** The view and its state in the fragment of the page's URL: `#/view/argument?name=value`. */
import { useEffect, useState } from 'preact/hooks';
import { mayLeave } from './unsaved.ts';

export interface Address {
  readonly view: string;
  readonly argument: string | null;
  readonly query: Readonly<Record<string, string>>;
}

export function parseAddress(fragment: string): Address {
  const [path = '', query = ''] = fragment.replace(/^#\/?/, '').split('?', 2);
  const [view = '', argument] = path.split('/', 2).map(decoded);
  return {
    view,
    argument: argument === undefined || argument === '' ? null : argument,
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A link to a view. Empty query values are omitted. */
export function viewHref(
  view: string,
  argument: string | null = null,
  query: Readonly<Record<string, string>> = {},
): string {
  const given = Object.entries(query).filter(([, value]) => value !== '');
  const path = argument === null ? `#/${view}` : `#/${view}/${encodeURIComponent(argument)}`;
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}

export function goTo(href: string): void {
  if (mayLeave(location.hash, href)) location.hash = href;
}

/** Replaces the address without adding an entry to the browser history. */
export function replaceAddress(href: string): void {
  if (location.hash === href) return;
  history.replaceState(null, '', href);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

/** The fragment that the views show. */
let followed: string | null = null;
const listeners = new Set<(fragment: string) => void>();

function follow(event: HashChangeEvent): void {
  if (location.hash === followed) return;
  // The page's own replacements are not trusted events: they follow a choice in the view.
  if (event.isTrusted && !mayLeave(followed ?? '', location.hash)) {
    history.pushState(null, '', followed === '' ? '#/' : followed);
    return;
  }
  followed = location.hash;
  for (const listener of listeners) listener(followed);
}

export function useAddress(): Address {
  const [fragment, setFragment] = useState(() => followed ?? location.hash);
  useEffect(() => {
    if (followed === null) {
      followed = location.hash;
      addEventListener('hashchange', follow);
    }
    listeners.add(setFragment);
    // The address may have changed since the first render.
    setFragment(followed);
    return () => {
      listeners.delete(setFragment);
    };
  }, []);
  return parseAddress(fragment);
}

/** Opens `view` with the argument `first` if it was opened without an argument. */
export function useArgument(
  view: string,
  argument: string | null,
  first: string | undefined,
): void {
  useEffect(() => {
    if (argument !== null || first === undefined) return;
    // The address may have changed since the last render.
    const address = parseAddress(location.hash);
    const here = address.view === view || address.view === '';
    if (here && address.argument === null) replaceAddress(viewHref(view, first, address.query));
  }, [argument, first, view]);
}
