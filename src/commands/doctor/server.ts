/** Checks of a running server: whether it is healthy, and which indexes have costly settings. */
import type { SettingsObject } from '../../contract/settings.ts';
import { RefusedRequest } from '../../outbound/api-peer.ts';
import { OutboundError } from '../../outbound/outbound-error.ts';
import type { Connection } from '../connection.ts';
import { advice, fault, fine, type Finding } from './finding.ts';

/** Maximum number of indexes whose settings are read. */
const INDEXES_MAX = 200;
const INDEXES_GOOD = 1000;
const FIELDS_GOOD = 100;
const HITS_GOOD = 10_000;
const FACET_VALUES_GOOD = 1000;
const QUEUE_HOURS_GOOD = 1;

type Settings = Pick<
  SettingsObject,
  'searchableAttributes' | 'filterableAttributes' | 'pagination' | 'faceting'
>;

/** @returns null when no server is reached */
export async function checkServer(connection: Connection): Promise<Finding[] | null> {
  let status: unknown;
  try {
    status = (await connection.get<{ status?: unknown }>('/health')).status;
  } catch (error) {
    if (error instanceof OutboundError) return null;
    if (!(error instanceof RefusedRequest)) throw error;
    status = error.body.status ?? error.status;
  }
  const title = `The server at ${connection.address}`;
  if (status !== 'available') {
    return [fault(`${title} is not available: ${String(status)}`, 'See its log.')];
  }
  try {
    return [
      fine(`${title} is available`),
      ...(await checkTasks(connection)),
      ...(await checkIndexes(connection)),
    ];
  } catch (error) {
    if (!(error instanceof RefusedRequest) || (error.status !== 401 && error.status !== 403))
      throw error;
    return [
      fine(`${title} is available`),
      advice('Its indexes and tasks were not checked', 'Give a key with the action *.get (--key).'),
    ];
  }
}

async function checkTasks(connection: Connection): Promise<Finding[]> {
  const page = (query: string): Promise<{ total: number; results: { enqueuedAt: string }[] }> =>
    connection.get(`/tasks?limit=1&${query}`);
  const failed = await page('statuses=failed');
  const [oldest] = (await page('statuses=enqueued,processing&reverse=true')).results;
  const hours = oldest === undefined ? 0 : (Date.now() - Date.parse(oldest.enqueuedAt)) / 3_600_000;
  return [
    failed.total === 0
      ? fine('No task has failed')
      : advice(`${failed.total} tasks have failed`, 'See gannet tasks --status failed.'),
    hours <= QUEUE_HOURS_GOOD
      ? fine('No task waits for long')
      : advice(
          `The oldest unfinished task is ${hours.toFixed(1)} hours old`,
          'See gannet tasks --status processing. Larger and fewer batches are faster.',
        ),
  ];
}

async function checkIndexes(connection: Connection): Promise<Finding[]> {
  const { results, total } = await connection.get<{ results: { uid: string }[]; total: number }>(
    `/indexes?limit=${INDEXES_MAX}`,
  );
  const { indexes } = await connection.get<{
    indexes: Record<string, { fieldDistribution: Record<string, number> }>;
  }>('/stats');
  const findings: Finding[] = [];
  if (total > INDEXES_GOOD) {
    const change = 'Keep tenants in one index and separate them by tenant tokens.';
    findings.push(advice(`There are ${total} indexes`, change));
  }
  for (const { uid } of results) {
    const settings = await connection.get<Settings>(`/indexes/${uid}/settings`);
    const fields = Object.keys(indexes[uid]?.fieldDistribution ?? {}).length;
    findings.push(...judgeSettings(uid, settings, fields));
  }
  if (findings.length === 0) findings.push(fine(`The settings of ${results.length} indexes`));
  return findings;
}

/** @param fields number of fields of the documents */
export function judgeSettings(uid: string, settings: Settings, fields: number): Finding[] {
  const { searchableAttributes, filterableAttributes, pagination, faceting } = settings;
  const all = (list: unknown): boolean => Array.isArray(list) && list.includes('*');
  const findings: Finding[] = [];
  if (all(searchableAttributes) && fields > FIELDS_GOOD) {
    const change = `Name those that people search in searchableAttributes of ${uid}.`;
    findings.push(advice(`${uid}: all ${fields} fields are searched`, change));
  }
  if (all(filterableAttributes) && fields > FIELDS_GOOD) {
    const change = `Name those that filters use in filterableAttributes of ${uid}.`;
    findings.push(advice(`${uid}: all ${fields} fields can be filtered`, change));
  }
  if (pagination.maxTotalHits > HITS_GOOD) {
    const change = `Set pagination.maxTotalHits to at most ${HITS_GOOD}: deep pages are slow.`;
    findings.push(advice(`${uid}: pages reach ${pagination.maxTotalHits} hits`, change));
  }
  if (faceting.maxValuesPerFacet > FACET_VALUES_GOOD) {
    const change = `Set faceting.maxValuesPerFacet to at most ${FACET_VALUES_GOOD}.`;
    findings.push(advice(`${uid}: a facet has ${faceting.maxValuesPerFacet} values`, change));
  }
  return findings;
}
