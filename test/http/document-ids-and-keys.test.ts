/** Ids and repeated keys of documents. */
import assert from 'node:assert/strict';
import { useServer } from './support/real-server.ts';

describe('Ids and repeated keys of documents', function () {
  this.timeout(60_000);
  const { send, done, idsOf, server } = useServer();

  it('deletes nothing where an id is empty', async () => {
    await done('POST', '/indexes/empty/documents', [{ id: 1 }, { id: 2 }]);
    const { status, details } = await done('POST', '/indexes/empty/documents/delete-batch', [
      '',
      2,
    ]);
    assert.equal(status, 'succeeded');
    assert.deepEqual(details, { providedIds: 2, deletedDocuments: 1, originalFilter: null });
  });

  it('keeps the last of repeated keys, at every depth of a document', async () => {
    await done('PATCH', '/indexes/repeated/settings', { filterableAttributes: ['a', 'list'] });
    const documents =
      '[{"id": 1, "a": {"x": 1, "y": 5, "\\u0078": 2, "y": {"z": "old"}, "y": {"z": "new"}},' +
      ' "list": [3, {"k": "one", "l": 0, "k": "two"}, "{\\"k\\":1,\\"k\\":2}"]}]';
    await done('POST', '/indexes/repeated/documents?primaryKey=id', documents);
    const stored =
      '{"id":1,"a":{"x":2,"y":{"z":"new"}},"list":[3,{"k":"two","l":0},"{\\"k\\":1,\\"k\\":2}"]}';
    const { text } = await server().client.call('GET', '/indexes/repeated/documents/1');
    assert.equal(text, stored);
    const found = async (filter: string): Promise<number[]> =>
      idsOf(await send('POST', '/indexes/repeated/search', { filter }));
    for (const filter of ['a.x = 2', 'a.y.z = new', 'list.k = two', 'list.l = 0', 'list = 3']) {
      assert.deepEqual(await found(filter), [1], filter);
    }
    for (const filter of ['a.x = 1', 'a.y = 5', 'a.y.z = old', 'list.k = one']) {
      assert.deepEqual(await found(filter), [], filter);
    }
    const again = '[{"id": 1, "a": {"x": 8, "x": 9}}]';
    await done('PUT', '/indexes/repeated/documents', again);
    assert.deepEqual(await found('a.x = 9'), [1]);
    assert.deepEqual(await found('a.x = 8'), []);
  });

  it('takes the last of repeated keys for the id', async () => {
    const path = '/indexes/repeated-ids/documents';
    const task = await done(
      'POST',
      `${path}?primaryKey=meta.id`,
      '[{"meta": {"id": 1, "id": 2}}, {"meta": {"id": 3}, "meta": {"id": 4}}]',
    );
    assert.equal(task.status, 'succeeded');
    const { body } = await send('GET', path);
    assert.deepEqual(body.results, [{ meta: { id: 2 } }, { meta: { id: 4 } }]);
    const twice = await done('POST', path, '[{"meta": {"id": 5}, "meta.id": 5}]');
    assert.equal(twice.error.code, 'invalid_document_id');
  });
});
