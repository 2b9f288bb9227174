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

/** What `ingest.js` writes titles and descriptions with, each with a number behind it. */
export const WORDS =
  'fast small quiet blue round heavy simple old bright soft cold clear open deep wide'.split(' ');

/** Words, two words, beginnings, typing errors, a phrase; of what `ingest.js` has written. */
const FEW_QUERIES = [
  'fast12',
  'quiet7 blue',
  'heav',
  'simple3 old4',
  'brihgt5',
  'soft cold clear',
  'wid',
  'dep22',
  '"round1 heavy2"',
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
 * Changes settings of the index, and waits until it is done. Settings that it has already cost
 * nothing.
 * @param {object} body
 * @param {(seconds: number) => void} sleep
 * @param {string} [index]
 */
export function settle(body, sleep, index = INDEX) {
  const url = `${URL}/indexes/${index}/settings`;
  const answer = http.patch(url, JSON.stringify(body), JSON_REQUEST);
  const status = ended(Number(answer.json('taskUid')), sleep);
  if (status !== 'succeeded') throw new Error(`the settings: ${status}`);
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

/** Of a measure, in this order. */
const SHOWN = ['count', 'rate', 'p(50)', 'p(95)', 'p(99)', 'max'];

/**
 * The summary that a script ends with: each measure on a line, then each threshold and whether it was kept.
 * @param {{ metrics: Record<string, { type: string, contains: string, values: Record<string, number>, thresholds?: Record<string, { ok: boolean }> }> }} data
 * @param {string[]} names of the measures to show
 * @returns {{ stdout: string }}
 */
export function summary({ metrics }, names) {
  const shown = names.filter((name) => metrics[name] !== undefined);
  const width = Math.max(...shown.map((name) => name.length)) + 2;
  const lines = shown.map((name) => {
    const { contains, values } = metrics[name];
    const unit = contains === 'time' ? ' ms' : '';
    const cells = SHOWN.filter((key) => values[key] !== undefined).map(
      (key) => `${key} ${Number(values[key].toFixed(2))}${unit}`,
    );
    return `  ${name.padEnd(width)}${cells.join('  ')}`;
  });
  const thresholds = Object.keys(metrics).flatMap((name) => {
    const kept = metrics[name].thresholds || {};
    return Object.keys(kept).map(
      (rule) => `  ${kept[rule].ok ? 'kept    ' : 'NOT KEPT'}  ${name} ${rule}`,
    );
  });
  return { stdout: `\n${lines.join('\n')}\n\n${thresholds.join('\n')}\n\n` };
}

/**
 * What a variable says; without it `initial`.
 * @param {string} name
 * @param {number} initial
 */
export function number(name, initial) {
  return Number(__ENV[name] || initial);
}
