import type { Version } from '../../contract/responses.ts';
import { FEATURE_WORDS } from '../feature-words.ts';
import { useAction, useGet } from '../hooks.ts';
import { Coded } from '../parts/coded.tsx';
import { Outcome } from '../parts/outcome.tsx';
import { Problem } from '../parts/problem.tsx';
import { useSession } from '../session.ts';
import { finish } from '../tasks.ts';
import { spaced } from '../spaced.ts';

/** The build puts the address here. */
declare const process: { readonly env: { readonly GANNET_DOCS?: string } };

type Features = Readonly<Record<string, boolean>>;

function VersionText(): JSX.Element | null {
  const { value } = useGet<Version>('/version');
  return value === undefined ? null : (
    <p>
      Gannet {value.serverVersion}, commit {value.commitSha} of {value.commitDate}. Its API is
      compatible with version {value.pkgVersion}.
    </p>
  );
}

export function ServerView(): JSX.Element {
  const { rights } = useSession();
  return (
    <>
      <section class="panel" aria-label="About">
        <h2>About</h2>
        {rights.has('version') ? <VersionText /> : null}
        <p>
          <a href="openapi.json">OpenAPI description of the API</a>{' '}
          {process.env.GANNET_DOCS && <a href={process.env.GANNET_DOCS}>Documentation</a>}
        </p>
      </section>
      <Backups />
      <FeatureList />
    </>
  );
}

function Backups(): JSX.Element {
  const { client } = useSession();
  const action = useAction();
  const write = (path: string): void => action.run(() => finish(client, 'POST', path));
  return (
    <section class="panel" aria-label="Backups">
      <h2>Backups</h2>
      <p>
        A dump contains documents, settings, tasks and keys in a format that other versions can
        read. A snapshot is a copy of the database for the same version. Both are written to a
        folder on the server.
      </p>
      <p class="buttons">
        <button type="button" disabled={action.running} onClick={() => write('/dumps')}>
          Create a dump
        </button>
        <button type="button" disabled={action.running} onClick={() => write('/snapshots')}>
          Create a snapshot
        </button>
      </p>
      <Outcome action={action} />
    </section>
  );
}

function FeatureList(): JSX.Element {
  const { client } = useSession();
  const action = useAction();
  const features = useGet<Features>('/experimental-features', 0, [action.done]);
  const switchFeature = (name: string, on: boolean): void =>
    action.run(async () => {
      await client.send('PATCH', '/experimental-features', { body: { [name]: on } });
      return `${spaced(name)} is ${on ? 'on' : 'off'}.`;
    });
  return (
    <section class="panel" aria-label="Experimental features">
      <h2>Experimental features</h2>
      <Problem error={features.error} />
      <Outcome action={action} />
      <ul class="grid facet">
        {Object.entries(features.value ?? {}).map(([name, on]) => (
          <li key={name}>
            <label>
              <input
                type="checkbox"
                checked={on}
                aria-describedby={`feature-${name}`}
                onChange={(event) => switchFeature(name, event.currentTarget.checked)}
              />
              <span>{spaced(name)}</span>
            </label>
            <p id={`feature-${name}`}>
              <Coded text={FEATURE_WORDS[name] ?? ''} />
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}
