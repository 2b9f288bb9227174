/** The page: asks for a key if one is needed, then shows the views that the key may use. */
import { render } from 'preact';
import { useState } from 'preact/hooks';
import { useLoaded } from './hooks.ts';
import { Problem } from './parts/problem.tsx';
import { openSession, SessionContext, storedKey, storeKey } from './session.ts';
import { Frame } from './shell/frame.tsx';
import { KeyForm } from './shell/key-form.tsx';
import { applyTheme } from './shell/theme.ts';

function Page(): JSX.Element {
  const [key, setKey] = useState(storedKey);
  const opening = useLoaded(() => openSession(key), [key]);
  const useKey = (given: string | null): void => {
    storeKey(given);
    setKey(given);
  };
  if (opening.error !== null) {
    return (
      <main class="alone">
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
      <main class="alone">
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
      <Frame onLeave={() => useKey(null)} />
    </SessionContext.Provider>
  );
}

applyTheme();
render(<Page />, document.getElementById('page')!);
