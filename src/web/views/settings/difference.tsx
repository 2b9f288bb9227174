import { diffLines } from '../../settings-draft.ts';

const SIGNS = { same: ' ', removed: '−', added: '+' } as const;

/** The lines that differ between two values as JSON. */
export function Difference({ before, after }: { before: unknown; after: unknown }): JSX.Element {
  return (
    <pre class="diff" tabIndex={0}>
      {diffLines(before, after).map(({ kind, text }, at) => (
        <span key={at} class={kind}>
          {SIGNS[kind]} {text}
          {'\n'}
        </span>
      ))}
    </pre>
  );
}
