import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './free-port.ts';

export const HAS_NGINX = spawnSync('nginx', ['-v'], { stdio: 'ignore' }).status === 0;
export const NO_NGINX = 'skipped: nginx (Debian package nginx-light) is not installed';

/** nginx before servers. */
export class Nginx {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #dir: string;

  private constructor(url: string, child: ChildProcess, dir: string) {
    this.url = url;
    this.#child = child;
    this.#dir = dir;
  }

  /** @param blocks what the block `http` has, given the address to listen at */
  static async start(blocks: (address: string) => string): Promise<Nginx> {
    const dir = mkdtempSync(join(tmpdir(), 'gannet-nginx-'));
    const address = `127.0.0.1:${await freePort()}`;
    mkdirSync(join(dir, 'logs'));
    writeFileSync(
      join(dir, 'nginx.conf'),
      `daemon off; pid ${dir}/pid; error_log ${dir}/logs/error.log;
       events {}
       http {
         access_log off; client_body_temp_path ${dir}/body; proxy_temp_path ${dir}/proxy;
         fastcgi_temp_path ${dir}/f; uwsgi_temp_path ${dir}/u; scgi_temp_path ${dir}/s;
         ${blocks(address)}
       }`,
    );
    const child = spawn('nginx', ['-p', dir, '-c', join(dir, 'nginx.conf')], { stdio: 'ignore' });
    const nginx = new Nginx(`http://${address}`, child, dir);
    for (;;) {
      const isUp = await fetch(`${nginx.url}/health`).then(
        ({ ok }) => ok,
        () => false,
      );
      if (isUp) return nginx;
      assert.equal(child.exitCode, null, 'nginx has ended');
      await delay(20);
    }
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    if (this.#child.exitCode === null) await once(this.#child, 'exit');
    rmSync(this.#dir, { recursive: true, force: true });
  }
}
