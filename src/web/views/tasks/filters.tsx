import { description, taskFilterValues } from '../../description.ts';
import { useLoaded } from '../../hooks.ts';
import { Choice } from '../../parts/choice.tsx';
import { TextField } from '../../parts/text-field.tsx';
import { useSession } from '../../session.ts';
import { useIndexUids } from '../index-picker.tsx';
import { useTypeWords } from './type-words.ts';

/** In the address. Empty texts do not filter. */
export interface Filter {
  readonly statuses: string;
  readonly types: string;
  readonly indexUids: string;
  /** A key of {@link PERIODS}. */
  readonly since: string;
}

const HOUR_MS = 3_600_000;

export const PERIODS = {
  hour: ['the last hour', HOUR_MS],
  day: ['the last day', 24 * HOUR_MS],
  week: ['the last week', 7 * 24 * HOUR_MS],
} as const;

/** Before what moment tasks are left out; undefined: never. */
export function beginOf(since: string, now: number): string | undefined {
  const period = Object.hasOwn(PERIODS, since) ? PERIODS[since as keyof typeof PERIODS] : null;
  return period === null ? undefined : new Date(now - period[1]).toISOString();
}

interface Props {
  filter: Filter;
  change(part: Partial<Filter>): void;
}

export function TaskFilters({ filter, change }: Props): JSX.Element {
  const { client } = useSession();
  const uids = useIndexUids();
  const typeWords = useTypeWords();
  const known = useLoaded(() => description(client), [client]);
  const valuesOf = (name: string): readonly string[] =>
    known.value === undefined ? [] : taskFilterValues(known.value, name);
  return (
    <>
      <Choice
        label="Status"
        value={filter.statuses}
        options={[['', 'all'], ...valuesOf('statuses').map((one) => [one, one] as const)]}
        onChoose={(statuses) => change({ statuses })}
      />
      <Choice
        label="Type"
        value={filter.types}
        options={[['', 'all'], ...valuesOf('types').map((one) => [one, typeWords(one)] as const)]}
        onChoose={(value) => change({ types: value })}
      />
      <TextField
        label="Index"
        list="task-indexes"
        value={filter.indexUids}
        onInput={(indexUids) => change({ indexUids })}
      />
      <datalist id="task-indexes">
        {uids.map((uid) => (
          <option key={uid} value={uid} />
        ))}
      </datalist>
      <Choice
        label="Added"
        value={filter.since}
        options={[
          ['', 'at any time'],
          ...Object.entries(PERIODS).map(([name, [words]]) => [name, `in ${words}`] as const),
        ]}
        onChoose={(since) => change({ since })}
      />
    </>
  );
}
