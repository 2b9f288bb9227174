import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { gzipSync } from 'node:zlib';
import { startTestServer, type TestServer } from './support/test-server.ts';

function documents(count: number): string {
  return JSON.stringify(
    Array.from({ length: count }, (_, id) => ({ id, text: 'some words '.repeat(5) })),
  );
}

for (const transport of ['fastest', 'node'] as const) {
  describe(`Document uploads (${transport})`, () => {
    let server: TestServer;
    beforeEach(async () => {
      server = await startTestServer({ transport, limits: { payloadBytes: 2_000_000 } });
    });
    afterEach(() => server.close());

    const path = '/indexes/movies/documents';
    const last = (): any => server.services.registered.at(-1);
    const files = (): string[] =>
      readdirSync(server.services.dir).filter((name) => name.startsWith('payload'));

    it('stay in memory while they are small', async () => {
      const text = documents(3);
      const response = await server.call('POST', `${path}?primaryKey=id`, { text });
      assert.equal(response.status, 202);
      assert.equal(last().payload.bytes.toString(), text);
      assert.deepEqual(
        {
          method: last().method,
          format: last().format,
          documents: last().documents,
          key: last().primaryKey,
        },
        { method: 'replace', format: 'json', documents: 3, key: 'id' },
      );
      assert.deepEqual(files(), []);
    });

    it('go to a file when they are large, compressed or not', async () => {
      const text = documents(5000);
      for (const options of [
        { text },
        { text: gzipSync(text), headers: { 'content-encoding': 'gzip' } },
      ]) {
        const response = await server.call('PUT', path, options);
        assert.equal(response.status, 202);
        assert.equal(last().method, 'update');
        assert.equal(last().documents, 5000);
        assert.equal(readFileSync(last().payload.file, 'utf8'), text);
      }
    });

    it('of CSV become NDJSON and give up the file they came in', async () => {
      const text = `id,title\n${'1,some title\n'.repeat(20_000)}`;
      const response = await server.call('POST', path, { text, type: 'text/csv' });
      assert.equal(response.status, 202);
      assert.equal(last().format, 'ndjson');
      assert.equal(files().length, 1);
      const small = await server.call('POST', `${path}?csvDelimiter=;`, {
        text: 'id;a\n1;2',
        type: 'text/csv',
      });
      assert.equal(small.status, 202);
      assert.ok(Buffer.isBuffer(last().payload.bytes));
    });

    it('of CSV leave nothing behind when no file can be made for the NDJSON', async () => {
      const { tasks } = server.services;
      const { newPayloadFile } = tasks;
      let made = 0;
      tasks.newPayloadFile = () => {
        if (++made > 1) throw Object.assign(new Error('ENOSPC: open'), { code: 'ENOSPC' });
        return newPayloadFile.call(tasks);
      };
      const text = `id,title\n${'1,some title\n'.repeat(20_000)}`;
      const response = await server.call('POST', path, { text, type: 'text/csv' });
      assert.equal(response.json.code, 'no_space_left_on_device');
      assert.equal(made, 2);
      assert.deepEqual(files(), []);
    });

    it('leave nothing behind when they are refused', async () => {
      const cases: [object, number, string][] = [
        [{ text: `${documents(5000)}]` }, 400, 'malformed_payload'],
        [{ text: documents(50_000) }, 413, 'payload_too_large'],
        [
          { text: gzipSync(documents(50_000)), headers: { 'content-encoding': 'gzip' } },
          413,
          'payload_too_large',
        ],
        [
          {
            text: gzipSync(documents(20_000)).subarray(0, -20),
            headers: { 'content-encoding': 'gzip' },
          },
          400,
          'bad_request',
        ],
        [{ text: 'nonsense', headers: { 'content-encoding': 'br' } }, 400, 'bad_request'],
        [{ text: '' }, 400, 'missing_payload'],
      ];
      for (const [options, status, code] of cases) {
        const response = await server.call('POST', path, options);
        assert.equal(response.json.code, code);
        assert.equal(response.status, status);
        assert.deepEqual(files(), [], code);
        assert.equal((await server.call('GET', '/health')).status, 200);
      }
      assert.equal(server.services.registered.length, 0);
    });

    it('are checked in order: query, uid, content type, delimiter, body', async () => {
      const cases: [string, object, string][] = [
        [`${path}?primarykey=id`, { text: '[', type: 'text/html' }, 'bad_request'],
        ['/indexes/bad%20uid/documents', { text: '[', type: 'text/html' }, 'invalid_index_uid'],
        [path, { text: '[', type: 'text/html' }, 'invalid_content_type'],
        [path, { text: '[', type: 'application/vnd.api+json' }, 'invalid_content_type'],
        [path, { text: new TextEncoder().encode('['), type: '' }, 'missing_content_type'],
        [`${path}?csvDelimiter=;`, { text: '[' }, 'invalid_content_type'],
        [`${path}?csvDelimiter=ab`, { text: '[' }, 'invalid_document_csv_delimiter'],
        [
          `${path}?csvDelimiter=`,
          { text: '[', type: 'text/csv' },
          'invalid_document_csv_delimiter',
        ],
        [
          `${path}?csvDelimiter=%C3%A9`,
          { text: '[', type: 'text/csv' },
          'invalid_document_csv_delimiter',
        ],
        [
          `${path}?csvDelimiter=ab`,
          { text: '[', type: 'text/csv' },
          'invalid_document_csv_delimiter',
        ],
        [`${path}?skipCreation=1`, { text: '[' }, 'invalid_skip_creation'],
        [path, { text: '[' }, 'malformed_payload'],
      ];
      for (const [where, options, code] of cases) {
        assert.equal((await server.call('POST', where, options)).json.code, code, where);
      }
      const ok = await server.call('POST', `${path}?skipCreation=TRUE&customMetadata=note`, {
        text: '[]',
      });
      assert.equal(ok.status, 202);
      assert.equal(last().skipCreation, true);
      assert.equal(last().customMetadata, 'note');
    });

    it('that the client breaks off leave no file', async () => {
      const req = request({
        port: server.port,
        path,
        method: 'POST',
        headers: {
          authorization: 'Bearer MASTER_KEY_OF_TESTS',
          'content-type': 'application/json',
          'content-length': 1_900_000,
        },
      });
      const closed = new Promise((resolve) => req.on('error', resolve));
      req.write(documents(10_000));
      const attempts = { left: 500 };
      while (files().length === 0 && attempts.left-- > 0) await server.call('GET', '/health');
      assert.equal(files().length, 1, 'the upload has begun');
      req.destroy();
      await closed;
      for (let i = 0; i < 100 && files().length > 0; i++) await server.call('GET', '/health');
      assert.deepEqual(files(), []);
      assert.equal(server.services.registered.length, 0);
    });
  });
}

describe('Deleting documents', () => {
  let server: TestServer;
  beforeEach(async () => (server = await startTestServer()));
  afterEach(() => server.close());
  const last = (): any => server.services.registered.at(-1);

  it('takes ids of any kind as the text that they are', async () => {
    const response = await server.call('POST', '/indexes/m/documents/delete-batch', {
      text: '[1, "a", 18446744073709551615, 1.0, true, {"x": [1]}]',
    });
    assert.equal(response.status, 202);
    const ids = ['1', 'a', '18446744073709551615', '1.0', 'true', '{"x":[1]}'];
    assert.deepEqual(last().by, { idsInPayload: ids.length });
    assert.deepEqual(JSON.parse(String(last().payload.bytes)), ids);
    await server.call('DELETE', '/indexes/m/documents/a%2Fb');
    assert.deepEqual(last().by, { ids: ['a/b'] });
    await server.call('DELETE', '/indexes/m/documents');
    assert.deepEqual(last().by, { all: true });
  });

  it('by filter refuses what selects everything or does not parse', async () => {
    const cases: [object, string][] = [
      [{}, 'bad_request'],
      [{ filter: null }, 'invalid_document_filter'],
      [{ filter: '' }, 'invalid_document_filter'],
      [{ filter: [[]] }, 'invalid_document_filter'],
      [{ filter: 3 }, 'invalid_document_filter'],
      [{ filter: 'a =' }, 'invalid_document_filter'],
      [{ filter: 'a = 1', x: 1 }, 'bad_request'],
    ];
    for (const [body, code] of cases) {
      const response = await server.call('POST', '/indexes/m/documents/delete', { body });
      assert.equal(response.json.code, code, JSON.stringify(body));
    }
    const ok = await server.call('POST', '/indexes/m/documents/delete', {
      body: { filter: ['a = 1'] },
    });
    assert.equal(ok.status, 202);
    assert.deepEqual(last().by, { filter: ['a = 1'] });
  });
});
