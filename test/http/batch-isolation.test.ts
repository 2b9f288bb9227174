/**
 * A task fails by itself only: a server that gets random tasks at once, and so runs them in
 * batches, ends each as a server that runs each alone.
 */
import assert from 'node:assert/strict';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { EmbeddingProvider } from '../support/embedding-provider.ts';
import { mulberry } from '../support/random.ts';

type Json = any;

interface Request {
  method: string;
  path: string;
  body: Json;
}

const ROUNDS = 6;
const TASKS = 24;

describe('Tasks that run in one batch', function () {
  this.timeout(900_000);

  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 1e6));
  let random: () => number;
  let batched: BuiltServer;
  let alone: BuiltServer;
  let provider: EmbeddingProvider;

  before(async () => {
    console.log(`      batches: SEED=${seed}`);
    random = mulberry(seed);
    provider = await EmbeddingProvider.start();
    provider.always = ({ path, body }) => {
      if (path.startsWith('/down')) return { status: 401 };
      return JSON.stringify(body).includes('refused') ? { status: 400 } : 'ok';
    };
    [batched, alone] = await Promise.all([startBuiltServer(), startBuiltServer()]);
  });
  after(async () => {
    await batched?.close();
    await alone?.close();
    provider?.stop();
  });

  const embedder = (more: Json = {}): Json => provider.embedder('{{ doc.t }}', more);
  const below = (end: number): number => Math.floor(random() * end);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!;

  let unique = 0;
  /**
   * Documents 1 to 5 are never deleted. Those that fail are never sent again, and embedders that
   * fail never removed: what a later task of a batch replaces is not tried.
   */
  function someDocuments(): Json[] {
    const count = 1 + below(3);
    return Array.from({ length: count }, () =>
      random() < 0.5
        ? { id: 1 + below(5), t: `text ${below(9)}`, n: below(9) }
        : { id: 10 + below(10), t: `text ${below(9)}`, until: pick([null, '2999-01-01']) },
    );
  }
  function bad(): Json {
    const id = 1000 + ++unique;
    return pick<Json>([
      { id, n: 1 },
      { id, t: `refused ${id}` },
      { id: 'no id!', t: 'x' },
      { t: 'no id at all' },
      { id, t: 'x', _vectors: { e: [1, 2] } },
    ]);
  }

  function request(uid: string): Request {
    const path = `/indexes/${uid}`;
    const documents = someDocuments();
    switch (below(9)) {
      case 0:
      case 1:
        return { method: 'POST', path: `${path}/documents`, body: documents };
      case 2:
        return {
          method: 'PUT',
          path: `${path}/documents`,
          body: [{ id: 1 + below(5), n: below(9) }],
        };
      case 3:
      case 4:
        documents.splice(below(documents.length + 1), 0, bad());
        return { method: pick(['POST', 'PUT']), path: `${path}/documents`, body: documents };
      case 5:
        return { method: 'DELETE', path: `${path}/documents/${10 + below(12)}`, body: undefined };
      case 6:
        return {
          method: 'POST',
          path: `${path}/documents/delete`,
          body: { filter: pick(['until < now', 'n = 99', 'unknown = 1', `id > 17 AND id < 20`]) },
        };
      case 7:
        return {
          method: 'POST',
          path: `${path}/documents/edit`,
          body: {
            function: pick(['doc.n = 5', 'doc.remove("n")', 'throw "no"']),
            filter: `id = ${1 + below(5)}`,
          },
        };
      default:
        return {
          method: 'PATCH',
          path: `${path}/settings`,
          body: pick<Json>([
            { stopWords: [`word${below(9)}`] },
            { embedders: { [`down-${++unique}`]: embedder({ url: `${provider.url}/down` }) } },
            { embedders: { e: { documentTemplateMaxBytes: 100 + below(2) } } },
          ]),
        };
    }
  }

  const uidOf = async (server: BuiltServer, { method, path, body }: Request): Promise<number> => {
    const { status, json } = await server.call(method, path, { body });
    assert.equal(status, 202, JSON.stringify(json));
    return json.taskUid;
  };
  const ended = async (server: BuiltServer, uid: number): Promise<Json> => {
    for (;;) {
      const { json } = await server.call('GET', `/tasks/${uid}`);
      if (!['enqueued', 'processing'].includes(json.status)) return json;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  /** What a task came to, without uids and times. */
  const outcomeOf = ({ status, details, error }: Json): Json => ({
    status,
    code: error?.code ?? null,
    indexed: details?.indexedDocuments ?? null,
    deleted: details?.deletedDocuments ?? null,
    edited: details?.editedDocuments ?? null,
  });
  const documentsOf = async (server: BuiltServer, uid: string): Promise<Json[]> => {
    const { json } = await server.call('GET', `/indexes/${uid}/documents?limit=1000`);
    return json.results.toSorted((a: Json, b: Json) => a.id - b.id);
  };

  for (const mode of ['batch', 'background']) {
    it(`end as if each ran alone, in the mode \`${mode}\``, async () => {
      let shared = 0;
      for (let round = 0; round < ROUNDS; round++) {
        const uid = `${mode}-${round}`;
        for (const server of [batched, alone]) {
          await server.call('PATCH', '/experimental-features', {
            body: { editDocumentsByFunction: true },
          });
          const settings = {
            filterableAttributes: [
              'id',
              'n',
              { attributePatterns: ['until'], features: { filter: { date: true } } },
            ],
            expiresAtAttribute: 'until',
            embedders: { e: embedder({ mode }) },
          };
          const set = await server.finish('PATCH', `/indexes/${uid}/settings`, { body: settings });
          assert.equal(set.status, 'succeeded', JSON.stringify(set.error));
          const body = [1, 2, 3, 4, 5].map((id) => ({ id, t: `first ${id}` }));
          const added = await server.finish('POST', `/indexes/${uid}/documents`, { body });
          assert.equal(added.status, 'succeeded', JSON.stringify(added.error));
        }
        const requests = Array.from({ length: TASKS }, () => request(uid));
        const uids: number[] = [];
        for (const one of requests) uids.push(await uidOf(batched, one));
        const batches = new Map<number, Json[]>();
        for (const [n, one] of requests.entries()) {
          const task = await ended(batched, uids[n]!);
          const expected = await ended(alone, await uidOf(alone, one));
          assert.deepEqual(
            outcomeOf(task),
            outcomeOf(expected),
            `${uid}, task ${n} of ${JSON.stringify(requests)}: ${JSON.stringify(task)}`,
          );
          batches.set(task.batchUid, [...(batches.get(task.batchUid) ?? []), task]);
        }
        for (const tasks of batches.values()) if (tasks.length > 1) shared++;
        assert.deepEqual(await documentsOf(batched, uid), await documentsOf(alone, uid), uid);
      }
      assert.ok(shared > 0, 'no batch had several tasks');
    });
  }
});
