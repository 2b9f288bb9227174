import assert from 'node:assert/strict';
import { logLine, matchingLines } from '../../../src/web/log-line.ts';

const sent = (level: string, message: string, more: object = {}): string =>
  JSON.stringify({
    timestamp: '2026-01-02T03:04:05.678Z',
    level,
    fields: { message, ...more },
    target: 'http',
  });

describe('Lines of the log', () => {
  it('have the fields behind the message', () => {
    const { time, level, module, text } = logLine(
      sent('info', 'request', { status: 200, route: '/a b', list: [1] }),
      1,
    );
    assert.deepEqual([time, level, module], ['03:04:05.678', 'info', 'http']);
    assert.equal(text, 'request status=200 route=/a b list=[1]');
  });

  it('are cut when they are long', () => {
    assert.equal(logLine(sent('info', 'x'.repeat(5000)), 1).text.length, 2000);
  });

  it('are found by level and by text, whatever its case', () => {
    const lines = ['error', 'warn', 'info', 'debug', 'trace'].map((level, at) =>
      logLine(sent(level, at % 2 === 0 ? 'Slow disk' : 'request'), at),
    );
    const found = (...given: ['error' | 'info' | 'trace', string]): number[] =>
      matchingLines(lines, ...given).map(({ number }) => number);
    assert.deepEqual(found('trace', ''), [0, 1, 2, 3, 4]);
    assert.deepEqual(found('error', ''), [0]);
    assert.deepEqual(found('info', 'sLOW'), [0, 2]);
    assert.deepEqual(found('trace', 'http req'), [1, 3]);
  });
});
