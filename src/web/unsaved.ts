/** Asks before a view is left whose changes are not saved. */
import { useEffect } from 'preact/hooks';

const unsaved = new Set<symbol>();

/** Whether the view may be left: nothing is unsaved, or the person who typed it agrees. */
export function mayLeave(): boolean {
  if (unsaved.size === 0) return true;
  // eslint-disable-next-line no-alert
  if (!confirm('Leave without saving? Your changes are lost.')) return false;
  unsaved.clear();
  return true;
}

/** @param dirty whether something is not saved */
export function useUnsaved(dirty: boolean): void {
  useEffect(() => {
    if (!dirty) return;
    const own = Symbol('unsaved');
    unsaved.add(own);
    const leaving = (event: BeforeUnloadEvent): void => {
      if (unsaved.has(own)) event.preventDefault();
    };
    // Before the link changes the address.
    const clicked = (event: MouseEvent): void => {
      const link = event.target instanceof Element ? event.target.closest('a[href^="#"]') : null;
      if (link !== null && link.getAttribute('href') !== '#main' && !mayLeave()) {
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
  }, [dirty]);
}
