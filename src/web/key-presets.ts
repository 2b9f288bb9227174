/** Kinds of keys by what they are for, so that nobody has to know all actions. Pure functions. */
import type { IconName } from './parts/icon-paths.ts';

export interface Preset {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly icon: IconName;
  readonly actions: readonly string[];
  /** Whether the actions concern single indexes only, so that the key can be limited to them. */
  readonly ofIndexes: boolean;
  /** Where the key belongs, as a sentence. */
  readonly caution: string;
}

export const PRESETS: readonly Preset[] = [
  {
    name: 'search',
    title: 'Search in a browser',
    about: 'Only searches',
    icon: 'search',
    actions: ['search'],
    ofIndexes: true,
    caution: 'Visitors can read this key. Limit it to the indexes that everybody may see.',
  },
  {
    name: 'indexing',
    title: 'Indexing',
    about: 'Adds and deletes documents, changes settings',
    icon: 'upload',
    actions: ['documents.*', 'indexes.create', 'indexes.get', 'settings.*', 'tasks.get'],
    ofIndexes: true,
    caution: 'For a program on your own servers. It can delete documents.',
  },
  {
    name: 'monitoring',
    title: 'Monitoring',
    about: 'Reads metrics, statistics and tasks',
    icon: 'gauge',
    actions: ['metrics.get', 'stats.get', 'tasks.get', 'version'],
    ofIndexes: false,
    caution: 'For Prometheus and dashboards. It reads no documents.',
  },
  {
    name: 'reader',
    title: 'Read-only administration',
    about: 'Reads everything except keys and dumps',
    icon: 'server',
    actions: ['*.get'],
    ofIndexes: false,
    caution: 'It reads all documents and settings. Keep it out of browsers.',
  },
];

/** The actions of a key in words; the names of the actions if no preset has these. */
export function purposeOf(actions: readonly string[]): string {
  if (actions.includes('*')) return 'Everything';
  const sorted = [...actions].sort().join();
  return PRESETS.find((one) => [...one.actions].sort().join() === sorted)?.title ?? 'Custom';
}
