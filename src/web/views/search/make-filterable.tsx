import { useState } from 'preact/hooks';
import { pathOf } from '../../client.ts';
import { useAction } from '../../hooks.ts';
import { CheckList } from '../../parts/check-list.tsx';
import { Outcome } from '../../parts/outcome.tsx';
import { useSession } from '../../session.ts';
import { useIndexes } from '../../shell/indexes-context.tsx';
import { finish } from '../../tasks.ts';

/** Fields that are offered; the settings have all of them. */
const FIELDS_MAX = 30;

interface Props {
  uid: string;
  onDone(): void;
}

/** What is shown instead of facets where no attribute is filterable. */
export function MakeFilterable({ uid, onDone }: Props): JSX.Element {
  const { client, rights } = useSession();
  const { stats } = useIndexes();
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const action = useAction();
  const fields = Object.keys(stats?.indexes[uid]?.fieldDistribution ?? {}).slice(0, FIELDS_MAX);
  const save = (): void =>
    action.run(async () => {
      const path = pathOf(['indexes', uid, 'settings', 'filterable-attributes']);
      const outcome = await finish(client, 'PUT', path, chosen);
      onDone();
      return outcome;
    });
  if (!rights.has('settings') || fields.length === 0) {
    return <p class="note">No attribute of this index is filterable.</p>;
  }
  return (
    <fieldset>
      <legend>Filters</legend>
      <p class="note">
        No attribute is filterable yet. Choose those by which results can be narrowed.
      </p>
      <CheckList
        values={fields}
        chosen={chosen}
        onChoose={setChosen}
        text={(field) => <span>{field}</span>}
      />
      <p class="buttons">
        <button type="button" disabled={chosen.length === 0 || action.running} onClick={save}>
          Make filterable
        </button>
      </p>
      <Outcome action={action} />
    </fieldset>
  );
}
