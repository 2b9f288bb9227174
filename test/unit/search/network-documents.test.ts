import assert from 'node:assert/strict';
import { setImmediate as yieldToLoop } from 'node:timers/promises';
import { NEVER_CANCELED } from '../../../src/base/cancel-signal.ts';
import { MalformedJson } from '../../../src/base/json-scanner.ts';
import type { FetchRequest } from '../../../src/contract/documents.ts';
import { DEFAULT_LIMITS } from '../../../src/contract/limits.ts';
import type { FanOut, RemoteQuestion } from '../../../src/network/fan-out.ts';
import { readListing } from '../../../src/network/listing.ts';
import { NetworkDocuments } from '../../../src/search/network-documents.ts';

/** Remotes `s0`, `s1` and so on with these responses; `asked` gets the bodies of the requests. */
function documentsOf(responses: readonly string[], asked: Record<string, unknown>[] = []) {
  const others = responses.map((_, n) => `s${n}`);
  const held = { take: () => true, giveBack: () => {} };
  const fanOut = {
    ...{ network: { self: null, remotes: {} }, others, isMember: false },
    holding: (run: (of: typeof held) => unknown) => run(held),
    askConcurrently: async (
      _: null,
      questions: Map<string, RemoteQuestion>,
      read: (body: Buffer) => Promise<unknown>,
    ) => {
      const read_: Map<string, unknown> = new Map();
      const errors: Record<string, unknown> = {};
      for (const [name, { body }] of questions) {
        asked.push(JSON.parse(body!) as Record<string, unknown>);
        try {
          read_.set(name, await read(Buffer.from(responses[others.indexOf(name)]!)));
        } catch (error) {
          // As the client for remotes does.
          if (!(error instanceof MalformedJson)) throw error;
          errors[name] = { code: 'remote_bad_response' };
        }
      }
      return { here: null, responses: read_, errors };
    },
  } as unknown as FanOut;
  const limits = DEFAULT_LIMITS;
  return new NetworkDocuments({ documents: {} as never, fanOut, limits });
}

/** How often other work ran meanwhile. */
async function iterationsOf<T>(run: () => Promise<T>): Promise<{ iterations: number; value: T }> {
  let iterations = 0;
  let isDone = false;
  const counting = (async () => {
    while (!isDone) {
      await yieldToLoop();
      iterations++;
    }
  })();
  const value = await run();
  isDone = true;
  await counting;
  return { iterations, value };
}

const READER = { access: { holder: 'test' }, signal: NEVER_CANCELED };
const REQUEST: FetchRequest = {
  ...{ offset: 0, limit: 20, fields: null, filter: null, sort: ['n:asc'], ids: null },
  retrieveVectors: false,
};
const listing = (documents: object[]): string =>
  JSON.stringify({ results: documents, total: documents.length });

describe('Documents of the whole network', () => {
  it('are put in order while other work goes on', async () => {
    const count = 30_000;
    const part = (from: number) =>
      listing(Array.from({ length: count }, (_, n) => ({ n: 2 * n + from, text: 'x'.repeat(50) })));
    const documents = documentsOf([part(0), part(1)]);
    const request = { ...REQUEST, limit: 1, offset: 2 * count - 1 };
    const sorted = await iterationsOf(() => documents.fetch('a', request, READER));
    const { results } = JSON.parse(sorted.value.toString()) as { results: { n: number }[] };
    assert.equal(results[0]!.n, 2 * count - 1);
    // Parsing the responses yields as well.
    const read = await iterationsOf(() => readListing(Buffer.from(part(0))));
    assert.ok(
      sorted.iterations > 2 * read.iterations + 5,
      `${sorted.iterations}, ${read.iterations} for a response`,
    );
  });

  it('far behind the end are asked for as far as numbers are exact', async () => {
    const asked: Record<string, unknown>[] = [];
    const far = Number.MAX_SAFE_INTEGER;
    const request = { ...REQUEST, offset: far, limit: far };
    await documentsOf([listing([{ n: 1 }])], asked).fetch('a', request, READER);
    assert.deepEqual(
      asked.map(({ limit }) => limit),
      [far],
    );
  });

  it('have embeddings where they are understood', async () => {
    const document = (embeddings: unknown) => listing([{ _vectors: { own: { embeddings } } }]);
    const embeddings = (...responses: string[]) =>
      documentsOf(responses).embeddings('a', '1', 'own', null, {
        ...READER,
        held: { take: () => true, giveBack: () => {} },
      });
    assert.deepEqual(await embeddings(document([1, 2])), [[1, 2]]);
    assert.deepEqual(await embeddings(document([[1], [2]])), [[1], [2]]);
    assert.deepEqual(await embeddings(listing([]), document([[1]])), [[1]]);
    assert.equal(await embeddings(listing([])), undefined);
    for (const bad of [[1, [2]], [['x']], ['x']]) {
      assert.equal(await embeddings(document(bad)), undefined, JSON.stringify(bad));
    }
  });
});
