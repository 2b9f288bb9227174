/** What the page says about tasks and keys, and how it sends a task again. */
import assert from 'node:assert/strict';
import { ACTIONS, isAction } from '../../../src/contract/actions.ts';
import { ERROR_CATALOGUE } from '../../../src/contract/errors.ts';
import { ago } from '../../../src/web/format.ts';
import { PRESETS, purposeOf } from '../../../src/web/key-presets.ts';
import { retryOf } from '../../../src/web/retry.ts';
import { ADVICE, adviceFor, effectWords } from '../../../src/web/task-words.ts';
import type { Task } from '../../../src/web/task.ts';

const NOW = Date.parse('2026-05-04T12:00:00Z');

function task(part: Partial<Task>): Task {
  return {
    uid: 1,
    batchUid: 1,
    indexUid: 'books',
    canceledBy: null,
    status: 'failed',
    type: 'documentDeletion',
    details: null,
    error: null,
    duration: null,
    enqueuedAt: '2026-05-04T11:00:00Z',
    startedAt: null,
    finishedAt: null,
    ...part,
  };
}

describe('Tasks on the page', () => {
  it('are sent again as they were', () => {
    const details = { providedIds: 0, deletedDocuments: 0, originalFilter: '["a = 1"]' };
    assert.deepEqual(retryOf(task({ details })), {
      method: 'POST',
      path: '/indexes/books/documents/delete',
      body: { filter: ['a = 1'] },
    });
    assert.deepEqual(retryOf(task({ type: 'settingsUpdate', details: { stopWords: ['a'] } })), {
      method: 'PATCH',
      path: '/indexes/books/settings',
      body: { stopWords: ['a'] },
    });
    assert.equal(retryOf(task({ type: 'dumpCreation', status: 'canceled' }))?.path, '/dumps');
  });

  it('are not sent again if they worked, or if something of them is missing', () => {
    const filter = { originalFilter: '"a = 1"' };
    for (const status of ['enqueued', 'processing', 'succeeded'] as const) {
      assert.equal(retryOf(task({ status, details: filter })), null, status);
    }
    // Deleted by ids, which are not kept.
    assert.equal(retryOf(task({ details: { providedIds: 2, originalFilter: null } })), null);
    // The keys of embedders are shown shortened.
    const embedders = { words: { apiKey: 'abXXX' } };
    assert.equal(retryOf(task({ type: 'settingsUpdate', details: { embedders } })), null);
    assert.equal(retryOf(task({ type: 'documentAdditionOrUpdate' })), null);
  });

  it('are described by what they did', () => {
    const added = { receivedDocuments: 3, indexedDocuments: 2 };
    assert.equal(effectWords(task({ status: 'succeeded', details: added })), '2 of 3 documents');
    const deleted = { deletedDocuments: 0 };
    assert.equal(effectWords(task({ status: 'succeeded', details: deleted })), '0 documents');
    assert.equal(effectWords(task({ details: deleted })), '');
  });

  it('have advice for errors that exist, and some for every error', () => {
    for (const code of Object.keys(ADVICE)) {
      assert.ok((ERROR_CATALOGUE as ReadonlyMap<string, unknown>).has(code), code);
    }
    for (const [code, { type }] of ERROR_CATALOGUE) {
      assert.match(adviceFor({ code, type }), /\.$/, code);
    }
  });

  it('were added some time ago', () => {
    assert.equal(ago('2026-05-04T11:59:01Z', NOW), 'just now');
    assert.equal(ago('2026-05-04T11:57:30Z', NOW), '2 minutes ago');
    assert.equal(ago('2026-05-04T09:00:00Z', NOW), '3 hours ago');
    assert.equal(ago('2026-05-03T09:00:00Z', NOW), 'yesterday');
    assert.equal(ago('2026-01-03T09:00:00Z', NOW), '2026-01-03');
    // The clocks of two machines differ.
    assert.equal(ago('2026-05-04T12:00:05Z', NOW), 'just now');
  });
});

describe('Kinds of keys on the page', () => {
  it('allow actions that exist, and have names', () => {
    for (const { name, actions } of PRESETS) {
      assert.ok(actions.length > 0 && actions.every(isAction), name);
    }
    assert.ok(PRESETS.every(({ actions }) => !actions.includes('*')));
    assert.equal(purposeOf(['version', 'tasks.get', 'stats.get', 'metrics.get']), 'Monitoring');
    assert.equal(purposeOf(['search', '*']), 'Everything');
    assert.equal(purposeOf(ACTIONS.slice(1)), 'Custom');
  });
});
