/**
 * What the contract declares as a default is what the engine and the routes assume. Another value
 * changes the response, so a parameter that nothing reads fails too.
 */
import assert from 'node:assert/strict';
import { SEARCH } from '../../src/contract/search.ts';
import type { Schema } from '../../src/contract/schema.ts';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';

type Body = Record<string, unknown>;

/** A search in which the parameter matters, where the plain one does not show it. */
const PLAIN: Body = { q: 'words', showRankingScore: true };
const FORMATTED: Body = { ...PLAIN, attributesToHighlight: ['text'], attributesToCrop: ['text'] };
const HYBRID: Body = {
  q: 'words that nothing has',
  showRankingScore: true,
  vector: [1, 0],
  hybrid: { embedder: 'given' },
};
const CUT: Body = { ...HYBRID, hybrid: { embedder: 'cut' } };
const GROUPED: Body = { ...PLAIN, groupBy: { attribute: 'kind' } };
const BASES: Record<string, Body> = {
  q: { showRankingScore: true },
  showRankingScore: { q: 'words' },
  cropLength: FORMATTED,
  cropMarker: FORMATTED,
  highlightPreTag: FORMATTED,
  highlightPostTag: FORMATTED,
  hybrid: HYBRID,
  showPassages: CUT,
  groupBy: GROUPED,
};

/** Their responses depend on the time. */
const VOLATILE = ['showPerformanceDetails'];

interface Case {
  path: readonly string[];
  base: Body;
  initial: unknown;
  other: unknown;
}

function otherThan({ default: initial, enum: names, maximum }: Schema): unknown {
  if (typeof initial === 'boolean') return !initial;
  if (typeof initial === 'string') return names?.find((name) => name !== initial) ?? 'other';
  const value = initial as number;
  return maximum === 1 ? value / 10 : value + 1;
}

function casesOf(properties: Readonly<Record<string, Schema>>, inside: readonly string[]): Case[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const path = [...inside, name];
    const base = BASES[path[0]!] ?? PLAIN;
    if (schema.properties !== undefined && BASES[name] !== undefined) {
      return casesOf(schema.properties, path);
    }
    if (schema.default === undefined || schema.default === null) return [];
    if (VOLATILE.includes(name)) return [];
    return [{ path, base, initial: schema.default, other: otherThan(schema) }];
  });
}

function having(base: Body, [name, ...rest]: readonly string[], value: unknown): Body {
  const inner = rest.length === 0 ? value : having((base[name!] ?? {}) as Body, rest, value);
  return { ...base, [name!]: inner };
}

describe('Declared defaults of a search', () => {
  let server: BuiltServer;
  before(async () => {
    server = await startBuiltServer();
    await server.finish('PATCH', '/indexes/many/settings', {
      body: {
        filterableAttributes: ['kind'],
        embedders: {
          given: { source: 'userProvided', dimensions: 2 },
          // It is never asked, since documents and queries have vectors.
          cut: {
            ...{ source: 'ollama', url: 'http://127.0.0.1:1/api/embed', model: 'none' },
            ...{ dimensions: 2, chunks: { attribute: 'text' } },
          },
        },
      },
    });
    const filler = Array.from({ length: 30 }, (_, n) => `filler${n}`).join(' ');
    await server.finish('POST', '/indexes/many/documents', {
      body: Array.from({ length: 150 }, (_, id) => ({
        id,
        text: `${id % 3 === 0 ? 'words' : 'word'} ${filler}`,
        kind: id % 30,
        _vectors: { given: [Math.cos(id), Math.sin(id)], cut: [Math.cos(id), Math.sin(id)] },
      })),
    });
  });
  after(() => server.close());

  async function search(body: Body): Promise<unknown> {
    const { status, json } = await server.call('POST', '/indexes/many/search', { body });
    assert.equal(status, 200, JSON.stringify(json));
    const { processingTimeMs: _, requestUid: _uid, ...rest } = json;
    return rest;
  }

  const cases = casesOf(SEARCH.properties as Record<string, Schema>, []);

  it('are found', () => {
    const names = cases.map(({ path }) => path.join('.'));
    for (const name of ['limit', 'cropLength', 'hybrid.semanticRatio', 'groupBy.hits']) {
      assert(names.includes(name), names.join());
    }
  });

  for (const { path, base, initial, other } of cases) {
    it(`are the same as sent: ${path.join('.')} is ${JSON.stringify(initial)}`, async () => {
      const absent = await search(base);
      assert.deepEqual(await search(having(base, path, initial)), absent);
      assert.notDeepEqual(await search(having(base, path, other)), absent);
    });
  }
});

describe('Declared defaults of lists', () => {
  let server: BuiltServer;
  before(async () => {
    server = await startBuiltServer();
  });
  after(() => server.close());

  it('are those that responses show', async () => {
    const { json: description } = await server.call('GET', '/openapi.json');
    let lists = 0;
    for (const [path, { get }] of Object.entries<any>(description.paths)) {
      const limit = get?.parameters.find(({ name }: { name: string }) => name === 'limit');
      if (limit === undefined || path.includes('{')) continue;
      const { status, json } = await server.call('GET', path);
      if (status !== 200 || json.limit === undefined) continue;
      assert.equal(json.limit, limit.schema.default, path);
      lists++;
    }
    assert(lists >= 4, `only ${lists} lists have been checked`);
  });
});
