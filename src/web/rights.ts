/** The rights that the page distinguishes, and the action that each needs. */
export const RIGHTS = {
  search: 'search',
  indexes: 'indexes.get',
  aliases: 'aliases.get',
  stats: 'stats.get',
  metrics: 'metrics.get',
  cancels: 'metrics.update',
  creates: 'indexes.create',
  deletes: 'indexes.delete',
  swaps: 'indexes.swap',
  reads: 'documents.get',
  settings: 'settings.update',
  tasks: 'tasks.get',
  keys: 'keys.get',
  webhooks: 'webhooks.get',
  analytics: 'analytics.get',
  chat: 'chatCompletions',
  chats: 'chats.get',
  network: 'network.get',
  cluster: 'cluster.get',
  rules: 'dynamicSearchRules.get',
  features: 'experimental.get',
  version: 'version',
} as const;

export type Right = keyof typeof RIGHTS;
