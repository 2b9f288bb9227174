/** What components return, by a name that every file knows. */
import type { JSX as PreactJsx } from 'preact';

declare global {
  namespace JSX {
    type Element = PreactJsx.Element;
  }
}
