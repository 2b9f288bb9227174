// What the scripts share. Variables: URL, KEY, INDEX, QUERIES (a file with one query a line).
import http from 'k6/http';

export const URL = __ENV.URL || 'http://127.0.0.1:7700';
export const INDEX = __ENV.INDEX || 'bench';

const KEY = __ENV.KEY || '';

/** @type {{ headers: Record<string, string> }} */
export const JSON_REQUEST = {
  headers: {
    'Content-Type': 'application/json',
    ...(KEY === '' ? {} : { Authorization: `Bearer ${KEY}` }),
  },
};

/** @type {string[]} */
const FEW_QUERIES = [
  'file',
  'library',
  'python',
  'game',
  'data base',
  'sysem',
  'edit',
  'image vie',
  '"command line"',
];

/** @type {string[]} read once, while k6 starts */
export const QUERIES = __ENV.QUERIES
  ? open(__ENV.QUERIES)
      .split('\n')
      .filter((line) => line !== '')
  : FEW_QUERIES;

/**
 * @template T
 * @param {T[]} list
 * @returns {T}
 */
export function pick(list) {
  return list[Math.floor(Math.random() * list.length)];
}

/**
 * @param {Record<string, unknown>} body parameters of the search
 * @param {Record<string, string>} [tags]
 */
export function search(body, tags = {}) {
  return http.post(`${URL}/indexes/${INDEX}/search`, JSON.stringify(body), {
    ...JSON_REQUEST,
    tags,
  });
}

/**
 * Waits until a task has ended.
 * @param {number} uid
 * @param {(seconds: number) => void} sleep
 * @returns {string} its status
 */
export function ended(uid, sleep) {
  for (;;) {
    const answer = http.get(`${URL}/tasks/${uid}`, { ...JSON_REQUEST, tags: { name: 'task' } });
    const status = String(answer.json('status'));
    if (status !== 'enqueued' && status !== 'processing') return status;
    sleep(0.01);
  }
}
