import { useAction } from '../hooks.ts';
import { remedyOf } from '../remedies.ts';
import { useSession } from '../session.ts';
import { changeSetting } from '../tasks.ts';
import { Outcome } from './outcome.tsx';
import { Problem } from './problem.tsx';

interface Props {
  uid: string;
  error: Error | null;
  onMended(): void;
}

/** An error, and a button that removes its cause. */
export function Remedy({ uid, error, onMended }: Props): JSX.Element {
  const { client, rights } = useSession();
  const action = useAction();
  const remedy = error === null ? null : remedyOf(error.message);
  const mend = async (): Promise<string> => {
    const { setting, attribute } = remedy!;
    const outcome = await changeSetting<unknown[]>(client, uid, setting, (before) => [
      ...before,
      attribute,
    ]);
    onMended();
    return outcome;
  };
  return (
    <>
      <Problem error={error} />
      {remedy === null ? null : rights.has('settings') ? (
        <p class="buttons">
          <button type="button" disabled={action.running} onClick={() => action.run(mend)}>
            Make {remedy.attribute} {remedy.quality}
          </button>
        </p>
      ) : (
        <p class="note">
          A key that may change settings can make {remedy.attribute} {remedy.quality}. This one may
          not.
        </p>
      )}
      <Outcome action={action} />
    </>
  );
}
