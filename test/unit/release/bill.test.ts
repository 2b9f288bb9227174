/** The bills of materials of a release: valid, complete, and the same bytes each time. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { Ajv } from 'ajv';

type Part = object;
interface Bills {
  billOf(file: string, about: { version: string; moment: number; parts: Part[] }): string;
  packageComponents(folders: readonly string[]): Part[];
  nativeComponents(): Part[];
  nodeComponents(versions: Record<string, string | undefined>): Part[];
  socketComponents(name: string, version: string): Part[];
}
interface Bill {
  serialNumber: string;
  metadata: { component: { name: string; hashes: { content: string }[] } };
  components: {
    name: string;
    version?: string;
    purl: string;
    'bom-ref': string;
    licenses?: unknown[];
    properties?: { value: string }[];
    hashes?: { alg: string; content: string }[];
  }[];
  dependencies: { ref: string; dependsOn?: string[] }[];
}

const SCHEMAS = join(
  dirname(createRequire(import.meta.url).resolve('@cyclonedx/cyclonedx-library/package.json')),
  'res/schema',
);
const schema = (name: string): { $id?: string } =>
  JSON.parse(readFileSync(join(SCHEMAS, `${name}.SNAPSHOT.schema.json`), 'utf8')) as object;

describe('A bill of materials', () => {
  let made: Bills;
  let natives: { nativeLibraries(): { name: string; version: string; folder: string }[] };
  let folder: string;
  let file: string;

  before(async () => {
    made = (await import(resolve('src/tools/release/bill.mjs'))) as Bills;
    natives = (await import(resolve('src/tools/native-versions.mjs'))) as typeof natives;
    folder = mkdtempSync(join(tmpdir(), 'gannet-bill-'));
    file = join(folder, 'artefact.tar.gz');
    writeFileSync(file, 'bytes of an artefact');
  });
  after(() => rmSync(folder, { recursive: true }));

  const parts = (): Part[] => [
    ...made.packageComponents(['node_modules/ajv', 'node_modules/lmdb']),
    ...made.nativeComponents(),
    ...made.nodeComponents(process.versions),
    ...made.socketComponents('@uwsjs/linux-x64-22', '20.51.4'),
  ];
  const written = (): string =>
    made.billOf(file, { version: '1.0.0', moment: 1_000_000_000, parts: parts() });
  const bill = (): Bill => JSON.parse(written()) as Bill;

  it('is valid by the schema of CycloneDX 1.6', () => {
    const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
    for (const name of ['spdx', 'jsf-0.82']) {
      const { $id: _, ...content } = schema(name);
      ajv.addSchema(content, `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json`);
    }
    const isValid = ajv.compile(schema('bom-1.6'));
    assert.ok(isValid(bill()), JSON.stringify(isValid.errors, null, 2));
    // With nothing in it, as that of the chart.
    const empty = made.billOf(file, { version: '1.0.0', moment: 0, parts: [] });
    assert.ok(isValid(JSON.parse(empty)), JSON.stringify(isValid.errors));
    assert.ok(!isValid({ ...bill(), components: [{ name: 'without a type' }] }));
  });

  it('names every native library with its version and the package with its sources', () => {
    const { components } = bill();
    const libraries = natives.nativeLibraries();
    assert.ok(libraries.length >= 9);
    for (const { name, version, folder: from } of libraries) {
      const of = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8')) as {
        name: string;
        version: string;
      };
      const sources = `pkg:npm/${of.name}@${of.version}`;
      const found = components.find(
        (one) => one.name === name && one.properties?.[0]?.value === sources,
      );
      assert.equal(found?.version, version, name);
      assert.ok(
        components.some(({ purl }) => purl === sources),
        sources,
      );
    }
    for (const name of ['openssl', 'v8', 'BoringSSL', 'lsquic']) {
      assert.ok(
        components.some((one) => one.name === name),
        name,
      );
    }
  });

  it('has the checksum of the file, those of packages, and one reference for each part', () => {
    const { metadata, components, dependencies } = bill();
    assert.equal(metadata.component.name, 'artefact.tar.gz');
    assert.match(metadata.component.hashes[0]!.content, /^[0-9a-f]{64}$/);
    const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
      packages: Record<string, { integrity: string }>;
    };
    const sum = components.find(({ name }) => name === 'ajv')!.hashes![0]!;
    assert.equal(
      `sha512-${Buffer.from(sum.content, 'hex').toString('base64')}`,
      lock.packages['node_modules/ajv']!.integrity,
    );
    const refs = components.map((one) => one['bom-ref']);
    assert.equal(new Set(refs).size, refs.length);
    const root = dependencies.find(({ ref }) => ref === 'artefact')!;
    assert.deepEqual(root.dependsOn?.toSorted(), refs.toSorted());
  });

  it('is the same for the same file, and has another number for another', () => {
    assert.equal(written(), written());
    const { serialNumber } = bill();
    writeFileSync(file, 'other bytes');
    assert.notEqual(bill().serialNumber, serialNumber);
  });
});
