import assert from 'node:assert/strict';
import { type LogMode, Logs, parseLogFilter } from '../../../src/base/logger.ts';

/** A log with one client, which sees what `target` lets pass. */
function heard(target: string, mode: LogMode = 'json'): { logs: Logs; lines: string[] } {
  const logs = new Logs('off', 'json', false);
  const filter = parseLogFilter(target);
  assert.ok(filter.ok);
  const lines: string[] = [];
  logs.openStream(
    filter.value,
    mode,
    (line) => lines.push(line),
    () => lines.push('ended'),
  );
  lines.length = 0;
  return { logs, lines };
}

describe('The log', () => {
  it('writes one event per line, with date, level, module, text and fields', () => {
    const { logs, lines } = heard('info', 'human');
    logs.of('store').info({ bytes: 3, name: 'two words', nested: { a: [1] } }, 'written');
    logs.of('store').error({ err: new Error('several\nlines') }, 'a\nb');
    logs.often('info', 'http', { message: 'request', status: 200 });
    const [first, second, third] = lines;
    assert.match(
      first!,
      /^\d{4}-\d\d-\d\dT[\d:.]+Z INFO {2}store: written bytes=3 name="two words" nested=\{"a":\[1\]\}\n$/,
    );
    assert.match(second!, /ERROR store: "a\\nb" err=\{.*several\\nlines.*\}\n$/);
    assert.match(third!, /INFO {2}http: request status=200\n$/);
    for (const line of lines) assert.equal(line.indexOf('\n'), line.length - 1, line);
  });

  it('writes it as JSON with timestamp, level, fields and target', () => {
    const { logs, lines } = heard('info');
    logs.of('store').warn({ bytes: 3 }, 'written');
    logs.often('info', 'http', { message: 'request', status: 200 });
    const [first, second] = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.deepEqual(Object.keys(first!), ['timestamp', 'level', 'fields', 'target']);
    assert.deepEqual(first!['fields'], { bytes: 3, message: 'written' });
    assert.deepEqual([first!['level'], first!['target']], ['warn', 'store']);
    assert.deepEqual(second!['fields'], { message: 'request', status: 200 });
  });

  it('lets pass what the target says, module by module', () => {
    const { logs, lines } = heard('http=warn,info');
    logs.often('info', 'http', { message: 'left out' });
    logs.often('warn', 'http', { message: 'logged' });
    logs.of('http').info('left out');
    logs.of('store').info('logged');
    logs.of('store').debug('left out');
    logs.of('store').fatal('logged');
    const messages = lines.map((line) => (JSON.parse(line) as any).fields.message);
    assert.deepEqual(messages, ['logged', 'logged', 'logged']);
  });

  it('has one stream at a time, and a stream that has ended ends no later one', () => {
    const logs = new Logs('off', 'json', false);
    const filter = parseLogFilter('info');
    assert.ok(filter.ok);
    const ends: number[] = [];
    const open = (n: number): (() => void) | null =>
      logs.openStream(
        filter.value,
        'json',
        () => {},
        () => ends.push(n),
      );
    const first = open(1);
    assert.equal(open(2), null);
    logs.closeStream();
    const third = open(3);
    first!();
    assert.deepEqual(ends, [1]);
    third!();
    assert.deepEqual(ends, [1, 3]);
  });
});
