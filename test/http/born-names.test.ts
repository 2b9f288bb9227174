/** Clients may use names that every JavaScript object has as members. */
import assert from 'node:assert/strict';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { EmbeddingProvider } from '../support/embedding-provider.ts';

const NAMES = ['__proto__', 'constructor', 'toString'];

/** An object with that name as its own member. */
function named(name: string, value: unknown): object {
  return Object.fromEntries([[name, value]]);
}

describe('Names that every object has', () => {
  let server: BuiltServer;
  let provider: EmbeddingProvider;

  before(async () => {
    provider = await EmbeddingProvider.start();
    server = await startBuiltServer();
    const features = { network: true, multimodal: true };
    await server.call('PATCH', '/experimental-features', { body: features });
  });

  after(async () => {
    await server.close();
    provider.stop();
  });

  for (const name of NAMES) {
    it(`may be those of embedders and fragments: ${name}`, async () => {
      const path = `/indexes/${name}/settings/embedders`;
      const { dimensions } = provider;
      const embedder = {
        source: 'rest',
        url: provider.url,
        dimensions,
        request: { input: '{{fragment}}' },
        response: { embedding: '{{embedding}}' },
        indexingFragments: named(name, { value: { text: '{{ doc.title }}' } }),
        searchFragments: named(name, { value: { text: '{{ q }}' } }),
      };
      provider.always = () => ({
        status: 200,
        body: { embedding: Array<number>(dimensions).fill(1) },
      });
      const documents = await server.finish('POST', `/indexes/${name}/documents`, {
        body: [{ id: 1, title: 'a' }],
      });
      assert.equal(documents.status, 'succeeded');
      const task = await server.finish('PATCH', path, { body: named(name, embedder) });
      assert.equal(task.status, 'succeeded', task.error?.message);
      const empty = await server.finish('PATCH', path, { body: named(name, {}) });
      assert.equal(empty.status, 'succeeded', empty.error?.message);
      const shown = await server.call('GET', `/indexes/${name}/documents/1?retrieveVectors=true`);
      const vectors = Object.entries(shown.json._vectors);
      assert.deepEqual(
        vectors.map(([embedder]) => embedder),
        [name],
      );
      assert.equal((vectors[0]![1] as any).embeddings.length, 1);
      const wrong = await server.finish('PATCH', '/indexes/other/settings/embedders', {
        body: named(name, {}),
      });
      assert.notEqual(wrong.error?.code, 'internal');
    });

    it(`may be those of remotes that fail: ${name}`, async () => {
      const remotes = named(name, { url: 'http://127.0.0.1:1' });
      const network = await server.call('PATCH', '/network', { body: { self: 'me', remotes } });
      assert.equal(network.status, 200);
      const queries = [{ indexUid: name, federationOptions: { remote: name } }];
      const { json } = await server.call('POST', '/multi-search', {
        body: { federation: {}, queries },
      });
      assert.deepEqual(Object.keys(json.remoteErrors), [name]);
      await server.call('PATCH', '/network', { body: { self: null, remotes: null } });
    });

    it(`may be those of fields: ${name}`, async () => {
      await server.finish('POST', '/indexes/fields/documents', {
        body: [{ id: 1, ...named(name, 1) }],
      });
      const { json } = await server.call('POST', '/indexes/fields/fields', { body: {} });
      const field = json.results.find((one: any) => one.name === name);
      assert.equal(field.filterable.sortBy, 'alpha');
    });
  }
});
