/** The files of docs/deploy name options that exist; the tools for such files find nothing. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { OPTIONS } from '../../src/config.ts';

const FOLDER = 'docs/deploy';
const CHART = `${FOLDER}/helm/gannet`;

/** Values of a cluster of three nodes. */
const CLUSTER = [
  '--set',
  'replicas=3,cluster.etcd=http://etcd:2379,cluster.store=s3://bucket/shop',
];

function installed(tool: string): boolean {
  return spawnSync(tool, ['version']).error === undefined;
}

function run(tool: string, args: readonly string[]): { status: number | null; text: string } {
  const { status, stdout, stderr } = spawnSync(tool, args, { encoding: 'utf8' });
  return { status, text: stdout + stderr };
}

interface Compose {
  services: Record<
    string,
    {
      image?: string;
      restart?: string;
      entrypoint?: string[];
      environment: Record<string, string>;
      volumes?: string[];
      ports?: string[];
      healthcheck?: object;
      stop_grace_period?: string;
      deploy?: { resources: { limits: { cpus: string; memory: string } } };
    }
  >;
  volumes: Record<string, unknown>;
}

describe('The files for deployment', () => {
  it('name only variables of options', () => {
    const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
      .map((name) => join(FOLDER, name))
      .filter((path) => statSync(path).isFile());
    const options = new Set(Object.keys(OPTIONS));
    let named = 0;
    for (const file of files) {
      for (const [variable] of readFileSync(file, 'utf8').matchAll(/GANNET_[A-Z_]*[A-Z]/g)) {
        const option = variable.slice('GANNET_'.length).toLowerCase().replaceAll('_', '-');
        assert.ok(options.has(option), `${file}: ${variable}`);
        named++;
      }
    }
    assert.ok(named > 10);
  });

  /** A file of compose, its anchors and merges resolved. */
  const compose = (name: string): Compose =>
    parse(readFileSync(join(FOLDER, name), 'utf8'), { merge: true }) as Compose;

  it('have a server of its own in a volume, with a health check and limits', () => {
    const { services, volumes } = compose('compose.yaml');
    assert.deepEqual(Object.keys(services), ['gannet']);
    const { gannet } = services;
    const image = readFileSync(join(FOLDER, 'Dockerfile'), 'utf8');
    // What the image keeps outside of the volume is lost with the container.
    const folder = /^VOLUME (\S+)$/m.exec(image)![1]!;
    assert.deepEqual(gannet!.volumes, [`data:${folder}`]);
    assert.ok('data' in volumes);
    for (const [, path] of image.matchAll(/GANNET_\w+(?:PATH|DIR)=(\S+)/g)) {
      assert.ok(path!.startsWith(`${folder}/`), path);
    }
    const [, interval, timeout, period, command] =
      /^HEALTHCHECK --interval=(\S+) --timeout=(\S+) --start-period=(\S+) CMD (.*)$/m.exec(image)!;
    assert.deepEqual(gannet!.healthcheck, {
      ...{ test: ['CMD', ...(JSON.parse(command!) as string[])], interval, timeout },
      ...{ start_period: period, retries: 3 },
    });
    const { cpus, memory } = gannet!.deploy!.resources.limits;
    assert.ok(Number(cpus) >= 1 && /^\d+G$/.test(memory));
    assert.ok(
      Number(/^(\d+)s$/.exec(gannet!.stop_grace_period!)![1]) >
        Number(OPTIONS['shutdown-seconds'].initial),
    );
    assert.match(gannet!.environment.GANNET_MASTER_KEY!, /:\?/, 'a start without a key is refused');
    assert.match(gannet!.ports![0]!, /^127\.0\.0\.1:/);
  });

  it('give containers of compose an image, named volumes, and a start after a fault', () => {
    for (const name of ['compose.yaml', 'compose-cluster.yaml']) {
      const { services, volumes } = compose(name);
      const used = Object.values(services).flatMap((one) => one.volumes ?? []);
      const names = new Set(used.map((volume) => volume.split(':')[0]!));
      assert.deepEqual([...names].toSorted(), Object.keys(volumes).toSorted(), name);
      for (const [service, { image, restart, entrypoint }] of Object.entries(services)) {
        assert.ok(image, `${name}: ${service}`);
        // What prepares a folder ends.
        assert.ok(restart !== undefined || entrypoint !== undefined, `${name}: ${service}`);
      }
    }
  });

  it('have a chart that helm accepts, alone and as a cluster', function () {
    if (!installed('helm')) return this.skip();
    for (const values of [[], CLUSTER]) {
      const { status, text } = run('helm', ['lint', '--strict', CHART, ...values]);
      assert.equal(status, 0, text);
      assert.doesNotMatch(text, /\[(?:INFO|WARNING|ERROR)\]/);
    }
    const alone = run('helm', ['template', 'shop', CHART]).text;
    assert.match(alone, /^ {2}replicas: 1$/m);
    assert.doesNotMatch(alone, /CLUSTER|PodDisruptionBudget/);
    const nodes = run('helm', ['template', 'shop', CHART, ...CLUSTER]).text;
    assert.match(nodes, /^ {2}replicas: 3$/m);
    assert.match(nodes, /value: http:\/\/\$\(GANNET_NODE_NAME\)\.shop-nodes:7700$/m);
    assert.match(nodes, /^kind: PodDisruptionBudget$/m);
  });

  it('have a chart that refuses several servers without a cluster', function () {
    if (!installed('helm')) return this.skip();
    const refused = [
      ['replicas=2', /cluster\.etcd/],
      ['cluster.etcd=http://etcd:2379', /cluster\.store/],
      ['replica=2', /replica/],
    ] as const;
    for (const [values, reason] of refused) {
      const { status, text } = run('helm', ['template', CHART, '--set', values]);
      assert.notEqual(status, 0, values);
      assert.match(text, reason);
    }
  });

  it('have an image in which hadolint finds nothing', function () {
    if (!installed('hadolint')) return this.skip();
    assert.deepEqual(run('hadolint', [`${FOLDER}/Dockerfile`]), { status: 0, text: '' });
  });
});
