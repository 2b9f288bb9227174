/** Keys as the server shows them. */
import { pathOf, type Client } from '../../client.ts';

export interface Key {
  readonly name: string | null;
  readonly description: string | null;
  readonly key: string;
  readonly uid: string;
  readonly actions: readonly string[];
  readonly indexes: readonly string[];
  readonly expiresAt: string | null;
}

const SHOWN_MAX = 1000;

export async function listKeys(client: Client, signal: AbortSignal): Promise<readonly Key[]> {
  const path = pathOf(['keys'], { limit: SHOWN_MAX });
  return (await client.send<{ results: readonly Key[] }>('GET', path, { signal })).results;
}
