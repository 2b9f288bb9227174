/** The files of docs/deploy name options that exist; the tools for such files find nothing. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
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
