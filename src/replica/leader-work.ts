import { createDefaultKeys } from '../auth/keys.ts';
import { systemClock } from '../base/clock.ts';
import type { KeyStore } from '../store/key-store.ts';
import type { BackgroundEmbedding } from '../tasks/background-embedding.ts';
import type { Notifier } from '../tasks/notifier.ts';
import type { TaskSystem } from '../tasks/task-system.ts';
import type { LeaderWork } from './server-cluster.ts';

export interface WorkParts {
  readonly system: Pick<TaskSystem, 'taskStore' | 'scheduler'>;
  readonly notifier: Pick<Notifier, 'resume' | 'stop'>;
  readonly keys: KeyStore;
  /** Absent: embeddings are made in batches only. */
  readonly background?: Pick<BackgroundEmbedding, 'begin' | 'end'>;
}

/** What this server does while it leads its cluster. */
export function leaderWork({ system, notifier, keys, background }: WorkParts): LeaderWork {
  const { taskStore, scheduler } = system;
  return {
    begin: async (signal, resign) => {
      scheduler.resign = resign;
      await createDefaultKeys(keys, systemClock);
      if (signal.aborted) return;
      await taskStore.lead();
      if (signal.aborted) return;
      // Interrupts the recovery, which repeats a commit until it succeeds.
      const interrupt = (): void => void scheduler.stop().catch(() => {});
      signal.addEventListener('abort', interrupt, { once: true });
      await scheduler.resume();
      if (signal.aborted) return;
      notifier.resume();
      background?.begin();
    },
    end: async () => {
      const embedded = background?.end();
      await notifier.stop();
      await scheduler.stop();
      await taskStore.stopAll();
      await embedded;
    },
  };
}
