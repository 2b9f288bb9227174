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

export function ServerView(): JSX.Element {
  const { client, rights } = useSession();
  const action = useAction();
  const features = useLoaded(
    (signal) => client.send<Features>('GET', '/experimental-features', { signal }),
    [client, action.done],
  );
  const version = useLoaded(
    (signal) =>
      rights.has('version')
        ? client.send<Version>('GET', '/version', { signal })
        : Promise.resolve(undefined),
    [client],
  );
  const write = (path: string): void => action.run(() => finish(client, 'POST', path));
  return (
    <>
      {version.value === undefined ? null : (
        <p>
          Gannet {version.value.serverVersion}, commit {version.value.commitSha} of{' '}
          {version.value.commitDate}. It speaks the interface of version {version.value.pkgVersion}.
        </p>
      )}
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
                  onChange={(event) => {
                    const wanted = event.currentTarget.checked;
                    action.run(async () => {
                      const body = { [name]: wanted };
                      await client.send('PATCH', '/experimental-features', { body });
                      return `${spaced(name)} is ${wanted ? 'on' : 'off'}.`;
                    });
                  }}
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
