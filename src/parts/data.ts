/** The data folder. */
import type { GivenOptions, Options } from '../base/options.ts';
import type { Logger } from '../base/logger.ts';
import { type DataFolder, openDataFolder } from '../store/data-folder.ts';
import type { Part } from './part.ts';

export const OPTIONS = {
  'db-path': { kind: 'text', common: true, initial: './data.gannet', help: 'Data folder.' },
  'upgrade-db': { kind: 'flag', help: 'Upgrade a database of an older version.' },
} as const satisfies Options;

export type DataConfig = ReturnType<typeof configure>;

export function configure({ values }: GivenOptions<typeof OPTIONS>) {
  return { dbPath: values['db-path'], upgradeDb: values['upgrade-db'] };
}

export async function open(
  { dbPath, upgradeDb }: DataConfig,
  { version }: { version: string },
): Promise<Part & { folder: DataFolder }> {
  const folder = await openDataFolder(dbPath, { version, upgrade: upgradeDb });
  return { folder, close: () => folder.close() };
}

/** Called when all parts have opened what they read. */
export function markUpgraded(folder: DataFolder, log: Logger): void {
  if (folder.upgradedFrom === null) return;
  folder.markUpgraded();
  log.info(`the data of version ${folder.upgradedFrom} was upgraded`);
}
