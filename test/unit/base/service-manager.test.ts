import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceManager } from '../../../src/base/service-manager.ts';

describe('The service manager', () => {
  let dir: string;
  let program: string;
  let out: string;
  const warnings: string[] = [];
  const warn = (message: string): void => void warnings.push(message);

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-notify-'));
    out = join(dir, 'messages');
    program = join(dir, 'notify');
    writeFileSync(program, `#!/bin/sh\necho "$NOTIFY_SOCKET $*" >> ${out}\n`);
    chmodSync(program, 0o755);
    warnings.length = 0;
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  const messages = (): string[] => readFileSync(out, 'utf8').trimEnd().split('\n');

  it('is notified of the start, of readiness and of the stop, in this order', async () => {
    const env: NodeJS.ProcessEnv = { PATH: process.env['PATH'], NOTIFY_SOCKET: '/run/s' };
    const manager = new ServiceManager({ env, warn, program });
    manager.starting('importing a.dump', 120_000);
    manager.ready('serving', () => true);
    manager.stopping(10_000);
    await manager.sent();
    assert.deepEqual(messages(), [
      '/run/s STATUS=importing a.dump EXTEND_TIMEOUT_USEC=120000000',
      '/run/s READY=1 STATUS=serving',
      '/run/s STOPPING=1 STATUS=stopping EXTEND_TIMEOUT_USEC=10000000',
    ]);
    assert.equal(env['NOTIFY_SOCKET'], undefined, 'children are not to speak for the process');
    assert.deepEqual(warnings, []);
  });

  it('hears of the watchdog as long as the process is alive by its own account', async () => {
    const env = {
      PATH: process.env['PATH'],
      NOTIFY_SOCKET: '/run/s',
      WATCHDOG_USEC: '2000',
      WATCHDOG_PID: String(process.pid),
    };
    const manager = new ServiceManager({ env, warn, program });
    let asked = 0;
    let enough = (): void => {};
    const askedTwice = new Promise<void>((resolve) => (enough = resolve));
    manager.ready('serving', () => {
      if (++asked === 3) enough();
      if (asked === 2) throw new Error('the store is gone');
      return asked === 1;
    });
    // The timer alone does not keep a process alive.
    const alive = setInterval(() => {}, 1000);
    await askedTwice;
    clearInterval(alive);
    manager.stopping(0);
    await manager.sent();
    assert.equal(messages().filter((line) => line.endsWith('WATCHDOG=1')).length, 1);
    assert.deepEqual(warnings, ['the watchdog is not notified: the store is gone']);
  });

  it('has no watchdog when that is for another process', async () => {
    const env = {
      PATH: process.env['PATH'],
      NOTIFY_SOCKET: '/run/s',
      WATCHDOG_USEC: '2000',
      WATCHDOG_PID: '1',
    };
    const manager = new ServiceManager({ env, warn, program });
    manager.ready('serving', () => assert.fail('asked'));
    await manager.sent();
    assert.deepEqual(messages(), ['/run/s READY=1 STATUS=serving']);
  });

  it('is not notified without a socket, and a missing program is reported once', async () => {
    const none = new ServiceManager({ env: {}, warn, program });
    none.ready('serving', () => true);
    await none.sent();
    assert.ok(!existsSync(out));
    const env = { NOTIFY_SOCKET: '/run/s' };
    const missing = new ServiceManager({ env, warn, program: join(dir, 'missing') });
    missing.ready('serving', () => true);
    missing.stopping(1);
    await missing.sent();
    assert.equal(warnings.length, 1);
    assert.match(warnings[0]!, /ENOENT/);
  });

  it('gets real datagrams by systemd-notify', async function () {
    this.timeout(30_000);
    const has = (command: string): boolean => spawnSync(command, ['--version']).status === 0;
    if (!has('systemd-notify') || !has('python3')) this.skip();
    const path = join(dir, 'socket');
    const listen = [
      'import socket, sys',
      's = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)',
      's.bind(sys.argv[1])',
      "print('bound', flush=True)",
      'for _ in range(2): print(repr(s.recv(4096).decode()), flush=True)',
    ].join('\n');
    const receiver = spawn('python3', ['-c', listen, path]);
    let heard = '';
    const bound = new Promise<void>((resolve) =>
      receiver.stdout.on('data', (part: Buffer) => {
        heard += part.toString();
        resolve();
      }),
    );
    const ended = new Promise((resolve) => receiver.once('close', resolve));
    await bound;
    const env = { PATH: process.env['PATH'], NOTIFY_SOCKET: path };
    const manager = new ServiceManager({ env, warn });
    manager.ready('serving', () => true);
    manager.stopping(1000);
    await manager.sent();
    // systemd-notify may request a barrier, which is a separate datagram.
    receiver.kill();
    await ended;
    assert.match(heard, /READY=1\\nSTATUS=serving/);
  });
});
