/** Reads the documents of an addition that has not ended. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { add, TestTaskSystem } from '../../support/task-system.ts';

describe('The documents of a waiting addition', () => {
  let test: TestTaskSystem;

  afterEach(() => test.remove());

  async function documentsOf(uid: number): Promise<string | null> {
    const documents = test.system.queue.documents(uid);
    if (documents === null) return null;
    const parts: Buffer[] = [];
    for await (const part of documents) parts.push(part);
    return Buffer.concat(parts).toString();
  }

  async function register(
    text: string,
    format: 'json' | 'ndjson',
    inFile: boolean,
  ): Promise<string | null> {
    const bytes = Buffer.from(text);
    const file = test.system.taskStore.payloadPath('sent');
    if (inFile) writeFileSync(file, bytes);
    const payload = inFile ? { file } : { bytes };
    return documentsOf(await test.register(add('a', [], { payload, format })));
  }

  for (const inFile of [false, true]) {
    it(`are one per line when they came as JSON, ${inFile ? 'in a file' : 'in a row'}`, async () => {
      test = await TestTaskSystem.open({ started: false });
      const list = '[\n {"id": 1, "text": "a, \\"{"},\r\n {"id": 2, "list": [1, [2]]}\n]';
      const lines = '{"id":1,"text":"a, \\"{"}\n{"id":2,"list":[1,[2]]}\n';
      assert.equal(await register(list, 'json', inFile), lines);
      assert.equal(await register('{"id": 1}', 'json', inFile), '{"id":1}\n');
      assert.equal(await register('[]', 'json', inFile), '');
      const many = Array.from({ length: 40_000 }, (_, id) => ({ id, text: 'é' }));
      const text = many.map((document) => `${JSON.stringify(document)}\n`).join('');
      assert.equal(await register(JSON.stringify(many), 'json', inFile), text);
    });

    it(`are as sent when they came as lines, ${inFile ? 'in a file' : 'in a row'}`, async () => {
      test = await TestTaskSystem.open({ started: false });
      const sent = '{"id": 1}\n\n{"id": 2}';
      assert.equal(await register(sent, 'ndjson', inFile), sent);
    });
  }

  it('no longer exist once it has ended', async () => {
    test = await TestTaskSystem.open();
    const { uid } = await test.run(add('a', [{ id: 1 }]));
    assert.equal(await documentsOf(uid), null);
  });
});
