import assert from 'node:assert/strict';
import { ADDED_FILTERS, ADDED_SETTINGS, assertAddedSettings } from '../support/added-settings.ts';
import { BadProxy } from '../support/bad-proxy.ts';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { mulberry } from '../support/random.ts';
import { type Ended, runProgram } from '../support/run-program.ts';

describe('gannet migrate', function () {
  this.timeout(180_000);

  const seed = Math.floor(Math.random() * 2 ** 32);
  let source: BuiltServer;
  let target: BuiltServer;
  let sourceProxy: BadProxy;
  let targetProxy: BadProxy;
  let from: string;
  let to: string;

  const SETTINGS = {
    ...ADDED_SETTINGS,
    filterableAttributes: ['kind', ...ADDED_FILTERS],
    synonyms: { a: ['b'] },
    rankingRules: ['words', 'typo'],
    embedders: {
      e: { source: 'userProvided', dimensions: 2 },
      r: {
        source: 'rest',
        url: 'http://127.0.0.1:1/',
        apiKey: 'a secret of thirty and more bytes',
        dimensions: 2,
        request: { input: '{{text}}' },
        response: { v: '{{embedding}}' },
      },
    },
  };

  before(async () => {
    source = await startBuiltServer();
    target = await startBuiltServer();
    sourceProxy = new BadProxy(source.url, mulberry(seed));
    targetProxy = new BadProxy(target.url, mulberry(seed + 1));
    from = await sourceProxy.listen();
    to = await targetProxy.listen();
    await source.call('PATCH', '/experimental-features', { body: { containsFilter: true } });
    await source.finish('POST', '/indexes', { body: { uid: 'books', primaryKey: 'key' } });
    await source.finish('PATCH', '/indexes/books/settings', { body: SETTINGS });
    const lines = Array.from({ length: 700 }, (_, n) => {
      const vectors = `"_vectors":{"e":[${n},1.5],"r":{"embeddings":[[1,${n}],[2,2]],"regenerate":true}}`;
      return `{"key":"k${n}","id":${n},"kind":"${n % 2}","huge":12345678901234567890.25,"one":1.0,${vectors}}\n`;
    });
    await source.finish('POST', '/indexes/books/documents', {
      text: lines.join(''),
      type: 'application/x-ndjson',
    });
    await source.finish('POST', '/indexes/hiding/documents', {
      body: [{ id: 1, seen: 1, secret: 2 }],
    });
    await source.finish('PATCH', '/indexes/hiding/settings', {
      body: { displayedAttributes: ['id', 'seen'] },
    });
    await source.finish('POST', '/indexes', { body: { uid: 'empty' } });
    await source.call('POST', '/keys', {
      body: {
        uid: '6062abda-a5aa-4414-ac91-ecd7944c0f8d',
        actions: ['search'],
        indexes: ['books'],
        expiresAt: null,
        name: 'shop',
      },
    });
  });
  after(async () => {
    sourceProxy?.close();
    targetProxy?.close();
    await source?.close();
    await target?.close();
  });
  beforeEach(async () => {
    for (const proxy of [sourceProxy, targetProxy]) {
      Object.assign(proxy, { share: 0, substitute: null, before: () => {} });
    }
    for (const { uid } of (await target.call('GET', '/indexes')).json.results) {
      await target.finish('DELETE', `/indexes/${uid}`);
    }
  });

  function migrate(...argv: string[]): Promise<Ended> {
    return runProgram(['migrate', '--from', from, '--url', to, ...argv], {
      env: { GANNET_KEY: source.masterKey },
    });
  }

  /** All documents of an index, as text: numbers are compared as written. */
  async function documentsOf(server: BuiltServer, uid: string): Promise<string> {
    const received = await fetch(
      `${server.url}/indexes/${uid}/documents?limit=10000&retrieveVectors=true`,
      { headers: { authorization: `Bearer ${server.masterKey}` } },
    );
    return await received.text();
  }

  async function assertSame(uid: string): Promise<void> {
    assert.equal(await documentsOf(target, uid), await documentsOf(source, uid));
    const [here, there] = await Promise.all(
      [source, target].map(async (server) => {
        const settings = (await server.call('GET', `/indexes/${uid}/settings`)).json;
        const { primaryKey } = (await server.call('GET', `/indexes/${uid}`)).json;
        if (settings.embedders.r !== undefined) delete settings.embedders.r.apiKey;
        return { settings, primaryKey };
      }),
    );
    assert.deepEqual(there, here);
  }

  it('copies indexes, settings, documents, embeddings, features and keys, and says what is secret', async () => {
    const ended = await migrate('--indexes', 'books,empty');
    assert.equal(ended.status, 0, ended.complaints + ended.output);
    assert.match(ended.output, /`books`: 700 documents, 2100 embeddings\n/);
    assert.match(ended.output, /`books`: embedders\.r\.apiKey is hidden by the source/);
    assert.match(ended.output, /Everything was copied/);
    await assertSame('books');
    await assertSame('empty');
    assertAddedSettings((await target.call('GET', '/indexes/books/settings')).json);
    const features = (await target.call('GET', '/experimental-features')).json;
    assert.equal(features.containsFilter, true);
    const path = '/keys/6062abda-a5aa-4414-ac91-ecd7944c0f8d';
    const [here, there] = [
      (await source.call('GET', path)).json,
      (await target.call('GET', path)).json,
    ];
    assert.deepEqual(
      { ...there, createdAt: 0, updatedAt: 0 },
      { ...here, createdAt: 0, updatedAt: 0 },
    );
  });

  it(`loses nothing when one in five requests of both servers fails (seed ${seed})`, async () => {
    sourceProxy.share = 0.2;
    targetProxy.share = 0.2;
    const ended = await migrate('--indexes', 'books', '--skip-keys');
    assert.equal(ended.status, 0, ended.complaints + ended.output);
    await assertSame('books');
  });

  it('takes an index that a repeated request has made before for made', async () => {
    let created = 0;
    await target.finish('POST', '/indexes', { body: { uid: 'books', primaryKey: 'key' } });
    targetProxy.before = (line) => {
      // As if the index did not exist yet when the command looks.
      const isFirstLook = line === 'GET /indexes/books/stats' && created === 0;
      const body = { message: 'missing', code: 'index_not_found' };
      targetProxy.substitute = isFirstLook ? { status: 404, body } : null;
      if (line === 'POST /indexes') created++;
    };
    const ended = await migrate('--indexes', 'books', '--skip-keys');
    assert.equal(ended.status, 0, ended.complaints + ended.output);
    assert.equal(created, 1);
    await assertSame('books');
  });

  it('copies whole documents, also attributes that searches do not show, in both ways', async () => {
    for (const way of [[], ['--source-sends']]) {
      const ended = await migrate(...way);
      assert.equal(ended.status, 0, ended.complaints + ended.output);
      await assertSame('books');
      await assertSame('hiding');
      const { results } = (await target.call('GET', '/indexes/hiding/documents')).json;
      assert.deepEqual(results, [{ id: 1, seen: 1, secret: 2 }]);
      for (const uid of ['books', 'hiding', 'empty']) {
        await target.finish('DELETE', `/indexes/${uid}`);
      }
    }
  });

  describe('onto the same server', () => {
    const key = async (
      server: BuiltServer,
      actions: string[],
      indexes: string[],
    ): Promise<string> =>
      (await server.call('POST', '/keys', { body: { actions, indexes, expiresAt: null } })).json
        .key;
    const uids = async (server: BuiltServer): Promise<string[]> =>
      (await server.call('GET', '/indexes')).json.results.map((index: any) => index.uid).toSorted();
    const isUnhurt = async (): Promise<void> => {
      assert.deepEqual(await uids(source), ['books', 'empty', 'hiding']);
      const stats = (await source.call('GET', '/indexes/books/stats')).json;
      assert.equal(stats.numberOfDocuments, 700);
    };

    it('is refused, whatever the addresses look like, and nothing is erased', async () => {
      const direct = source.url;
      const named = source.url.replace('127.0.0.1', 'localhost');
      for (const [one, other] of [
        [direct, direct],
        [direct, named],
        [from, `${direct}/`],
        [named, from],
      ]) {
        for (const more of [
          [],
          ['--overwrite', '--yes'],
          ['--overwrite', '--yes', '--source-sends'],
        ]) {
          const ended = await migrate('--from', one!, '--url', other!, ...more);
          assert.equal(ended.status, 1, ended.output);
          assert.match(ended.complaints, /same server/);
          assert.doesNotMatch(ended.output, /Everything was copied/);
          await isUnhurt();
        }
      }
    });

    it('is refused for keys that see some indexes only, or may create none', async () => {
      const some = await key(source, ['*'], ['books']);
      const noCreation = await key(
        source,
        ['indexes.get', 'documents.*', 'settings.*', 'stats.get', 'tasks.get', 'indexes.delete'],
        ['*'],
      );
      for (const [fromKey, toKey] of [
        [some, source.masterKey],
        [source.masterKey, some],
        [source.masterKey, noCreation],
      ]) {
        const ended = await migrate(
          ...['--indexes', 'books', '--overwrite', '--yes', '--skip-keys', '--url', source.url],
          ...['--from-key', fromKey!, '--key', toKey!],
        );
        assert.equal(ended.status, 1, ended.output);
        assert.match(ended.complaints, /These keys cannot show/);
        await isUnhurt();
      }
    });

    it('is not suspected of another server, whose keys see some indexes only', async () => {
      const some = await key(source, ['*'], ['books']);
      for (const more of [[], ['--overwrite', '--yes']]) {
        const ended = await migrate(
          '--indexes',
          'books',
          '--skip-keys',
          '--from-key',
          some,
          ...more,
        );
        // The key may do everything except read features.
        assert.match(ended.complaints, /^features: .*\n$/);
        assert.match(ended.output, /1 could not be copied/);
        await assertSame('books');
      }
      assert.deepEqual(await uids(target), ['books']);
    });

    it('is refused when a balancer spreads requests over the source and another server', async () => {
      await target.finish('POST', '/indexes', { body: { uid: 'books', primaryKey: 'key' } });
      let calls = 0;
      const balancer = new BadProxy(
        () => [source, target][calls++ % 2]!.url,
        () => 1,
      );
      const both = await balancer.listen();
      try {
        for (const argv of [
          ['--from', source.url, '--url', both],
          ['--from', both, '--url', source.url],
        ]) {
          calls = 0;
          const ended = await migrate('--overwrite', '--yes', '--indexes', 'books', ...argv);
          assert.notEqual(ended.status, 0, ended.output);
          await isUnhurt();
        }
      } finally {
        balancer.close();
      }
    });
  });

  it('touches documents that are there only on request', async () => {
    await target.finish('POST', '/indexes/books/documents?primaryKey=key', {
      body: [{ key: 'mine' }],
    });
    const refused = await migrate('--indexes', 'books');
    assert.equal(refused.status, 1);
    assert.match(refused.complaints, /has documents in `books` \(1 document\); use --overwrite/);
    const unasked = await migrate('--indexes', 'books', '--overwrite');
    assert.equal(unasked.status, 1);
    assert.match(unasked.complaints, /no terminal to ask at; add --yes to delete them/);
    const { total } = (await target.call('GET', '/indexes/books/documents')).json;
    assert.equal(total, 1);
    const ended = await migrate('--indexes', 'books', '--overwrite', '--yes');
    assert.equal(ended.status, 0, ended.complaints);
    await assertSame('books');
  });

  it('ends with 1 when the counts differ, a page is wrong, or a task fails', async () => {
    // The target accepts each addition, and does nothing with it.
    targetProxy.before = (line) => {
      const isAddition = line.startsWith('POST /indexes/books/documents');
      targetProxy.substitute = isAddition ? { status: 202, body: { taskUid: 0 } } : null;
    };
    const fewer = await migrate('--indexes', 'books', '--skip-keys');
    assert.equal(fewer.status, 1, fewer.output);
    assert.match(
      fewer.output,
      /`books`: 0 documents, 0 embeddings, but the source has 700 documents/,
    );
    targetProxy.before = () => {};
    targetProxy.substitute = null;
    for (const body of ['{"results":', '[]', '{"results":[{"id":1}]}', '{"total":1}']) {
      sourceProxy.before = (line) => {
        sourceProxy.substitute = line.includes('/fetch') ? { status: 200, body } : null;
      };
      const wrong = await migrate('--indexes', 'books', '--skip-keys', '--overwrite');
      assert.equal(wrong.status, 1, body + wrong.complaints);
      assert.match(wrong.complaints, /not a page of documents/, body);
    }
  });

  it('reports settings and keys that the target does not accept, and copies the others', async () => {
    sourceProxy.before = (line) => {
      const settings = { synonyms: { x: ['y'] }, filterableAttributes: ['a'], unheardOf: 1 };
      sourceProxy.substitute = line.endsWith('/settings') ? { status: 200, body: settings } : null;
    };
    const ended = await migrate('--indexes', 'empty');
    assert.equal(ended.status, 1);
    assert.match(ended.complaints, /the setting unheardOf of `empty`: .*status 400/);
    const { synonyms, filterableAttributes } = (await target.call('GET', '/indexes/empty/settings'))
      .json;
    assert.deepEqual([synonyms, filterableAttributes], [{ x: ['y'] }, ['a']]);
    const noKeys = await migrate('--indexes', 'empty', '--from-key', 'wrong');
    assert.equal(noKeys.status, 1);
  });

  it('ends with 3 when a server is unreachable, with 2 when the command line is wrong', async () => {
    const unreachable = await migrate('--from', 'http://127.0.0.1:1');
    assert.equal(unreachable.status, 3);
    const missing = await migrate('--indexes', 'nothing');
    assert.equal(missing.status, 2);
    assert.match(missing.complaints, /nothing/);
    const nowhere = await runProgram(['migrate']);
    assert.equal(nowhere.status, 2);
    assert.match(nowhere.complaints, /^--from is required: /);
  });
});
