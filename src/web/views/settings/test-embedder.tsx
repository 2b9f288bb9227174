import { useState } from 'preact/hooks';
import { testEmbedder, type Embedder, type Outcome, type Tested } from '../../embedder-test.ts';
import { counted, milliseconds } from '../../format.ts';
import { Problem } from '../../parts/problem.tsx';
import { TextField } from '../../parts/text-field.tsx';
import { useSession } from '../../session.ts';
import { useIndexes } from '../../shell/indexes-context.tsx';
import { isOff, SwitchedOff } from '../feature.tsx';

interface Props {
  uid: string;
  name: string;
  embedder: Embedder;
  saved: Embedder | undefined;
}

/** Shows what an embedder would embed of a document, and whether its provider responds. */
export function TestEmbedder({ uid, name, embedder, saved }: Props): JSX.Element {
  const { client } = useSession();
  const { list } = useIndexes();
  const [id, setId] = useState('');
  const [running, setRunning] = useState(false);
  const [tested, setTested] = useState<Outcome<Tested> | null>(null);
  const primaryKey = list.find((index) => index.uid === uid)?.primaryKey ?? null;
  const run = (): void => {
    setRunning(true);
    testEmbedder(client, { uid, primaryKey, name, embedder, saved }, id)
      .then(
        (value) => setTested({ value }),
        (error: Error) => setTested({ error }),
      )
      .finally(() => setRunning(false));
  };
  return (
    <div class="try" role="group" aria-label={`Test of ${name}`}>
      <div class="row">
        <TextField
          label="Document id"
          hint="Empty: the first document."
          value={id}
          onInput={setId}
        />
        <button type="button" disabled={running} onClick={run}>
          {running ? 'Testing …' : 'Test'}
          <span class="unseen"> {name}</span>
        </button>
      </div>
      <div role="status">
        {tested === null ? null : 'error' in tested ? (
          <Problem error={tested.error} />
        ) : (
          <Results tested={tested.value} onSwitchedOn={run} />
        )}
      </div>
    </div>
  );
}

function Results({ tested, onSwitchedOn }: { tested: Tested; onSwitchedOn(): void }): JSX.Element {
  const { document, rendered, embedded } = tested;
  return (
    <>
      {rendered === null ? (
        <p class="note">The index has no documents to render.</p>
      ) : 'value' in rendered ? (
        <>
          <p class="note">Text of the document {document}:</p>
          <pre>{rendered.value}</pre>
        </>
      ) : isOff(rendered.error) ? (
        <SwitchedOff
          feature="renderRoute"
          purpose="The server can render the template of an embedder for a document."
          onSwitchedOn={onSwitchedOn}
        />
      ) : (
        <Problem error={rendered.error} />
      )}
      {embedded === null ? (
        <p class="note">Save first: the server embeds with the settings that it has.</p>
      ) : 'error' in embedded ? (
        <Problem error={embedded.error} />
      ) : (
        <p>
          <span class="state succeeded">works</span> An embedding of{' '}
          {counted(embedded.value.dimensions, 'number')}, after {milliseconds(embedded.value.ms)}
          {rendered !== null && 'value' in rendered && rendered.value !== ''
            ? '.'
            : `, of the text “${embedded.value.text}”.`}
        </p>
      )}
    </>
  );
}
