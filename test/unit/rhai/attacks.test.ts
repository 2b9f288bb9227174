import assert from 'node:assert/strict';
import { loadAddon } from '../../../src/engine/addon.ts';
import { ScriptProcessError, ScriptProcesses } from '../../../src/rhai/script-process.ts';
import { ATTACKS } from './attacks.ts';

describe('functions that exceed limits', function () {
  this.timeout(120_000);

  const scripts = new ScriptProcesses((pid, bytes) => loadAddon().limitProcess(pid, bytes));
  after(() => scripts.close());

  /** @returns why a function fails for a document; null: it succeeds */
  async function failureOf(functionText: string): Promise<string | null> {
    const session = await scripts.open({ functionText, context: null, primaryKey: 'id' });
    try {
      await session.edit(Buffer.from('{"results":[{"id":1}]}'), async () => {});
      return null;
    } catch (error) {
      assert.ok(error instanceof ScriptProcessError && error.ofScript, String(error));
      return error.message;
    } finally {
      session.close();
    }
  }

  for (const [name, script, failure] of ATTACKS) {
    it(failure === null ? `get ${name}` : `do not get ${name}`, async () => {
      const message = await failureOf(script);
      if (failure === null) assert.equal(message, null);
      else assert.match(message ?? 'it succeeds', failure);
    });
  }

  it('are compiled in another process, however long they are', async () => {
    const long = 'doc.a = 1; '.repeat(9000);
    assert.equal(await scripts.check(long, false), null);
    assert.match((await scripts.check(`${long}let x = ;`, false))!, /line 1, position 99009/);
    const bad = await Promise.all(
      Array.from({ length: 50 }, (_, n) => scripts.check(`let x${n} = ;`, true)),
    );
    for (const fault of bad) assert.match(fault!, /is expected/);
  });

  it('wait until their results are written', async () => {
    const functionText = 'let s = "a"; for i in 0..22 { s += s; } doc.s = s;';
    const session = await scripts.open({ functionText, context: null, primaryKey: 'id' });
    const results = Array.from({ length: 6 }, (_, id) => ({ id }));
    let writing = 0;
    let edited = 0;
    await session.edit(Buffer.from(JSON.stringify({ results })), async (part) => {
      assert.equal(writing++, 0, 'one part at a time');
      edited += part.edited;
      await new Promise((done) => setTimeout(done, 20));
      writing--;
    });
    assert.equal(edited, 6);
    const full = session.edit(Buffer.from(JSON.stringify({ results })), () =>
      Promise.reject(new Error('the disk is full')),
    );
    await assert.rejects(full, /the disk is full/);
    session.close();
  });

  it('end at once when they are stopped', async () => {
    const functionText = 'loop { try { let x = 1; } catch { } }';
    const session = await scripts.open({ functionText, context: null, primaryKey: 'id' });
    const results = Array.from({ length: 10_000 }, (_, id) => ({ id }));
    const edited = session.edit(Buffer.from(JSON.stringify({ results })), async () => {});
    session.stop();
    await assert.rejects(edited, /It was stopped/);
    session.close();
    assert.equal(await failureOf('doc.a = 1'), null, 'the next one has another process');
  });
});
