/** Where in the page one is: the fragment of the address, `#/view/argument?name=value`. */
import { useEffect, useState } from 'preact/hooks';

export interface Place {
  readonly view: string;
  readonly argument: string | null;
  readonly query: Readonly<Record<string, string>>;
}

export function parsePlace(fragment: string): Place {
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

/** Values that are empty are left out. */
export function placeHref(
  view: string,
  argument: string | null = null,
  query: Readonly<Record<string, string>> = {},
): string {
  const given = Object.entries(query).filter(([, value]) => value !== '');
  const path = argument === null ? `#/${view}` : `#/${view}/${encodeURIComponent(argument)}`;
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}

export function goTo(href: string): void {
  location.hash = href;
}

/** The same place with other details: no new step to go back to. */
export function replacePlace(href: string): void {
  if (location.hash === href) return;
  history.replaceState(null, '', href);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

export function usePlace(): Place {
  const [fragment, setFragment] = useState(location.hash);
  useEffect(() => {
    const changed = (): void => setFragment(location.hash);
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  return parsePlace(fragment);
}

/** Goes to the place of `first` when `view` is open without an argument. */
export function useArgument(
  view: string,
  argument: string | null,
  first: string | undefined,
): void {
  useEffect(() => {
    if (argument !== null || first === undefined) return;
    // One may have gone elsewhere since this was drawn.
    const place = parsePlace(location.hash);
    const here = place.view === view || place.view === '';
    if (here && place.argument === null) replacePlace(placeHref(view, first, place.query));
  }, [argument, first, view]);
}
