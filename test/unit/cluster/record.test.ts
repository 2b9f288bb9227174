/** The bytes of records: every change in them is detected before anything is applied. */
import assert from 'node:assert/strict';
import { ByteReader, ByteWriter, sha256 } from '../../../src/cluster/bytes.ts';
import {
  type Checkpoint,
  decodeCheckpoint,
  encodeCheckpoint,
} from '../../../src/cluster/checkpoint.ts';
import { decodeDelta, encodeDelta, type Write } from '../../../src/cluster/delta.ts';
import { DamagedError, NewerFormatError } from '../../../src/cluster/errors.ts';
import {
  type CommitRecord,
  decodeBody,
  decodeRecord,
  encodeBody,
  encodeRecord,
  recordOf,
} from '../../../src/cluster/record.ts';
import { mulberry } from '../../support/random.ts';

const SEED = Number(process.env.GANNET_TEST_SEED ?? 1);

function randomBuffer(random: () => number, lengthMax: number): Buffer {
  const length = Math.floor(random() * (lengthMax + 1));
  return Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)));
}

function randomRecord(random: () => number): CommitRecord {
  const whole = (max: number): number => Math.floor(random() ** 4 * max);
  return {
    format: 1,
    sequence: whole(Number.MAX_SAFE_INTEGER),
    epoch: whole(Number.MAX_SAFE_INTEGER),
    at: whole(2e12),
    database: random() < 0.5 ? 'store' : 'index/ä',
    files: Array.from({ length: whole(4) }, (_, n) => ({
      name: `segments/${n}`,
      size: whole(Number.MAX_SAFE_INTEGER),
      sha256: sha256(randomBuffer(random, 5)),
      blob: `files/${n}`,
    })),
    delta: randomBuffer(random, 60),
  };
}

describe('A record', () => {
  it('is read as it was written', () => {
    const random = mulberry(SEED);
    for (let n = 0; n < 500; n++) {
      const record = randomRecord(random);
      assert.deepEqual(decodeRecord(encodeRecord(record)), record, `seed ${SEED}, record ${n}`);
    }
  });

  it('is refused when any bit is changed, or any byte is missing', () => {
    const bytes = encodeRecord(randomRecord(mulberry(SEED)));
    for (let position = 0; position < bytes.length * 8; position++) {
      const damaged = Buffer.from(bytes);
      damaged[position >> 3]! ^= 1 << (position & 7);
      assert.throws(() => decodeRecord(damaged), DamagedError, `bit ${position}`);
    }
    for (let length = 0; length < bytes.length; length++) {
      assert.throws(() => decodeRecord(bytes.subarray(0, length)), DamagedError);
    }
  });

  it('is refused when its fields make no sense, though its checksum is right', () => {
    const record = randomRecord(mulberry(SEED));
    const sealed = (write: (writer: ByteWriter) => void): Buffer => {
      const writer = new ByteWriter().raw(Buffer.from('GCR')).number(1);
      writer.number(1).number(1).number(1).text('store');
      write(writer);
      return writer.sealed();
    };
    const cases: Record<string, Buffer> = {
      'another mark': new ByteWriter().raw(Buffer.from('XYZ')).sealed(),
      'too many files': sealed((writer) => writer.number(2 ** 40)),
      'fewer files than it says': sealed((writer) => writer.number(3)),
      'a text beyond the end': sealed((writer) => writer.number(1).number(2 ** 50)),
      'bytes that nobody reads': sealed((writer) =>
        writer.number(0).text('').raw(record.delta).number(7),
      ),
    };
    for (const [name, bytes] of Object.entries(cases)) {
      assert.throws(() => decodeRecord(bytes), DamagedError, name);
    }
  });

  it('of a newer format is refused, and the error says what to do', () => {
    const record = { ...randomRecord(mulberry(SEED)), format: 2 };
    assert.throws(
      () => decodeRecord(encodeRecord(record)),
      (error: Error) => error instanceof NewerFormatError && /upgrade it/.test(error.message),
    );
    assert.equal(decodeRecord(encodeRecord(record), 2).format, 2);
  });

  it('is read from an entry, or from the object that the entry names', async () => {
    const record = { ...randomRecord(mulberry(SEED)), sequence: 5, epoch: 3 };
    const bytes = encodeRecord(record);
    const none = (): Promise<Buffer> => Promise.reject(new Error('not asked for'));
    const inline = encodeBody({ kind: 'record', bytes });
    assert.deepEqual(await recordOf({ sequence: 5, body: inline }, none), record);
    const ref = { epoch: 3, size: bytes.length, sha256: sha256(bytes), blob: 'files/x' };
    const body = encodeBody({ kind: 'ref', ...ref });
    assert.deepEqual(await recordOf({ sequence: 5, body }, async () => bytes), record);
    const other = encodeRecord({ ...record, sequence: 6 });
    await assert.rejects(
      recordOf({ sequence: 5, body }, async () => other),
      DamagedError,
    );
    await assert.rejects(recordOf({ sequence: 6, body: inline }, none), DamagedError);
    for (let position = 0; position < body.length; position++) {
      const damaged = Buffer.from(body);
      damaged[position]! ^= 4;
      assert.throws(() => decodeBody(damaged), DamagedError, `byte ${position}`);
    }
  });
});

describe('A delta', () => {
  const TABLES = ['tasks', 'manifest', 'ä'];

  it('is read as it was written', () => {
    const random = mulberry(SEED);
    for (let n = 0; n < 300; n++) {
      const writes = Array.from({ length: Math.floor(random() * 20) }, (): Write => {
        const table = TABLES[Math.floor(random() * TABLES.length)]!;
        const kind = (['put', 'remove', 'clear', 'patch'] as const)[Math.floor(random() * 4)]!;
        if (kind === 'clear') return { kind, table };
        const key = randomBuffer(random, 6);
        if (kind === 'remove') return { kind, table, key };
        const bytes = randomBuffer(random, 40);
        return kind === 'put'
          ? { kind, table, key, value: bytes }
          : { kind, table, key, patch: bytes };
      });
      const isTable = (name: string): boolean => TABLES.includes(name);
      assert.deepEqual(decodeDelta(encodeDelta(writes), isTable), writes, `seed ${SEED}, ${n}`);
    }
  });

  it('that names an unknown table is refused', () => {
    const delta = encodeDelta([{ kind: 'clear', table: 'other' }]);
    assert.throws(() => decodeDelta(delta, (name) => name === 'tasks'), DamagedError);
  });

  it('of any bytes is read or refused, and nothing else happens', () => {
    const random = mulberry(SEED);
    for (let n = 0; n < 20_000; n++) {
      const bytes = randomBuffer(random, 12);
      try {
        decodeDelta(bytes, () => true);
      } catch (error) {
        assert.ok(error instanceof DamagedError, `${bytes.toString('hex')}: ${String(error)}`);
      }
    }
  });
});

describe('A checkpoint', () => {
  it('is read as it was written, and refused when it is damaged', () => {
    const file = { name: 'a', size: 3, sha256: sha256(), blob: 'files/a' };
    const checkpoint: Checkpoint = {
      ...{ sequence: 7, epoch: 3, at: 1e12, passed: ['files/b', 'files/c'] },
      databases: [
        { name: 'store', copies: [file], files: [] },
        { name: 'index/x', copies: [], files: [file, { ...file, name: 'b' }] },
      ],
    };
    const bytes = encodeCheckpoint(checkpoint);
    assert.deepEqual(decodeCheckpoint(bytes), checkpoint);
    bytes[9]! ^= 1;
    assert.throws(() => decodeCheckpoint(bytes), DamagedError);
  });
});

describe('A number', () => {
  it('of up to 53 bits is read as it was written', () => {
    for (const value of [0, 1, 127, 128, 2 ** 31, 2 ** 32, 2 ** 49, Number.MAX_SAFE_INTEGER]) {
      assert.equal(new ByteReader(new ByteWriter().number(value).done()).number(), value);
    }
    assert.throws(() => new ByteReader(Buffer.alloc(12, 0xff)).number(), DamagedError);
    const tooLarge = new ByteWriter().number(2 ** 53).done();
    assert.throws(() => new ByteReader(tooLarge).number(), DamagedError);
  });
});
