/** The page: asks for a key if one is needed, then shows the views that the key may use. */
import { render, type JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Problem, TextField } from './parts.tsx';
import { useLoaded } from './hooks.ts';
import { viewHref, useAddress } from './address.ts';
import { openSession, SessionContext, storedKey, storeKey, type Session } from './session.ts';
import { VIEWS } from './views.tsx';

function Page(): JSX.Element {
  const [key, setKey] = useState(storedKey);
  const opening = useLoaded(() => openSession(key), [key]);
  const useKey = (given: string | null): void => {
    storeKey(given);
    setKey(given);
  };
  if (opening.error !== null) {
    return (
      <main>
        <h1>Gannet</h1>
        <Problem error={opening.error} />
        <button type="button" onClick={opening.reload}>
          Try again
        </button>
      </main>
    );
  }
  if (opening.value === undefined || opening.loading) {
    return (
      <main>
        <h1>Gannet</h1>
        <p role="status">Connecting to the server …</p>
      </main>
    );
  }
  if (opening.value.kind === 'keyNeeded') {
    return <KeyForm message={opening.value.message} onKey={useKey} />;
  }
  return (
    <SessionContext.Provider value={opening.value.session}>
      <Frame session={opening.value.session} onLeave={() => useKey(null)} />
    </SessionContext.Provider>
  );
}

function KeyForm({
  message,
  onKey,
}: {
  message: string | null;
  onKey(key: string): void;
}): JSX.Element {
  const [typed, setTyped] = useState('');
  return (
    <main class="key">
      <h1>Gannet</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (typed !== '') onKey(typed);
        }}
      >
        <TextField
          label="API key"
          hint="The master key, an API key or a tenant token. The browser keeps it until you close this tab."
          type="password"
          required
          value={typed}
          onInput={setTyped}
        />
        <button type="submit">Open</button>
      </form>
      {message === null ? null : (
        <p class="problem" role="alert">
          {message}
        </p>
      )}
    </main>
  );
}

function Frame({ session, onLeave }: { session: Session; onLeave(): void }): JSX.Element {
  const address = useAddress();
  const views = VIEWS.filter(({ rights }) => rights.some((right) => session.rights.has(right)));
  const view = views.find(({ name }) => name === address.view) ?? views[0]!;
  const link = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    document.title = `${view.title} · Gannet`;
    // On narrow screens the links scroll.
    link.current?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [view]);
  return (
    <>
      <a class="skip" href="#main" onClick={skipToMain}>
        Skip to the content
      </a>
      <header class="bar">
        <span class="brand">
          Gannet {session.version === null ? null : <small>{session.version}</small>}
        </span>
        <nav aria-label="Views">
          {views.map(({ name, title }) => (
            <a
              key={name}
              ref={name === view.name ? link : null}
              href={viewHref(name)}
              aria-current={name === view.name ? 'page' : undefined}
            >
              {title}
            </a>
          ))}
        </nav>
        {session.client.key === null ? null : (
          <button type="button" class="quiet" onClick={onLeave}>
            Change key
          </button>
        )}
      </header>
      <main id="main" tabIndex={-1} key={view.name}>
        <h1>{view.title}</h1>
        {view.show(address.argument)}
      </main>
    </>
  );
}

/** Moves the focus by script, because the fragment of the address selects the view. */
function skipToMain(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

render(<Page />, document.getElementById('page')!);
