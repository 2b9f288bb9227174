import { useLayoutEffect, useRef } from 'preact/hooks';
import { Icon } from '../../parts/icon.tsx';
import { isSlash } from '../../shell/slash.ts';

/** The field of the query. A slash moves the focus to it. */
export function SearchBox({ q, onInput }: { q: string; onInput(q: string): void }): JSX.Element {
  const box = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    box.current?.focus();
    const pressed = (event: KeyboardEvent): void => {
      if (!isSlash(event)) return;
      event.preventDefault();
      box.current?.focus();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
  return (
    <div class="query">
      <label for="query" class="unseen">
        Search
      </label>
      <Icon name="search" />
      <input
        ref={box}
        id="query"
        type="search"
        value={q}
        placeholder="Type a query"
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <kbd title="Press / to return to this field">/</kbd>
    </div>
  );
}
