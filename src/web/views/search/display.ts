/** How hits are shown, remembered in this browser for each index after the first choice. */
import { useState } from 'preact/hooks';

export const LAYOUTS = ['comfortable', 'compact', 'table'] as const;
export type Layout = (typeof LAYOUTS)[number];

export interface Display {
  readonly layout: Layout;
  /** The fields to show; null: those that suit the hits. */
  readonly fields: readonly string[] | null;
  /** The field with the address of an image; empty: none, because it is on another server. */
  readonly image: string;
}

const INITIAL: Display = { layout: 'comfortable', fields: null, image: '' };

function read(key: string): Display {
  try {
    const stored = JSON.parse(localStorage.getItem(key) ?? '{}') as Partial<Display>;
    return { ...INITIAL, ...stored };
  } catch {
    return INITIAL;
  }
}

export function useDisplay(uid: string): [Display, (part: Partial<Display>) => void] {
  const key = `gannet-display:${uid}`;
  const [display, setDisplay] = useState(() => read(key));
  const change = (part: Partial<Display>): void => {
    const next = { ...display, ...part };
    localStorage.setItem(key, JSON.stringify(next));
    setDisplay(next);
  };
  return [display, change];
}

/** Whether the page was opened with a policy that lets it load images from other servers. */
export function mayLoadImages(): boolean {
  return location.search === '?images';
}

/** Opens the page again with, or without, that policy. The key and the address stay. */
export function reopen(withImages: boolean): void {
  location.replace(`${withImages ? '?images' : location.pathname}${location.hash}`);
}
