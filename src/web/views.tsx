/** All views of the page, in the order of the navigation bar. */
import type { JSX } from 'preact';
import type { Right } from './session.ts';
import { AnalyticsView } from './views/analytics.tsx';
import { ChatView } from './views/chat.tsx';
import { DocumentsView } from './views/documents.tsx';
import { IndexesView } from './views/indexes.tsx';
import { KeysView } from './views/keys.tsx';
import { LogsView } from './views/logs.tsx';
import { NetworkView } from './views/network.tsx';
import { RulesView } from './views/rules.tsx';
import { SearchView } from './views/search.tsx';
import { ServerView } from './views/server.tsx';
import { SettingsView } from './views/settings.tsx';
import { StatisticsView } from './views/statistics.tsx';
import { TasksView } from './views/tasks.tsx';
import { WebhooksView } from './views/webhooks.tsx';

export interface View {
  /** Name of the view in the address. */
  readonly name: string;
  readonly title: string;
  /** The view is shown to keys with at least one of these rights. */
  readonly rights: readonly Right[];
  /** @param argument the uid of an index or a chat workspace, from the address */
  show(argument: string | null): JSX.Element;
}

export const VIEWS: readonly View[] = [
  { name: 'search', title: 'Search', rights: ['search'], show: (uid) => <SearchView uid={uid} /> },
  { name: 'indexes', title: 'Indexes', rights: ['indexes'], show: () => <IndexesView /> },
  {
    name: 'documents',
    title: 'Documents',
    rights: ['indexes'],
    show: (uid) => <DocumentsView uid={uid} />,
  },
  {
    name: 'settings',
    title: 'Settings',
    rights: ['indexes'],
    show: (uid) => <SettingsView uid={uid} />,
  },
  {
    name: 'chat',
    title: 'Chat',
    rights: ['chat', 'chats'],
    show: (workspace) => <ChatView workspace={workspace} />,
  },
  { name: 'rules', title: 'Search rules', rights: ['rules'], show: () => <RulesView /> },
  { name: 'tasks', title: 'Tasks', rights: ['tasks'], show: () => <TasksView /> },
  { name: 'keys', title: 'Keys', rights: ['keys'], show: () => <KeysView /> },
  { name: 'webhooks', title: 'Webhooks', rights: ['webhooks'], show: () => <WebhooksView /> },
  { name: 'statistics', title: 'Statistics', rights: ['stats'], show: () => <StatisticsView /> },
  { name: 'analytics', title: 'Analytics', rights: ['analytics'], show: () => <AnalyticsView /> },
  { name: 'network', title: 'Network', rights: ['network'], show: () => <NetworkView /> },
  { name: 'logs', title: 'Logs', rights: ['features'], show: () => <LogsView /> },
  { name: 'server', title: 'Server', rights: ['features'], show: () => <ServerView /> },
];
