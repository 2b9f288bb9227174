import { useEffect, useRef, useState } from 'preact/hooks';
import { viewHref } from '../address.ts';
import { Icon } from '../parts/icon.tsx';
import { useDismissal } from '../parts/menu.tsx';
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
      <Navigation views={views} view={view} />
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

type ListProps = Pick<Props, 'views' | 'view'>;

/** Telephones show the first views, and the others after a click on More. */
function Navigation({ views, view }: ListProps): JSX.Element {
  const [open, setOpen] = useState(false);
  const element = useRef<HTMLElement>(null);
  useEffect(() => setOpen(false), [view]);
  useDismissal(element, open, () => setOpen(false));
  return (
    <nav ref={element} class={open ? 'views open' : 'views'} aria-label="Views">
      {GROUPS.map((group) => (
        <Group
          key={group}
          name={group}
          views={views.filter((one) => one.group === group)}
          view={view}
        />
      ))}
      <button
        type="button"
        class={view.isFirst ? 'quiet more' : 'quiet more current'}
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <Icon name={view.isFirst ? 'rows' : view.icon} />
        {view.isFirst ? 'More' : view.title}
        <span class="unseen">{view.isFirst ? ' views' : ', more views'}</span>
      </button>
    </nav>
  );
}

interface GroupProps extends ListProps {
  name: string;
}

function Group({ name, views, view }: GroupProps): JSX.Element | null {
  if (views.length === 0) return null;
  const id = `views-${name.toLowerCase()}`;
  return (
    <div>
      <p class="group" id={id}>
        {name}
      </p>
      <ul class="links" aria-labelledby={id}>
        {views.map((one) => (
          <li key={one.name} class={one.isFirst ? 'first' : ''}>
            <a href={viewHref(one.name)} aria-current={one.name === view.name ? 'page' : undefined}>
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
