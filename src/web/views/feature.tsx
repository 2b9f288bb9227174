import type { JSX } from 'preact';
import { Fault } from '../client.ts';
import { useAction } from '../hooks.ts';
import { Outcome, Problem } from '../parts.tsx';
import { useSession } from '../session.ts';

interface Props {
  /** Of the first request of the view. */
  error: Error | null;
  /** The experimental feature that the view needs. */
  feature: string;
  /** What the feature is for, as a sentence. */
  purpose: string;
  onSwitchedOn(): void;
}

/** What is wrong with a view that needs a feature: when that is off, with an offer to switch it on. */
export function FeatureProblem({
  error,
  feature,
  purpose,
  onSwitchedOn,
}: Props): JSX.Element | null {
  const { client, rights } = useSession();
  const action = useAction();
  if (!isOff(error)) return <Problem error={error} />;
  return (
    <section class="panel" aria-label="Switched off">
      <p>{purpose}</p>
      <p>
        It needs the experimental feature <code>{feature}</code>, which is off.
        {rights.has('features')
          ? ''
          : ' Whoever has a key with the action experimental.update can switch it on.'}
      </p>
      {rights.has('features') ? (
        <button
          type="button"
          disabled={action.running}
          onClick={() =>
            action.run(async () => {
              await client.send('PATCH', '/experimental-features', { body: { [feature]: true } });
              onSwitchedOn();
              return null;
            })
          }
        >
          Switch it on
        </button>
      ) : null}
      <Outcome action={action} />
    </section>
  );
}

export function isOff(error: Error | null): boolean {
  return error instanceof Fault && error.code === 'feature_not_enabled';
}
