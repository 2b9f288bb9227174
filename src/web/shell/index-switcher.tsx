import { useState } from 'preact/hooks';
import { goTo, useAddress, viewHref } from '../address.ts';
import { count } from '../format.ts';
import { isIndexView, rememberIndex, useIndexes } from './indexes-context.tsx';

/** Chooses the index that all views show. */
export function IndexSwitcher(): JSX.Element | null {
  const { list, stats, current } = useIndexes();
  const { view } = useAddress();
  // Views without an index in their address show the choice when they are drawn next.
  const [, redraw] = useState(0);
  if (list.length === 0) return null;
  const shown = (uid: string): string => {
    const documents = stats?.indexes[uid]?.numberOfDocuments;
    return documents === undefined ? uid : `${uid} · ${count(documents)}`;
  };
  const known = list.some(({ uid }) => uid === current);
  return (
    <div class="switcher">
      <select
        aria-label="Current index"
        value={current ?? ''}
        onChange={({ currentTarget: { value } }) => {
          rememberIndex(value);
          if (isIndexView(view) || view === '') goTo(viewHref(view || 'search', value));
          else redraw((old) => old + 1);
        }}
      >
        {known || current === null ? null : (
          <option value={current} selected>
            {current}
          </option>
        )}
        {list.map(({ uid }) => (
          <option key={uid} value={uid} selected={uid === current}>
            {shown(uid)}
          </option>
        ))}
      </select>
    </div>
  );
}
