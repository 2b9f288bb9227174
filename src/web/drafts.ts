/** Drafts: branches of an index, which try settings next to the live ones. */
import type { Branch } from '../contract/responses.ts';
import { Fault, pathOf, type Client } from './client.ts';
import { draftName, type Values } from './settings-draft.ts';
import type { Task, TaskPage } from './task.ts';
import { finish } from './tasks.ts';

/** Names that are tried where others, which the key may not see, are taken. */
const NAMES_MAX = 20;

/**
 * Makes a draft with some settings, which has what is written to its origin from now on.
 * @param known uids of other indexes
 * @returns its uid
 */
export async function makeDraft(
  client: Client,
  { origin, known, settings }: { origin: string; known: readonly string[]; settings: Values },
): Promise<string> {
  const taken = new Set(known);
  for (;;) {
    const uid = draftName(origin, taken);
    taken.add(uid);
    try {
      await finish(client, 'POST', pathOf(['indexes', origin, 'branch']), { uid, follow: true });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      if (error.code === 'index_already_exists' && taken.size < known.length + NAMES_MAX) continue;
      if (error.status !== 403) throw error;
      throw new Error(`A draft is an index, and this key may not make the index \`${uid}\`.`);
    }
    const discard = (): Promise<string> => finish(client, 'DELETE', pathOf(['indexes', uid]));
    await finish(client, 'PATCH', pathOf(['indexes', uid, 'settings']), settings).catch(
      async (error: unknown) => {
        // It would be a copy without a difference.
        await discard().catch(() => {});
        throw error;
      },
    );
    return uid;
  }
}

/** What was changed in the origin after a draft was made or last applied. */
export interface Meanwhile {
  /** Names of settings. */
  readonly settings: readonly string[];
  /** Writes of documents that the draft does not have. */
  readonly writes: number;
}

const WRITES = 'documentAdditionOrUpdate,documentDeletion,documentEdition';

export async function changedMeanwhile(
  client: Client,
  { uid, follow, createdAt }: Branch,
  origin: string,
  signal: AbortSignal,
): Promise<Meanwhile> {
  const ask = (query: Record<string, string | number>): Promise<TaskPage<Task>> =>
    client.send('GET', pathOf(['tasks'], { statuses: 'succeeded', ...query }), { signal });
  const swaps = await ask({ indexUids: `${origin},${uid}`, types: 'indexSwap', limit: 1 });
  // The tasks before belong to what the other index has now.
  const after = swaps.results[0]?.finishedAt ?? createdAt;
  const of = (types: string): Promise<TaskPage<Task>> =>
    ask({ indexUids: origin, types, afterFinishedAt: after });
  const settings = await of('settingsUpdate');
  const names = settings.results.flatMap(({ details }) => Object.keys(details ?? {}));
  return {
    settings: [...new Set(names)],
    writes: follow ? 0 : (await of(WRITES)).total,
  };
}
