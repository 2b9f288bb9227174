/** All views of the page, in the order of the side bar. */
import type { IconName } from './parts/icon-paths.ts';
import type { Right } from './session.ts';
import { AliasesView } from './views/aliases.tsx';
import { AnalyticsView } from './views/analytics.tsx';
import { ChatView } from './views/chat.tsx';
import { DocumentsView } from './views/documents.tsx';
import { IndexesView } from './views/indexes.tsx';
import { InsightsView } from './views/insights.tsx';
import { JudgementsView } from './views/judgements.tsx';
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

export const GROUPS = ['Search', 'Data', 'Relevance', 'Operations'] as const;

export interface View {
  /** Name of the view in the address. */
  readonly name: string;
  readonly title: string;
  /** What the view is for, in a few words. */
  readonly about: string;
  readonly group: (typeof GROUPS)[number];
  readonly icon: IconName;
  /** Whether telephones show the link without a click on More. */
  readonly isFirst?: boolean;
  /** The view is shown to keys with at least one of these rights. */
  readonly rights: readonly Right[];
  /** @param argument the uid of an index or a chat workspace, from the address */
  show(argument: string | null): JSX.Element;
}

export const VIEWS: readonly View[] = [
  {
    name: 'search',
    title: 'Search',
    about: 'See what a query finds, and why',
    group: 'Search',
    icon: 'search',
    isFirst: true,
    rights: ['search'],
    show: (uid) => <SearchView uid={uid} />,
  },
  {
    name: 'chat',
    title: 'Chat',
    about: 'Answers from your documents',
    group: 'Search',
    icon: 'chat',
    rights: ['chat', 'chats'],
    show: (workspace) => <ChatView workspace={workspace} />,
  },
  {
    name: 'indexes',
    title: 'Indexes',
    about: 'Collections of documents',
    group: 'Data',
    icon: 'indexes',
    rights: ['indexes'],
    show: () => <IndexesView />,
  },
  {
    name: 'documents',
    title: 'Documents',
    about: 'Add, find and edit documents',
    group: 'Data',
    icon: 'documents',
    isFirst: true,
    rights: ['indexes'],
    show: (uid) => <DocumentsView uid={uid} />,
  },
  {
    name: 'aliases',
    title: 'Aliases',
    about: 'Further names of indexes',
    group: 'Data',
    icon: 'link',
    rights: ['aliases'],
    show: () => <AliasesView />,
  },
  {
    name: 'settings',
    title: 'Settings',
    about: 'What is searched, and how results are ranked',
    group: 'Relevance',
    icon: 'settings',
    isFirst: true,
    rights: ['indexes'],
    show: (uid) => <SettingsView uid={uid} />,
  },
  {
    name: 'judgements',
    title: 'Judgements',
    about: 'Grade hits, and compare drafts by them',
    group: 'Relevance',
    icon: 'check',
    rights: ['settings'],
    show: (uid) => <JudgementsView uid={uid} />,
  },
  {
    name: 'rules',
    title: 'Search rules',
    about: 'Documents at fixed positions',
    group: 'Relevance',
    icon: 'rules',
    rights: ['rules'],
    show: () => <RulesView />,
  },
  {
    name: 'analytics',
    title: 'Analytics',
    about: 'What visitors look for',
    group: 'Relevance',
    icon: 'chart',
    rights: ['analytics'],
    show: () => <AnalyticsView />,
  },
  {
    name: 'tasks',
    title: 'Tasks',
    about: 'What the server does and has done',
    group: 'Operations',
    icon: 'tasks',
    isFirst: true,
    rights: ['tasks'],
    show: () => <TasksView />,
  },
  {
    name: 'keys',
    title: 'Keys',
    about: 'Who may do what',
    group: 'Operations',
    icon: 'key',
    rights: ['keys'],
    show: () => <KeysView />,
  },
  {
    name: 'webhooks',
    title: 'Webhooks',
    about: 'Addresses to notify when tasks finish',
    group: 'Operations',
    icon: 'bell',
    rights: ['webhooks'],
    show: () => <WebhooksView />,
  },
  {
    name: 'statistics',
    title: 'Statistics',
    about: 'Documents and disk space',
    group: 'Operations',
    icon: 'gauge',
    rights: ['stats'],
    show: () => <StatisticsView />,
  },
  {
    name: 'insights',
    title: 'Insights',
    about: 'Which searches cost most, and which run',
    group: 'Operations',
    icon: 'rows',
    rights: ['metrics'],
    show: () => <InsightsView />,
  },
  {
    name: 'network',
    title: 'Network',
    about: 'Several servers that act as one',
    group: 'Operations',
    icon: 'network',
    rights: ['network', 'cluster'],
    show: () => <NetworkView />,
  },
  {
    name: 'logs',
    title: 'Logs',
    about: 'The log as it is written',
    group: 'Operations',
    icon: 'logs',
    rights: ['features'],
    show: () => <LogsView />,
  },
  {
    name: 'server',
    title: 'Server',
    about: 'Version, backups and experimental features',
    group: 'Operations',
    icon: 'server',
    rights: ['features'],
    show: () => <ServerView />,
  },
];
