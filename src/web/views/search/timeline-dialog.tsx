import { useLoaded } from '../../hooks.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Problem } from '../../parts/problem.tsx';
import { stagesFrom, Timeline } from '../../parts/timeline.tsx';
import { plainSearch, type SearchState } from '../../search-request.ts';
import { pathOf } from '../../client.ts';
import { useSession } from '../../session.ts';

interface Props {
  uid: string;
  state: SearchState;
  onClose(): void;
}

interface Timed {
  readonly performanceDetails: Readonly<Record<string, string>>;
}

/** Where the time of this search goes, when it runs once more. */
export function TimelineDialog({ uid, state, onClose }: Props): JSX.Element {
  const { client } = useSession();
  const { value, error } = useLoaded(
    (signal) =>
      client.send<Timed>('POST', pathOf(['indexes', uid, 'search']), {
        body: { ...plainSearch(state), showPerformanceDetails: true },
        signal,
        isTest: true,
      }),
    [client, uid, JSON.stringify(state)],
  );
  return (
    <Dialog title="Where the time goes" onClose={onClose}>
      <Problem error={error} />
      {value === undefined ? null : <Timeline stages={stagesFrom(value.performanceDetails)} />}
    </Dialog>
  );
}
