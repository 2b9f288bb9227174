/** The audit log. */
import { AuditLog } from '../audit/audit-log.ts';
import type { Logger } from '../base/logger.ts';
import type { GivenOptions, Options } from '../base/options.ts';
import type { Part } from './part.ts';

export const OPTIONS = {
  'audit-log': {
    kind: 'text',
    ours: true,
    help: 'A file that records who changed what, as JSON lines.',
  },
} as const satisfies Options;

export type AuditConfig = ReturnType<typeof configure>;

export function configure({ values }: GivenOptions<typeof OPTIONS>) {
  return {
    /** null: nothing is recorded. */
    auditLog: values['audit-log'],
  };
}

export async function open(
  { auditLog: path }: AuditConfig,
  logger: Logger,
): Promise<Part & { audit: AuditLog | null }> {
  if (path === null) return { audit: null, close() {} };
  let audit: AuditLog;
  try {
    audit = await AuditLog.open(path, logger);
  } catch (error) {
    throw new Error(`--audit-log: ${(error as Error).message}`, { cause: error });
  }
  return { audit, close: () => audit.close() };
}
