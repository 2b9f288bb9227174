/** The drafts of an index, and where they are shown. */
import type { Branch } from '../contract/responses.ts';
import { viewHref } from './address.ts';
import { pathOf, unless } from './client.ts';
import { useGet, useLoaded } from './hooks.ts';
import { useChanges } from './notices.ts';
import { useSession, type Right } from './session.ts';

/** What a key needs to make a draft. */
export const MAKES_DRAFTS: readonly Right[] = ['creates', 'reads', 'settings', 'search'];

/** The results of a draft next to those of its origin. */
export function draftHref(origin: string, draft: string, q = ''): string {
  return viewHref('search', origin, { q, compare: JSON.stringify({ right: { index: draft } }) });
}

/** The drafts of an index; none for a key that may not list them. */
export function useDrafts(uid: string): readonly Branch[] {
  const { rights } = useSession();
  const path = rights.has('indexes') ? pathOf(['indexes', uid, 'branches']) : null;
  return useGet<{ results: Branch[] }>(path, 0, [useChanges()]).value?.results ?? [];
}

/** The index that another is a draft of; null: of none. */
export function useOrigin(uid: string): string | null {
  const { client } = useSession();
  const { value } = useLoaded(
    async (signal) => {
      const path = pathOf(['indexes', uid, 'branch', 'diff']);
      const sent = client.send<{ origin: string }>('GET', path, { signal });
      return (await sent.catch(unless('branch_not_found')))?.origin ?? null;
    },
    [client, uid],
  );
  return value ?? null;
}
