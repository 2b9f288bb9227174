import { useEffect, useRef, useState } from 'preact/hooks';
import { Fault, textOf, type Client } from '../client.ts';
import { count, counted } from '../format.ts';
import { useAction, type Action } from '../hooks.ts';
import { LEVELS, logLine, matchingLines, type Level, type LogLine } from '../log-line.ts';
import { Choice } from '../parts/choice.tsx';
import { Outcome } from '../parts/outcome.tsx';
import { TextField } from '../parts/text-field.tsx';
import { useSession } from '../session.ts';
import { isOff, SwitchedOff } from './feature.tsx';

const LINES_MAX = 1000;

const LEVEL_OPTIONS = LEVELS.map((name) => [name, name] as const);

interface Followed {
  readonly action: Action;
  readonly lines: readonly LogLine[];
  start(target: string): void;
  stop(): void;
}

/** The last lines of the log, from the start to the stop. */
function useLog(): Followed {
  const { client } = useSession();
  const [lines, setLines] = useState<readonly LogLine[]>([]);
  const running = useRef<AbortController | null>(null);
  const action = useAction();
  const stop = (): void => running.current?.abort();
  useEffect(() => stop, []);
  const start = (target: string): void => {
    const stopping = new AbortController();
    running.current = stopping;
    setLines([]);
    action.run(async () => {
      await streamLines(client, target, stopping.signal, (more) =>
        setLines((old) => [...old, ...more].slice(-LINES_MAX)),
      );
      return 'Stopped.';
    });
  };
  return { action, lines, start, stop };
}

export function LogsView(): JSX.Element {
  const [level, setLevel] = useState<Level>('info');
  const [modules, setModules] = useState('');
  const { action, lines, start, stop } = useLog();
  const begin = (): void => start(modules === '' ? level : `${modules},${level}`);
  return (
    <>
      <div class="row">
        <Choice
          label="Minimum level"
          value={level}
          options={LEVEL_OPTIONS}
          onChoose={(one) => setLevel(one as Level)}
        />
        <TextField
          label="Levels of modules"
          hint="For example http=debug, scheduler=off."
          value={modules}
          onInput={setModules}
        />
        <button type="button" class="primary" onClick={action.running ? stop : begin}>
          {action.running ? 'Stop' : 'Show the log'}
        </button>
      </div>
      <p class="note">Only one reader can follow the log at a time.</p>
      {isOff(action.error) ? (
        <SwitchedOff
          feature="logsRoute"
          purpose="The log can be followed while it is written."
          onSwitchedOn={begin}
        />
      ) : (
        <Outcome action={action} />
      )}
      <Lines lines={lines} />
    </>
  );
}

/** The lines, of which some can be shown, and which can be held still. */
function Lines({ lines }: { lines: readonly LogLine[] }): JSX.Element {
  const [level, setLevel] = useState<Level>('trace');
  const [sought, setSought] = useState('');
  const [held, setHeld] = useState<readonly LogLine[] | null>(null);
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (held === null) end.current?.scrollTo({ top: end.current.scrollHeight });
  }, [lines, held]);
  const kept = held ?? lines;
  const shown = matchingLines(kept, level, sought);
  const waiting = (lines.at(-1)?.number ?? 0) - (kept.at(-1)?.number ?? 0);
  return (
    <>
      <div class="row">
        <Choice
          label="Show levels down to"
          value={level}
          options={LEVEL_OPTIONS}
          onChoose={(one) => setLevel(one as Level)}
        />
        <TextField label="Show lines containing" type="search" value={sought} onInput={setSought} />
        <button
          type="button"
          aria-pressed={held !== null}
          onClick={() => setHeld(held === null ? lines : null)}
        >
          Pause
        </button>
      </div>
      <p class="note">
        {count(shown.length)} of {counted(kept.length, 'line')}; the last {count(LINES_MAX)} are
        kept.{held === null || waiting <= 0 ? '' : ` ${count(waiting)} more since the pause.`}
      </p>
      <div ref={end} class="card log" tabIndex={0} role="log" aria-label="Log">
        {shown.map(({ number, time, level: own, module, text }) => (
          <p key={number} class={own}>
            <span>{time}</span> <strong>{own}</strong> <span>{module}</span> {text}
          </p>
        ))}
      </div>
    </>
  );
}

/** Reads the log until the server ends the stream or the signal is aborted. */
async function streamLines(
  client: Client,
  target: string,
  signal: AbortSignal,
  onLines: (lines: readonly LogLine[]) => void,
): Promise<void> {
  try {
    const body = { target, mode: 'json' };
    const response = await client.open('POST', '/logs/stream', { body, signal });
    let rest = '';
    let number = 0;
    for await (const text of textOf(response, signal)) {
      const parts = (rest + text).split('\n');
      rest = parts.pop()!;
      onLines(parts.filter((part) => part !== '').map((part) => logLine(part, ++number)));
    }
  } catch (error) {
    if (!signal.aborted || error instanceof Fault) throw error;
  }
}
