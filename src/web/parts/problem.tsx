import { useContext } from 'preact/hooks';
import { viewHref } from '../address.ts';
import { Fault, pathOf, unless, type Client } from '../client.ts';
import { useAction } from '../hooks.ts';
import { offersFor, type Deed, type Offer } from '../remedies.ts';
import { RIGHTS } from '../rights.ts';
import { SessionContext, storeKey, type Session } from '../session.ts';
import { changeSetting, finish } from '../tasks.ts';
import { Coded } from './coded.tsx';

interface Props {
  error: Error | null;
  /** The index that the error is about; absent: not known. */
  uid?: string | null;
  /** Does again what failed. */
  onMended?: (() => void) | undefined;
}

/** An error, and what removes its cause. */
export function Problem(props: Props): JSX.Element | null {
  const { error } = props;
  return error === null ? null : (
    <>
      <p class="problem" role="alert">
        <Coded text={error.message} />
      </p>
      {error instanceof Fault ? <Remedies {...props} error={error} /> : null}
    </>
  );
}

interface RemediesProps extends Omit<Props, 'error'> {
  error: { readonly code: string; readonly message: string };
}

/** What removes the cause of an error. Nothing before a key is given: its rights are not known. */
export function Remedies({ error, uid = null, onMended }: RemediesProps): JSX.Element | null {
  const session = useContext(SessionContext);
  const offers = offersFor(error, uid).filter(
    ({ deed }) => deed.kind !== 'repeat' || onMended !== undefined,
  );
  return session === null || offers.length === 0 ? null : (
    <Offers {...{ session, offers, onMended }} />
  );
}

/** @returns a message on success */
async function done(client: Client, deed: Deed): Promise<string | null> {
  switch (deed.kind) {
    case 'append':
      return changeSetting<unknown[]>(client, deed.uid, deed.setting, (before) => [
        ...before,
        deed.value,
      ]);
    case 'replace':
      return changeSetting<unknown>(client, deed.uid, deed.setting, () => deed.value);
    case 'primaryKey': {
      const { uid, name: primaryKey } = deed;
      const set = finish(client, 'PATCH', pathOf(['indexes', uid]), { primaryKey });
      return (
        (await set.catch(unless('index_not_found'))) ??
        finish(client, 'POST', '/indexes', { uid, primaryKey })
      );
    }
    case 'index':
      return finish(client, 'POST', '/indexes', { uid: deed.uid });
    case 'feature':
      await client.send('PATCH', '/experimental-features', { body: { [deed.feature]: true } });
      return `${deed.feature} is enabled.`;
    case 'otherKey':
      storeKey(null);
      location.reload();
      return null;
    case 'repeat':
    case 'view':
      return null;
  }
}

interface OffersProps {
  session: Session;
  offers: readonly Offer[];
  onMended: (() => void) | undefined;
}

function Offers({ session, offers, onMended }: OffersProps): JSX.Element {
  const { client, rights } = session;
  const action = useAction();
  const mend = (deed: Deed): void =>
    action.run(async () => {
      const outcome = await done(client, deed);
      onMended?.();
      return outcome;
    });
  const may = ({ needs }: Offer): boolean => needs === null || rights.has(needs);
  const refused = offers.find((offer) => !may(offer));
  return (
    <>
      <p class="buttons">
        {offers.filter(may).map(({ label, deed }) =>
          deed.kind === 'view' ? (
            <a key={label} class="button" href={viewHref(deed.view, deed.argument, deed.query)}>
              {label}
            </a>
          ) : (
            <button key={label} type="button" disabled={action.running} onClick={() => mend(deed)}>
              {label}
            </button>
          ),
        )}
      </p>
      {refused === undefined ? null : (
        <p class="note">
          {refused.label}: this key may not. A key with the action{' '}
          <code>{RIGHTS[refused.needs!]}</code> may.
        </p>
      )}
      <Problem error={action.error} />
    </>
  );
}
