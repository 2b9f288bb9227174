/** Asks before a view is left whose changes are not saved. */
import { useEffect } from 'preact/hooks';

interface Unsaved {
  /** It stays while only the part of the address after `?` changes. */
  readonly ofView: boolean;
}

const unsaved = new Set<Unsaved>();

/**
 * Whether an address may be left: nothing is lost, or the person who typed it agrees.
 * @param to the next address; undefined: none of this page
 */
export function mayLeave(from = '', to?: string): boolean {
  const isElsewhere = to === undefined || from.split('?', 1)[0] !== to.split('?', 1)[0];
  if (![...unsaved].some(({ ofView }) => isElsewhere || !ofView)) return true;
  // eslint-disable-next-line no-alert
  if (!confirm('Leave without saving? Your changes are lost.')) return false;
  unsaved.clear();
  return true;
}

/**
 * @param dirty whether something is not saved
 * @param ofView whether it belongs to the view, and not to a dialog of it
 */
export function useUnsaved(dirty: boolean, ofView = false): void {
  useEffect(() => {
    if (!dirty) return;
    const own = { ofView };
    unsaved.add(own);
    const leaving = (event: BeforeUnloadEvent): void => {
      if (unsaved.has(own)) event.preventDefault();
    };
    // Before the link changes the address.
    const clicked = (event: MouseEvent): void => {
      const link = event.target instanceof Element ? event.target.closest('a[href^="#"]') : null;
      const to = link?.getAttribute('href') ?? '#main';
      if (to !== '#main' && !mayLeave(location.hash, to)) {
        event.preventDefault();
      }
    };
    addEventListener('beforeunload', leaving);
    document.addEventListener('click', clicked, true);
    return () => {
      unsaved.delete(own);
      removeEventListener('beforeunload', leaving);
      document.removeEventListener('click', clicked, true);
    };
  }, [dirty, ofView]);
}
