/** Every view of the page, in the order in which they are named at its top. */
import type { JSX } from 'preact';
import type { Right } from './session.ts';
import { AnalyticsView } from './views/analytics.tsx';
import { DocumentsView } from './views/documents.tsx';
import { IndexesView } from './views/indexes.tsx';
import { KeysView } from './views/keys.tsx';
import { LogsView } from './views/logs.tsx';
import { SearchView } from './views/search.tsx';
import { ServerView } from './views/server.tsx';
import { SettingsView } from './views/settings.tsx';
import { StatisticsView } from './views/statistics.tsx';
import { TasksView } from './views/tasks.tsx';
import { WebhooksView } from './views/webhooks.tsx';

export interface View {
  /** In the address. */
  readonly name: string;
  readonly title: string;
  /** null: every key may see it. */
  readonly right: Right | null;
  /** @param argument what the address names: the uid of an index */
  show(argument: string | null): JSX.Element;
}

export const VIEWS: readonly View[] = [
  { name: 'search', title: 'Search', right: null, show: (uid) => <SearchView uid={uid} /> },
  { name: 'indexes', title: 'Indexes', right: 'indexes', show: () => <IndexesView /> },
  {
    name: 'documents',
    title: 'Documents',
    right: 'indexes',
    show: (uid) => <DocumentsView uid={uid} />,
  },
  {
    name: 'settings',
    title: 'Settings',
    right: 'indexes',
    show: (uid) => <SettingsView uid={uid} />,
  },
  { name: 'tasks', title: 'Tasks', right: 'tasks', show: () => <TasksView /> },
  { name: 'keys', title: 'Keys', right: 'keys', show: () => <KeysView /> },
  { name: 'webhooks', title: 'Webhooks', right: 'webhooks', show: () => <WebhooksView /> },
  { name: 'statistics', title: 'Statistics', right: 'stats', show: () => <StatisticsView /> },
  { name: 'analytics', title: 'Analytics', right: 'analytics', show: () => <AnalyticsView /> },
  { name: 'logs', title: 'Logs', right: 'features', show: () => <LogsView /> },
  { name: 'server', title: 'Server', right: 'features', show: () => <ServerView /> },
];
