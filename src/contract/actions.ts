/** The actions that an API key may allow. */

/** Every accepted name, in the order in which a message lists them. */
export const ACTIONS = [
  '*',
  'search',
  'documents.*',
  'documents.add',
  'documents.get',
  'documents.delete',
  'indexes.*',
  'indexes.create',
  'indexes.get',
  'indexes.update',
  'indexes.delete',
  'indexes.swap',
  'tasks.*',
  'tasks.cancel',
  'tasks.delete',
  'tasks.get',
  'settings.*',
  'settings.get',
  'settings.update',
  'stats.*',
  'stats.get',
  'metrics.*',
  'metrics.get',
  'dumps.*',
  'dumps.create',
  'dumps.get',
  'snapshots.*',
  'snapshots.create',
  'version',
  'keys.create',
  'keys.get',
  'keys.update',
  'keys.delete',
  'experimental.get',
  'experimental.update',
  'export',
  'network.get',
  'network.update',
  'chatCompletions',
  'chats.*',
  'chats.get',
  'chats.delete',
  'chatsSettings.*',
  'chatsSettings.get',
  'chatsSettings.update',
  '*.get',
  'webhooks.get',
  'webhooks.update',
  'webhooks.delete',
  'webhooks.create',
  'webhooks.*',
  'indexes.compact',
  'fields.post',
  'tasks.compact',
  'dynamicSearchRules.get',
  'dynamicSearchRules.create',
  'dynamicSearchRules.update',
  'dynamicSearchRules.delete',
  'dynamicSearchRules.*',
  'analytics.get',
  'cluster.get',
  'aliases.*',
  'aliases.get',
  'aliases.update',
  'aliases.delete',
  'metrics.update',
] as const;
export type Action = (typeof ACTIONS)[number];

export function isAction(name: string): name is Action {
  return (ACTIONS as readonly string[]).includes(name);
}

/** The actions that `*.get` includes: neither `keys.get`, `dumps.get` nor `chatCompletions`. */
const READ_ACTIONS: readonly Action[] = [
  'search',
  'documents.get',
  'export',
  'indexes.get',
  'tasks.get',
  'settings.get',
  'stats.get',
  'metrics.get',
  'version',
  'experimental.get',
  'network.get',
  'chats.get',
  'chatsSettings.get',
  'webhooks.get',
  'fields.post',
  'dynamicSearchRules.get',
  'analytics.get',
  'cluster.get',
  'aliases.get',
];

/**
 * Actions of requests that any node of a cluster answers: nothing is stored by them that the nodes
 * share.
 */
const ANSWERED_ANYWHERE = new Set<Action>([
  ...READ_ACTIONS.filter((action) => action !== 'export'),
  'keys.get',
  'chatCompletions',
  // Each node has its own.
  'dumps.get',
  'metrics.update',
]);

/** Whether a request with this action changes what the nodes of a cluster share. */
export function isWrite(action: Action): boolean {
  return !ANSWERED_ANYWHERE.has(action);
}

/** Whether the audit log has the requests with this action: all changes but added documents. */
export function isAudited(action: Action): boolean {
  return isWrite(action) && action !== 'documents.add';
}

const GLOBAL_PREFIXES = [
  'metrics.',
  'cluster.',
  'dumps.',
  'snapshots.',
  'keys.',
  'experimental.',
  'network.',
  'chats.',
  'chatsSettings.',
  'webhooks.',
  'dynamicSearchRules.',
];

/** Actions on the instance as a whole; the indexes of a key do not matter for them. */
export function isGlobalAction(action: Action): boolean {
  return (
    action === 'version' ||
    action === 'export' ||
    action === 'tasks.compact' ||
    GLOBAL_PREFIXES.some((prefix) => action.startsWith(prefix))
  );
}

/** The actions that `name` grants, including itself. */
export function expandAction(name: string): readonly Action[] {
  if (name === '*') return ACTIONS;
  if (name === '*.get') return ['*.get', ...READ_ACTIONS];
  if (name.endsWith('.*')) {
    const prefix = name.slice(0, -1);
    return ACTIONS.filter((action) => action.startsWith(prefix));
  }
  return ACTIONS.filter((action) => action === name);
}
