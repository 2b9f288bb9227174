import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useAction } from '../hooks.ts';
import { Choice } from '../parts/choice.tsx';
import { Outcome } from '../parts/outcome.tsx';
import { TextField } from '../parts/text-field.tsx';
import { useSession } from '../session.ts';
import { Fault, textOf, type Client } from '../client.ts';

const LINES_MAX = 1000;
const LEVELS = ['error', 'warn', 'info', 'debug', 'trace'] as const;

export function LogsView(): JSX.Element {
  const { client } = useSession();
  const [level, setLevel] = useState('info');
  const [modules, setModules] = useState('');
  const [lines, setLines] = useState<readonly string[]>([]);
  const [sought, setSought] = useState('');
  const running = useRef<AbortController | null>(null);
  const end = useRef<HTMLPreElement>(null);
  const action = useAction();
  const stop = (): void => running.current?.abort();
  useEffect(() => stop, []);
  useEffect(() => end.current?.scrollTo({ top: end.current.scrollHeight }), [lines]);
  const start = (): void => {
    const stopping = new AbortController();
    running.current = stopping;
    const target = modules === '' ? level : `${modules},${level}`;
    setLines([]);
    action.run(async () => {
      await streamLines(client, target, stopping.signal, (line) =>
        setLines((old) => [...old, line].slice(-LINES_MAX)),
      );
      return 'Stopped.';
    });
  };
  const shown = lines.filter((line) => line.toLowerCase().includes(sought.toLowerCase()));
  return (
    <>
      <div class="row">
        <Choice
          label="Minimum level"
          value={level}
          options={LEVELS.map((name) => [name, name])}
          onChoose={setLevel}
        />
        <TextField
          label="Levels of modules"
          hint="For example http=debug,scheduler=off."
          value={modules}
          onInput={setModules}
        />
        <button type="button" onClick={action.running ? stop : start}>
          {action.running ? 'Stop' : 'Show the log'}
        </button>
      </div>
      <p class="note">
        Only one reader can follow the log at a time. This needs the experimental feature logsRoute,
        which you can enable in the <a href="#/server">server view</a>.
      </p>
      <Outcome action={action} />
      <TextField label="Show lines containing" type="search" value={sought} onInput={setSought} />
      <pre ref={end} class="log" tabIndex={0} role="log" aria-label="Log">
        {shown.join('\n')}
      </pre>
    </>
  );
}

/** Reads the log until the server ends the stream or the signal is aborted. */
async function streamLines(
  client: Client,
  target: string,
  signal: AbortSignal,
  onLine: (line: string) => void,
): Promise<void> {
  try {
    const body = { target, mode: 'human' };
    const response = await client.open('POST', '/logs/stream', { body, signal });
    let rest = '';
    for await (const text of textOf(response, signal)) {
      const parts = (rest + text).split('\n');
      rest = parts.pop()!;
      for (const line of parts) onLine(line);
    }
  } catch (error) {
    if (!signal.aborted || error instanceof Fault) throw error;
  }
}
