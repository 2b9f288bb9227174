import { useState } from 'preact/hooks';
import { TextField } from '../parts/text-field.tsx';
import { Logo } from './logo.tsx';

interface Props {
  /** Why the last key was refused; null: none was given. */
  message: string | null;
  onKey(key: string): void;
}

export function KeyForm({ message, onKey }: Props): JSX.Element {
  const [typed, setTyped] = useState('');
  return (
    <main class="alone">
      <h1>
        <Logo /> Gannet
      </h1>
      <form
        class="panel"
        onSubmit={(event) => {
          event.preventDefault();
          if (typed !== '') onKey(typed);
        }}
      >
        {message === null ? null : (
          <p class="problem" role="alert">
            {message}
          </p>
        )}
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
    </main>
  );
}
