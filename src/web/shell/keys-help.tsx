import { Dialog } from '../parts/dialog.tsx';

const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ['?', 'shows this list'],
  ['/', 'goes to the field of the query, or opens a view or an index by name'],
  ['Ctrl K', 'opens a view or an index by name'],
  ['Tab', 'goes to the next control, with Shift to the one before'],
  ['Enter', 'presses a button, opens a menu, sends a form, adds what is typed to a list'],
  ['Space', 'ticks a box, presses a button'],
  ['Shift Enter', 'begins a line in a question of the chat'],
  ['↑ ↓', 'choose in a menu and in the list of views'],
  ['↑ ↓ ← →', 'go through the values of documents; Enter edits one'],
  ['← →', 'weigh words and meaning; with ↑ ↓, move the map'],
  ['Ctrl Z', 'takes back the last change of a document'],
  ['Esc', 'closes a dialog or a menu'],
];

/** What keys do. */
export function KeysHelp({ onClose }: { onClose(): void }): JSX.Element {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl>
        {KEYS.map(([keys, does]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
