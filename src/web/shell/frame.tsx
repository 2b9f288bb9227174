import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { useAddress } from '../address.ts';
import { useSession } from '../session.ts';
import { VIEWS } from '../views.tsx';
import { IndexesProvider } from './indexes-context.tsx';
import { Palette } from './palette.tsx';
import { Sidebar } from './sidebar.tsx';
import { KeysHelp } from './keys-help.tsx';
import { isCommand, isSlash } from './slash.ts';
import { Toasts } from './toasts.tsx';

/** What surrounds each view: the side bar, the heading, the command palette, the toasts. */
export function Frame({ onLeave }: { onLeave(): void }): JSX.Element {
  const { rights } = useSession();
  const address = useAddress();
  const [finding, setFinding] = useState(false);
  const [helping, setHelping] = useState(false);
  const views = VIEWS.filter((one) => one.rights.some((right) => rights.has(right)));
  const view = views.find(({ name }) => name === address.view) ?? views[0]!;
  useEffect(() => {
    document.title = `${view.title} · Gannet`;
  }, [view]);
  // A view that is drawn takes its keys.
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (isCommand(event, '?')) setHelping(true);
      const isK = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey);
      // The search view has a field of its own for the slash.
      if (!isK && !(isSlash(event) && view.name !== 'search')) return;
      event.preventDefault();
      if (document.querySelector('dialog[open]') === null) setFinding(true);
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, [view]);
  return (
    <IndexesProvider>
      <a class="skip" href="#main" onClick={skipToMain}>
        Skip to the content
      </a>
      <div class="shell">
        <Sidebar views={views} view={view} onFind={() => setFinding(true)} onLeave={onLeave} />
        <main id="main" tabIndex={-1} key={view.name}>
          <div class="heading">
            <h1>{view.title}</h1>
            <p>{view.about}</p>
          </div>
          {view.show(address.argument)}
        </main>
      </div>
      <Toasts />
      {helping ? <KeysHelp onClose={() => setHelping(false)} /> : null}
      {finding ? <Palette views={views} onClose={() => setFinding(false)} /> : null}
    </IndexesProvider>
  );
}

/** Moves the focus by script, because the fragment of the address selects the view. */
function skipToMain(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}
