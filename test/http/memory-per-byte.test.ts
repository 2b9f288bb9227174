/**
 * How much memory the server uses per received byte, after decompression: the figures of
 * docs/limits.md. The worst shapes known for each parser, each sent to a fresh server that is
 * watched until the task has ended.
 */
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { startBuiltServer } from '../support/built-server.ts';
import { canMeasurePeaks, memoryOf, resetPeak } from '../support/peak-memory.ts';

/** Bytes of memory per byte, per JSON value that is not a document, and for any body. */
const FACTOR = 32;
const VALUE_BYTES = 512;
const FIXED_BYTES = 64_000_000;

function bytesMax(request: string, body: Buffer): number {
  const bytes = FACTOR * body.length + FIXED_BYTES;
  if (request === DOCUMENTS) return bytes;
  const values = body.toString().match(/[[{,]/g)?.length ?? 0;
  return bytes + values * VALUE_BYTES;
}

const BODY_BYTES = 12 * 2 ** 20;
const SEARCH_BYTES = 9 * 2 ** 20;
const SETTINGS_BYTES = 3 * 2 ** 20;

/** `begin`, as many units as fit, `end`. */
function filled(begin: string, unit: string, end: string, size = BODY_BYTES): Buffer {
  const count = Math.floor((size - begin.length - end.length) / unit.length);
  return Buffer.concat([
    Buffer.from(begin),
    Buffer.alloc(count * unit.length, unit),
    Buffer.from(end),
  ]);
}

/** The same with units that differ. */
function listed(
  begin: string,
  unit: (n: number) => string,
  end: string,
  size = BODY_BYTES,
): Buffer {
  const units: string[] = [];
  for (let n = 0, bytes = begin.length + end.length; ; n++) {
    const text = unit(n);
    bytes += text.length;
    if (bytes > size) return Buffer.from(begin + units.join('') + end);
    units.push(text);
  }
}

const [JSON_TYPE, LINES, CSV] = ['application/json', 'application/x-ndjson', 'text/csv'];
const DOCUMENTS = 'POST /indexes/i/documents?primaryKey=id';

type Case = [name: string, request: string, type: string, body: () => Buffer, status: number];

const CASES: readonly Case[] = [
  ['an array of numbers', DOCUMENTS, JSON_TYPE, () => filled('{"id":1,"a":[', '0,', '0]}'), 202],
  ['an array of objects', DOCUMENTS, JSON_TYPE, () => filled('{"id":1,"a":[', '{},', '0]}'), 202],
  ['one member again and again', DOCUMENTS, JSON_TYPE, () => filled('{"id":1', ',"a":0', '}'), 202],
  [
    'a million attributes',
    ...([DOCUMENTS, JSON_TYPE] as const),
    () => listed('{"id":1', (n) => `,"${n.toString(36)}":0`, '}'),
    202,
  ],
  [
    'words',
    ...([DOCUMENTS, JSON_TYPE] as const),
    () => listed('{"id":1,"a":"', (n) => `${n.toString(36)} `, '"}'),
    202,
  ],
  ['a long name', DOCUMENTS, JSON_TYPE, () => filled('{"id":1,"', '\\u0001', '":0}'), 202],
  ['nested arrays', DOCUMENTS, JSON_TYPE, () => filled('', '[', ''), 400],
  ['nested objects', DOCUMENTS, JSON_TYPE, () => filled('', '{"a":', ''), 400],
  ['a long number', DOCUMENTS, JSON_TYPE, () => filled('{"id":1,"a":', '1', '}'), 400],
  ['quotation marks', DOCUMENTS, JSON_TYPE, () => filled('', '"', ''), 400],
  [
    'short documents',
    ...([DOCUMENTS, LINES] as const),
    () => listed('', (n) => `{"id":${n}}\n`, ''),
    202,
  ],
  ['empty documents', DOCUMENTS, LINES, () => filled('', '{}\n', ''), 202],
  [
    'fields of their own',
    ...([DOCUMENTS, LINES] as const),
    () => listed('', (n) => `{"id":${n},"${(n % 60_000).toString(36)}":0}\n`, ''),
    202,
  ],
  ['short records', DOCUMENTS, CSV, () => listed('id\n', (n) => `${n}\n`, ''), 202],
  ['one record again and again', DOCUMENTS, CSV, () => filled('id\n', '1\n', ''), 202],
  ['commas', DOCUMENTS, CSV, () => filled('', ',', ''), 400],
  ['empty cells in quotes', DOCUMENTS, CSV, () => filled('', '"",', ''), 400],
  ['a record of commas', DOCUMENTS, CSV, () => filled('id,a\n', ',', '\n'), 400],
  ['one name of a column', DOCUMENTS, CSV, () => filled('', 'a', ''), 400],
  ['columns of one name', DOCUMENTS, CSV, () => filled('', 'a,', ''), 400],
  ['one quote', DOCUMENTS, CSV, () => filled('id,a\n1,"', '""', '"\n'), 202],
  ['a cell to be escaped', DOCUMENTS, CSV, () => filled('id,a\n1,"', '\u0001', '"\n'), 202],
  [
    'records that become long lines',
    ...([DOCUMENTS, CSV] as const),
    () => listed(`id,${'x'.repeat(120)}\n`, (n) => `${n % 10},\n`, ''),
    202,
  ],
  [
    'ids to delete',
    ...(['POST /indexes/i/documents/delete-batch', JSON_TYPE] as const),
    () => listed('["a"', (n) => `,${n}`, ']'),
    202,
  ],
  [
    'one short id again and again',
    ...(['POST /indexes/i/documents/delete-batch', JSON_TYPE] as const),
    () => filled('["a"', ',"a"', ']', 7_900_000),
    202,
  ],
  [
    'objects for ids',
    ...(['POST /indexes/i/documents/delete-batch', JSON_TYPE] as const),
    () => filled('[', '{},', '{}]'),
    400,
  ],
  [
    'a filter of short texts',
    ...(['POST /indexes/i/search', JSON_TYPE] as const),
    () => listed('{"filter":["a=1"', (n) => `,"${n}"`, ']}', SEARCH_BYTES),
    400,
  ],
  [
    'empty queries',
    ...(['POST /multi-search', JSON_TYPE] as const),
    () => filled('{"queries":[', '{},', '{}]}', SEARCH_BYTES),
    400,
  ],
  [
    'synonyms',
    ...(['PATCH /indexes/i/settings', JSON_TYPE] as const),
    () => listed('{"synonyms":{"a":[]', (n) => `,"${n}":["b"]`, '}}', SETTINGS_BYTES),
    202,
  ],
];

describe('memory per byte of a body', function () {
  this.timeout(120_000);
  before(function () {
    if (!canMeasurePeaks()) this.skip();
  });

  for (const [name, request, type, make, status] of CASES) {
    it(`is bounded for ${type.split('/')[1]}: ${name}`, async () => {
      const server = await startBuiltServer();
      try {
        await server.finish('POST', '/indexes', { body: { uid: 'i', primaryKey: 'id' } });
        const body = make();
        const [method, path] = request.split(' ') as [string, string];
        const { now } = memoryOf(server.pid);
        resetPeak(server.pid);
        const response = await fetch(server.url + path, {
          method,
          headers: {
            ...{ 'content-type': type, 'content-encoding': 'gzip' },
            authorization: `Bearer ${server.masterKey}`,
          },
          body: gzipSync(body, { level: 1 }),
        });
        const json = (await response.json()) as { taskUid: number; message?: string };
        assert.equal(response.status, status, json.message);
        if (status === 202) await server.ended(json.taskUid);
        const taken = memoryOf(server.pid).peak - now;
        if (process.env['GANNET_SHOW_MEMORY'] !== undefined) {
          console.log(`${(taken / body.length).toFixed(1)} bytes a byte`);
        }
        assert.ok(
          taken <= bytesMax(request, body),
          `${taken} bytes for a body of ${body.length}: ${(taken / body.length).toFixed(1)} a byte`,
        );
      } finally {
        await server.close();
      }
    });
  }
});
