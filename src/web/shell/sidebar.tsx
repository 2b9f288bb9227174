import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { viewHref } from '../address.ts';
import { Icon } from '../parts/icon.tsx';
import { useSession } from '../session.ts';
import { GROUPS, type View } from '../views.tsx';
import { IndexSwitcher } from './index-switcher.tsx';
import { Logo } from './logo.tsx';
import { chooseTheme, theme } from './theme.ts';

interface Props {
  views: readonly View[];
  view: View;
  onFind(): void;
  onLeave(): void;
}

/** The views by group. On narrow screens the style moves them to the lower edge. */
export function Sidebar({ views, view, onFind, onLeave }: Props): JSX.Element {
  const { client, version } = useSession();
  return (
    <header class="side">
      <div class="brand">
        <Logo />
        <span>Gannet</span>
        {version === null ? null : <small>{version}</small>}
      </div>
      <IndexSwitcher />
      <button type="button" class="finder" onClick={onFind}>
        <Icon name="search" />
        <span>Go to …</span>
        <kbd>Ctrl K</kbd>
      </button>
      <nav class="views" aria-label="Views">
        {GROUPS.map((group) => (
          <Group
            key={group}
            name={group}
            views={views.filter((one) => one.group === group)}
            view={view}
          />
        ))}
      </nav>
      <div class="side-end">
        <ThemeButton />
        {client.key === null ? null : (
          <button type="button" class="quiet" onClick={onLeave}>
            <Icon name="key" />
            <span>Change key</span>
          </button>
        )}
      </div>
    </header>
  );
}

interface GroupProps {
  name: string;
  views: readonly View[];
  view: View;
}

function Group({ name, views, view }: GroupProps): JSX.Element | null {
  const link = useRef<HTMLAnchorElement>(null);
  // On narrow screens the links scroll.
  useEffect(() => link.current?.scrollIntoView({ block: 'nearest', inline: 'center' }), [view]);
  if (views.length === 0) return null;
  const id = `views-${name.toLowerCase()}`;
  return (
    <div>
      <p class="group" id={id}>
        {name}
      </p>
      <ul aria-labelledby={id}>
        {views.map((one) => (
          <li key={one.name}>
            <a
              ref={one.name === view.name ? link : null}
              href={viewHref(one.name)}
              aria-current={one.name === view.name ? 'page' : undefined}
            >
              <Icon name={one.icon} />
              {one.title}
            </a>
          </li>
        ))}
      </ul>
    </div>
  );
}

function ThemeButton(): JSX.Element {
  const [shown, setShown] = useState(theme);
  const other = shown === 'light' ? 'dark' : 'light';
  return (
    <button
      type="button"
      class="quiet icon-only"
      aria-label={`Show the page in ${other} colours`}
      onClick={() => {
        chooseTheme(other);
        setShown(other);
      }}
    >
      <Icon name={other === 'dark' ? 'moon' : 'sun'} />
    </button>
  );
}
