import type { JSX } from 'preact';
import { useAction, useLoaded } from '../hooks.ts';
import { Outcome, Problem } from '../parts.tsx';
import { useSession } from '../session.ts';
import { finish } from '../tasks.ts';
import { spaced } from './settings.tsx';

type Features = Readonly<Record<string, boolean>>;

interface Version {
  readonly pkgVersion: string;
  readonly serverVersion: string;
  readonly commitSha: string;
  readonly commitDate: string;
}

function VersionText(): JSX.Element | null {
  const { client } = useSession();
  const { value } = useLoaded(
    (signal) => client.send<Version>('GET', '/version', { signal }),
    [client],
  );
  if (value === undefined) return null;
  const { serverVersion, commitSha, commitDate, pkgVersion } = value;
  return (
    <p>
      Gannet {serverVersion}, commit {commitSha} of {commitDate}. It speaks the interface of version{' '}
      {pkgVersion}.
    </p>
  );
}

export function ServerView(): JSX.Element {
  const { client, rights } = useSession();
  const action = useAction();
  const features = useLoaded(
    (signal) => client.send<Features>('GET', '/experimental-features', { signal }),
    [client, action.done],
  );
  const write = (path: string): void => action.run(() => finish(client, 'POST', path));
  const turn = (name: string, on: boolean): void =>
    action.run(async () => {
      await client.send('PATCH', '/experimental-features', { body: { [name]: on } });
      return `${spaced(name)} is ${on ? 'on' : 'off'}.`;
    });
  return (
    <>
      {rights.has('version') ? <VersionText /> : null}
      <p>
        <a href="openapi.json">The interface as OpenAPI</a>
      </p>
      <h2>Copies</h2>
      <p>
        A dump holds documents, settings, tasks and keys in a form that other versions read. A
        snapshot is a copy of the database for the same version. Both are written into a folder of
        the server.
      </p>
      <p class="buttons">
        <button type="button" disabled={action.running} onClick={() => write('/dumps')}>
          Make a dump
        </button>
        <button type="button" disabled={action.running} onClick={() => write('/snapshots')}>
          Make a snapshot
        </button>
      </p>
      <Outcome action={action} />
      <fieldset class="facet">
        <legend>Experimental features</legend>
        <Problem error={features.error} />
        <ul>
          {Object.entries(features.value ?? {}).map(([name, on]) => (
            <li key={name}>
              <label>
                <input
                  type="checkbox"
                  checked={on}
                  onChange={(event) => turn(name, event.currentTarget.checked)}
                />
                <span>{spaced(name)}</span>
              </label>
            </li>
          ))}
        </ul>
      </fieldset>
    </>
  );
}
