/**
 * The contract of every implementation of the object store, and how unsuitable stores are detected.
 */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Blobs, bufferSource, WHOLE_BYTES_MAX } from '../../../src/cluster/blobs/blobs.ts';
import { checkBlobs } from '../../../src/cluster/blobs/check-blobs.ts';
import { DirectoryBlobs } from '../../../src/cluster/blobs/directory-blobs.ts';
import { MemoryBlobs } from '../../support/memory-blobs.ts';
import { OpenUploads } from '../../../src/cluster/blobs/open-uploads.ts';
import { EncryptedBlobs } from '../../../src/cluster/blobs/encrypted-blobs.ts';
import { S3Blobs } from '../../../src/cluster/blobs/s3-blobs.ts';
import { sha256 } from '../../../src/cluster/bytes.ts';
import {
  BlobMissingError,
  DamagedError,
  RefusedError,
  UnavailableError,
} from '../../../src/cluster/errors.ts';
import { claimStore } from '../../../src/cluster/owner.ts';
import { ClusterSecret } from '../../../src/cluster/secret.ts';
import { OutboundClient } from '../../../src/outbound/outbound-client.ts';
import { newSeed, Random } from '../../http/kill/support/random.ts';
import { policyOfGuide, S3Server, type S3Faults } from '../../support/s3-server.ts';
import { VERSITY_GATEWAY, VersityGateway } from '../../support/versity-gateway.ts';

async function put(blobs: Blobs, name: string, bytes: Buffer): Promise<void> {
  await blobs.put(name, bufferSource(bytes, sha256(bytes)));
}

async function get(blobs: Blobs, name: string): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of blobs.get(name)) pieces.push(piece);
  return Buffer.concat(pieces);
}

function contract(open: () => Blobs): void {
  it('returns what was stored', async () => {
    const blobs = open();
    for (const size of [0, 1, 100_000]) {
      const bytes = randomBytes(size);
      await put(blobs, `files/size-${size}`, bytes);
      assert.ok((await get(blobs, `files/size-${size}`)).equals(bytes));
    }
  });

  it('stores large objects', async () => {
    const blobs = open();
    const bytes = randomBytes(40 * 2 ** 20 + 17);
    await put(blobs, 'files/large', bytes);
    assert.ok((await get(blobs, 'files/large')).equals(bytes));
    await blobs.delete('files/large');
  });

  it('lists names by prefix, in order', async () => {
    const blobs = open();
    const names = ['b-2', 'b-10', 'a-1', 'b-1', 'c-1', 'b-3'].map((name) => `lists/${name}`);
    for (const name of names) await put(blobs, name, Buffer.from(name));
    const expected = ['b-1', 'b-10', 'b-2', 'b-3'].map((name) => `lists/${name}`);
    assert.deepEqual(await blobs.list('lists/b-'), expected);
    assert.deepEqual((await blobs.list('lists/')).length, names.length);
    assert.deepEqual(await blobs.list('nothing/'), []);
  });

  it('stores the same content again, and removes objects that may be absent', async () => {
    const blobs = open();
    await put(blobs, 'files/same', Buffer.from('same'));
    await put(blobs, 'files/same', Buffer.from('same'));
    assert.equal((await get(blobs, 'files/same')).toString(), 'same');
    await blobs.delete('files/same');
    await blobs.delete('files/same');
    await assert.rejects(get(blobs, 'files/same'), BlobMissingError);
  });

  it('stores an object that does not exist, once', async () => {
    const blobs = open();
    const attempts = ['one', 'two', 'three', 'four'].map((text) =>
      blobs.putNew('files/new', bufferSource(Buffer.from(text), sha256(Buffer.from(text)))),
    );
    const added = await Promise.all(attempts);
    assert.equal(added.filter(Boolean).length, 1);
    const expected = ['one', 'two', 'three', 'four'][added.indexOf(true)];
    assert.equal((await get(blobs, 'files/new')).toString(), expected);
    await blobs.delete('files/new');
  });

  it('has the properties that the cluster relies on', async () => {
    const blobs = open();
    await checkBlobs(blobs, 'token');
    assert.deepEqual(await blobs.list('checks/'), []);
  });
}

/** Objects in memory that check what they are given. */
class CheckedMemoryBlobs extends MemoryBlobs {
  override async put(...[name, source]: Parameters<MemoryBlobs['put']>): Promise<void> {
    const pieces: Uint8Array[] = [];
    for await (const piece of source.open()) pieces.push(piece);
    if (!sha256(...pieces).equals(source.sha256)) throw new UnavailableError('another checksum');
    await super.put(name, source);
  }
}

describe('Objects in memory', () => {
  const objects = new Map<string, Buffer>();
  contract(() => new CheckedMemoryBlobs(objects));
});

describe('Encrypted objects', () => {
  const secret = new ClusterSecret('master key');
  const stored = new Map<string, Buffer>();
  const blobs = new EncryptedBlobs(new CheckedMemoryBlobs(stored), secret);
  before(async () => {
    const salt = 'salt';
    const proof = await secret.proofOf(salt);
    const owner = { cluster: 'shop', id: 'id', store: 'store', salt, proof };
    await claimStore(blobs, owner);
  });
  contract(() => blobs);

  const random = new Random(newSeed());
  const content = (size: number): Buffer => Buffer.alloc(size, 'a text to be found ');
  const isDamage = (error: unknown): boolean =>
    error instanceof DamagedError && error.object === 'files/one';

  it('of all sizes are read as they were, from pieces of any size', async () => {
    for (const size of [0, 1, 65535, 65536, 65537, 131072, 131073, 17 * 2 ** 20]) {
      const bytes = content(size);
      await put(blobs, 'files/one', bytes);
      const object = stored.get('files/one')!;
      assert.equal(object.includes('text to be found'), false);
      const cut = new MemoryBlobs(stored);
      cut.get = async function* (name): AsyncGenerator<Uint8Array, undefined> {
        const all = stored.get(name)!;
        for (let at = 0; at < all.length;) {
          const end = at + random.int(1, all.length > 1e6 ? 300_000 : 70_000);
          yield all.subarray(at, end);
          at = end;
        }
      };
      assert.ok((await get(new EncryptedBlobs(cut, secret), 'files/one')).equals(bytes));
    }
  });

  it('show every change: of a bit, of the length, of blocks and of the name', async () => {
    await put(blobs, 'files/one', content(200_000));
    const object = stored.get('files/one')!;
    const block = 65536 + 16;
    const changes: Buffer[] = [];
    for (let n = 0; n < 100; n++) {
      const copy = Buffer.from(object);
      copy[random.int(0, copy.length)]! ^= 1 << random.int(0, 8);
      changes.push(copy, object.subarray(0, random.int(0, object.length)));
    }
    changes.push(Buffer.concat([object, Buffer.from('x')]));
    for (const end of [32, 32 + block, 32 + 2 * block]) changes.push(object.subarray(0, end));
    const [salt, one, two] = [0, 32, 32 + block].map((at, n) =>
      object.subarray(at, n === 0 ? 32 : at + block),
    );
    changes.push(Buffer.concat([salt!, two!, one!, object.subarray(32 + 2 * block)]));
    for (const change of changes) {
      stored.set('files/one', change);
      await assert.rejects(get(blobs, 'files/one'), isDamage);
    }
    await put(blobs, 'files/two', content(10));
    stored.set('files/one', stored.get('files/two')!);
    await assert.rejects(get(blobs, 'files/one'), isDamage);
  });

  it('differ each time, and are refused when their content changes meanwhile', async () => {
    const seen = new Set<string>();
    for (let n = 0; n < 3; n++) {
      await put(blobs, 'files/one', content(100));
      seen.add(stored.get('files/one')!.toString('hex'));
    }
    assert.equal(seen.size, 3);
    for (const size of [10, 17 * 2 ** 20]) {
      const source = bufferSource(content(size), sha256(Buffer.from('other')));
      await assert.rejects(blobs.put('files/one', source), UnavailableError);
    }
  });

  it('are not for who has another master key', async () => {
    await put(blobs, 'files/one', content(10));
    const other = new EncryptedBlobs(new MemoryBlobs(stored), new ClusterSecret('another'));
    await assert.rejects(get(other, 'files/one'), /The master key is not that/);
    await assert.rejects(put(other, 'files/two', content(10)), RefusedError);
  });
});

describe('Objects in a folder', () => {
  let dir = '';
  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-blobs-'));
    await put(new DirectoryBlobs(dir), 'owner', Buffer.from('{}'));
  });
  after(() => rmSync(dir, { recursive: true }));
  contract(() => new DirectoryBlobs(dir));

  it('leave nothing of an upload that fails', async () => {
    const blobs = new DirectoryBlobs(dir);
    const source = bufferSource(Buffer.from('one'), sha256(Buffer.from('two')));
    await assert.rejects(blobs.put('files/wrong', source), UnavailableError);
    assert.deepEqual(readdirSync(join(dir, '.uploads')), []);
    await assert.rejects(get(blobs, 'files/wrong'), BlobMissingError);
  });

  it('are neither stored in a folder that does not exist, nor in one without an owner', async () => {
    const missing = join(dir, 'missing');
    await assert.rejects(put(new DirectoryBlobs(missing), 'owner', Buffer.from('x')), /ENOENT/);
    assert.ok(!existsSync(missing));
    const unmounted = mkdtempSync(join(tmpdir(), 'gannet-blobs-'));
    const blobs = new DirectoryBlobs(unmounted);
    await assert.rejects(put(blobs, 'files/x', Buffer.from('x')), /has no owner/);
    await assert.rejects(
      blobs.putNew('files/x', bufferSource(Buffer.from('x'), sha256(Buffer.from('x')))),
      /has no owner/,
    );
    assert.deepEqual(readdirSync(unmounted), []);
    rmSync(unmounted, { recursive: true });
  });

  it('leave nothing of a process of this node that was killed, and spare others', async () => {
    const [old, uuid] = [new Date(Date.now() - 3_600_000), randomUUID()];
    for (const name of [`a${uuid}`, `ab${uuid}`, `a${randomUUID()}`]) {
      writeFileSync(join(dir, '.uploads', name), 'half');
    }
    for (const name of [`a${uuid}`, `ab${uuid}`]) utimesSync(join(dir, '.uploads', name), old, old);
    await new DirectoryBlobs(dir, 'a').sweep();
    const left = readdirSync(join(dir, '.uploads'));
    assert.equal(left.length, 2);
    assert.ok(left.includes(`ab${uuid}`) && !left.includes(`a${uuid}`));
    for (const name of left) rmSync(join(dir, '.uploads', name));
  });

  it('have no names that lead out of it', async () => {
    const blobs = new DirectoryBlobs(dir);
    for (const name of ['../x', 'files/../../x', '/etc/passwd', 'a/b/c', 'files/..', '..']) {
      await assert.rejects(get(blobs, name), (error: Error) => error instanceof Error);
      await assert.rejects(put(blobs, name, Buffer.from('x')));
    }
  });
});

describe('Objects of a server with the S3 API', () => {
  let server: S3Server;
  let client: OutboundClient;
  const open = (prefix = 'shop/', uploads: OpenUploads | null = null): S3Blobs =>
    new S3Blobs(
      {
        ...{ endpoint: server.url, bucket: 'bucket', prefix, region: 'us-east-1' },
        ...{ accessKeyId: 'access', secretAccessKey: 'secret' },
      },
      client,
      uploads,
    );

  beforeEach(async () => {
    server = await S3Server.start();
    client = new OutboundClient({ denyPrivate: false, allow: [] });
  });
  afterEach(async () => {
    await client.close();
    await server.stop();
  });

  contract(open);

  it('need the permissions that the guide shows, all of them and no others', async () => {
    const blobs = open();
    await blobs.putNew('files/one', bufferSource(Buffer.from('1'), sha256(Buffer.from('1'))));
    await get(blobs, 'files/one');
    await blobs.list('files/');
    await blobs.delete('files/one');
    const large = Buffer.alloc(WHOLE_BYTES_MAX + 1);
    await put(blobs, 'files/large', large);
    server.faults.completesWrongly = true;
    await assert.rejects(put(blobs, 'files/large', large));
    assert.deepEqual(server.actions(), policyOfGuide());
  });

  it('are kept below the prefix', async () => {
    await put(open(), 'files/one', Buffer.from('1'));
    assert.deepEqual([...server.objects.keys()], ['shop/files/one']);
  });

  it('are signed as they are sent, whatever characters the prefix has', async () => {
    const printable = Array.from({ length: 95 }, (_, n) => String.fromCharCode(32 + n));
    const each = printable.filter((one) => one !== '/').map((one) => `a${one}b`);
    for (const text of [...each, printable.join(''), 'a//b', '100%', '%41', 'ü/日本 +']) {
      const blobs = open(`${text}/`);
      await put(blobs, 'files/one', Buffer.from(text));
      assert.deepEqual([...server.objects.keys()], [`${text}/files/one`]);
      assert.equal((await get(blobs, 'files/one')).toString(), text);
      assert.deepEqual(await blobs.list('files/'), ['files/one'], text);
      await blobs.copy('files/one', 'files/two');
      await blobs.delete('files/one');
      assert.deepEqual(await blobs.list(''), ['files/two'], text);
      await blobs.delete('files/two');
    }
  });

  it('report a failure without the message of the store', async () => {
    server.faults.fails = 4;
    const blobs = open();
    for (const attempt of [
      () => put(blobs, 'files/one', Buffer.from('1')),
      () => get(blobs, 'files/one'),
      () => blobs.list('files/'),
      () => blobs.delete('files/one'),
    ]) {
      await assert.rejects(attempt, (error: Error) => {
        assert.ok(error instanceof UnavailableError);
        assert.match(error.message, /503 \(SlowDown\)/);
        assert.doesNotMatch(error.message, /secret/);
        return true;
      });
    }
    await put(blobs, 'files/one', Buffer.from('1'));
  });

  it('have no parts in the bucket after a kill and a start, but those of other servers', async () => {
    const dirs = ['a', 'b'].map((name) => mkdtempSync(join(tmpdir(), `gannet-uploads-${name}-`)));
    const [one, other] = dirs.map((dir) => (): S3Blobs => {
      const uploads = new OpenUploads(join(dir, 'uploads'));
      return open('shop/', uploads);
    }) as [() => S3Blobs, () => S3Blobs];
    const bytes = randomBytes(20 * 2 ** 20);
    const source = (open: () => AsyncIterable<Uint8Array>) => ({
      size: bytes.length,
      sha256: sha256(bytes),
      open,
    });
    // An upload that never ends, as for a process that is killed.
    const hang = async (blobs: S3Blobs): Promise<void> => {
      const before = server.requests.filter((text) => text.includes('partNumber=1')).length;
      blobs
        .put(
          'files/large',
          source(async function* () {
            yield bytes;
            await new Promise(() => {});
          }),
        )
        .catch(() => {});
      const sent = (): number =>
        server.requests.filter((text) => text.includes('partNumber=1')).length;
      while (sent() === before) await new Promise((done) => setTimeout(done, 5));
    };
    await hang(one());
    await hang(other());
    await put(one(), 'files/whole', bytes);
    assert.equal(server.uploads.size, 2);
    // While the store fails, the note stays.
    server.faults.fails = 1;
    await assert.rejects(one().sweep(), UnavailableError);
    assert.equal(server.uploads.size, 2);
    await one().sweep();
    assert.deepEqual([...server.uploads.keys()], ['upload 1 & more']);
    assert.deepEqual(readdirSync(join(dirs[0]!, 'uploads')), []);
    // A note of an upload that has ended does no harm.
    await new OpenUploads(join(dirs[0]!, 'uploads')).begun({
      ...{ endpoint: server.url, bucket: 'bucket', prefix: 'shop/', name: 'files/whole' },
      uploadId: 'upload 2 & more',
    });
    writeFileSync(join(dirs[0]!, 'uploads', 'cut.json'), '{"end');
    await one().sweep();
    assert.ok((await get(one(), 'files/whole')).equals(bytes));
    assert.deepEqual(readdirSync(join(dirs[0]!, 'uploads')), []);
    for (const dir of dirs) rmSync(dir, { recursive: true });
  });

  it('do not exist when an upload in parts fails at its end', async () => {
    server.faults.completesWrongly = true;
    const blobs = open();
    const bytes = randomBytes(17 * 2 ** 20);
    await assert.rejects(put(blobs, 'files/large', bytes), UnavailableError);
    assert.match(server.requests.at(-1)!, /^DELETE .*uploadId=/);
    await assert.rejects(get(blobs, 'files/large'), BlobMissingError);
  });

  const unfit: Partial<Record<keyof S3Faults, RegExp>> = {
    keepsTorn: /an upload that was broken off becomes an object/,
    ignoresSums: /an upload whose checksum does not match becomes an object/,
    readsLate: /cannot be read at once/,
    listsLate: /is not listed at once/,
    keepsRemoved: /a removed object can still be read/,
    ignoresConditions: /under the condition that it is absent/,
  };
  for (const [fault, message] of Object.entries(unfit)) {
    it(`are refused when the store ${fault}`, async () => {
      Object.assign(server.faults, { [fault]: true });
      // With `listsLate` a new object is not listed; with `readsLate` its first read fails.
      await assert.rejects(checkBlobs(open(), 'token'), (error: Error) => {
        assert.ok(error instanceof RefusedError, error.message);
        assert.match(error.message, message);
        return true;
      });
    });
  }
});

describe('Objects of versitygw', () => {
  let gateway: VersityGateway;
  let client: OutboundClient;
  const open = (secret = gateway.secretAccessKey): S3Blobs =>
    new S3Blobs(
      {
        ...{ endpoint: gateway.url, bucket: gateway.bucket, prefix: 'a/b/', region: 'us-east-1' },
        ...{ accessKeyId: gateway.accessKeyId, secretAccessKey: secret },
      },
      client,
    );

  before(async function () {
    if (VERSITY_GATEWAY === null) {
      console.log('      skipped: versitygw is not installed (see docs/internals/testing.md)');
      this.skip();
    }
    gateway = await VersityGateway.start();
    client = new OutboundClient({ denyPrivate: false, allow: [] });
  });
  after(async () => {
    await client?.close();
    await gateway?.stop();
  });

  contract(() => open());

  it('cannot be read with a wrong secret', async () => {
    await assert.rejects(put(open('wrong'), 'files/x', Buffer.from('x')), (error: Error) => {
      assert.ok(error instanceof UnavailableError);
      assert.match(error.message, /403 \(SignatureDoesNotMatch\)/);
      return true;
    });
  });
});
