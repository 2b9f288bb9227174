/** The type of tasks that change settings. */
import {
  knownSettings,
  parseSettings,
  type PartialSettings,
  renderPartialSettings,
} from '../settings.ts';
import type { ReadTask } from './dump-form.ts';
import { FLAG, type TaskDraft, taskType } from './task-type.ts';

interface SettingsRequest {
  type: 'settingsUpdate';
  indexUid: string;
  /** Canonical partial settings; null resets one. Secrets in clear. */
  settings: Record<string, unknown>;
  /** See `SettingsChange`. Default: none. */
  stored?: Record<string, unknown>;
  isReset: boolean;
  allowIndexCreation: boolean;
}

interface SettingsRow {
  type: 'settingsUpdate';
  settings: Record<string, unknown>;
  stored?: Record<string, unknown>;
}

export const settingsUpdate = taskType({
  name: 'settingsUpdate',
  words: 'Change settings',
  code: 4,
  batching: { kind: () => 'settings' },
  draft(request: SettingsRequest): TaskDraft<SettingsRow> {
    const { type, settings, stored = {}, indexUid, allowIndexCreation, isReset } = request;
    const flags = allowIndexCreation && !isReset ? FLAG.mayCreateIndex : 0;
    const more = Object.keys(stored).length === 0 ? {} : { stored };
    return { indexUid, flags, row: () => ({ type, settings, ...more }) };
  },
  details: (row: SettingsRow) => renderPartialSettings(row.settings as PartialSettings),
  dump: {
    write: ({ settings }: SettingsRow, { mayCreateIndex }) => ({
      type: {
        settings: { settings, is_deletion: false, allow_index_creation: mayCreateIndex },
      },
      details: { SettingsUpdate: { settings } },
    }),
    read: {
      settings: ({ indexUid, content }): ReadTask<SettingsRequest> => ({
        request: {
          type: 'settingsUpdate',
          indexUid,
          settings: canonicalSettings((content.settings ?? {}) as Record<string, unknown>),
          isReset: content.is_deletion === true,
          allowIndexCreation: content.allow_index_creation === true,
        },
      }),
    },
  },
});

/** The settings that this program knows, in canonical form where possible. */
function canonicalSettings(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const settings = knownSettings(given);
  const parsed = parseSettings(settings);
  return parsed.ok ? parsed.value : settings;
}
