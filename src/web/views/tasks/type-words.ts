import { description, taskTypeWords } from '../../description.ts';
import { useLoaded } from '../../hooks.ts';
import { useSession } from '../../session.ts';

/** Says what tasks of a type do: `documentDeletion` becomes `Delete documents`. */
export function useTypeWords(): (type: string) => string {
  const { client } = useSession();
  const known = useLoaded(() => description(client), [client]).value;
  const words = known === undefined ? {} : taskTypeWords(known);
  return (type) => words[type] ?? type;
}
