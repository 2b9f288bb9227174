/** Searches by filter, for tests of what a filter selects. */
import assert from 'node:assert/strict';
import type { BuiltServer } from './built-server.ts';

/** The response to a search of an index by a filter. */
export function searchBy(server: BuiltServer, uid: string, filter: unknown) {
  const body = { filter, attributesToRetrieve: ['id'] };
  return server.call('POST', `/indexes/${uid}/search`, { body });
}

/** The numbers of the documents that a filter selects, in order. */
export async function foundIds(
  server: BuiltServer,
  uid: string,
  filter: unknown,
): Promise<number[]> {
  const { status, json } = await searchBy(server, uid, filter);
  assert.equal(status, 200, JSON.stringify(json));
  return json.hits.map(({ id }: { id: number }) => id).toSorted();
}
