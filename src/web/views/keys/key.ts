/** Keys as the server shows them. */
import type { KeyView } from '../../../contract/responses.ts';
import { pathOf, type Client } from '../../client.ts';

export type Key = KeyView;

export function nameOfKey({ name, uid }: Key): string {
  return name ?? uid;
}

const SHOWN_MAX = 1000;

export async function listKeys(client: Client, signal: AbortSignal): Promise<readonly Key[]> {
  const path = pathOf(['keys'], { limit: SHOWN_MAX });
  return (await client.send<{ results: readonly Key[] }>('GET', path, { signal })).results;
}
