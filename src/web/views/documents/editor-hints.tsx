import { unknownFields } from '../../document-hints.ts';
import { counted } from '../../format.ts';
import type { Member } from '../../raw-json.ts';
import { useIndexes } from '../../shell/indexes-context.tsx';

interface Props {
  uid: string;
  text: string;
  /** Vectors that are kept. */
  own: readonly Member[];
}

/** What is unusual in the document, and the fields that the other documents have. */
export function EditorHints({ uid, text, own }: Props): JSX.Element {
  const { stats } = useIndexes();
  const fields = stats?.indexes[uid]?.fieldDistribution ?? {};
  const document = parsed(text);
  const present = typeof document === 'object' && document !== null ? document : {};
  const missing = Object.entries(fields).filter(([name]) => !Object.hasOwn(present, name));
  return (
    <div role="status">
      {document === undefined ? <p class="note">This is not valid JSON yet.</p> : null}
      {unknownFields(document, fields).map(({ name, meant }) => (
        <p key={name} class="warning">
          No document of {uid} has the field <code>{name}</code>.
          {meant === null ? (
            ''
          ) : (
            <>
              {' '}
              Do you mean <code>{meant}</code>?
            </>
          )}
        </p>
      ))}
      {own.length === 0 ? null : (
        <p class="note">
          Its own vectors ({own.map(({ name }) => name).join(', ')}) are kept as they are.
        </p>
      )}
      {document === undefined || missing.length === 0 ? null : (
        <details>
          <summary>{counted(missing.length, 'field')} that other documents have</summary>
          <ul class="values">
            {missing.map(([name, documents]) => (
              <li key={name}>
                {name} <span class="count">in {counted(documents, 'document')}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

/** undefined: not valid JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
