import { Fault, type Client } from '../client.ts';
import { useAction } from '../hooks.ts';
import { Outcome } from '../parts/outcome.tsx';
import { useSession } from '../session.ts';

interface Props {
  /** The experimental feature that the view needs. */
  feature: string;
  /** What the feature is for, as a sentence. */
  purpose: string;
  onSwitchedOn(): void;
}

/**
 * Shown instead of a view, or of a part of one, whose feature is off: explains the feature and
 * offers to enable it.
 */
export function SwitchedOff({ feature, purpose, onSwitchedOn }: Props): JSX.Element {
  const { client, rights } = useSession();
  const action = useAction();
  return (
    <section class="panel" aria-label="Feature disabled">
      <p>{purpose}</p>
      <p>
        This needs the experimental feature <code>{feature}</code>, which is off.
        {rights.has('features')
          ? ''
          : ' A key with the action experimental.update is needed to enable it.'}
      </p>
      {rights.has('features') ? (
        <button
          type="button"
          disabled={action.running}
          onClick={() =>
            action.run(async () => {
              await switchOn(client, feature);
              onSwitchedOn();
              return null;
            })
          }
        >
          Enable it
        </button>
      ) : null}
      <Outcome action={action} />
    </section>
  );
}

export function switchOn(client: Client, feature: string): Promise<unknown> {
  return client.send('PATCH', '/experimental-features', { body: { [feature]: true } });
}

/** @param error of the first request of the view */
export function isOff(error: Error | null): boolean {
  return error instanceof Fault && error.code === 'feature_not_enabled';
}
