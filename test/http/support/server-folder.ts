import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { ServerProcess } from '../kill/support/server-process.ts';

/**
 * A temporary folder that holds databases, each a folder by name, and the servers that were started
 * on them.
 */
export class ServerFolder {
  readonly dir: string;
  readonly #servers: ServerProcess[] = [];

  constructor(prefix: string) {
    this.dir = mkdtempSync(join(tmpdir(), prefix));
  }

  /** A server on the database `db`, ready. */
  async start(db: string, args: readonly string[], key?: string): Promise<ServerProcess> {
    const server = await ServerProcess.start({
      dir: join(this.dir, db),
      port: await freePort(),
      args,
      ...(key === undefined ? {} : { key }),
    });
    this.#servers.push(server);
    return server;
  }

  /** A start that must fail: its exit status and output. */
  async failing(db: string, args: readonly string[]): Promise<{ status: number; text: string }> {
    const server = new ServerProcess({ dir: join(this.dir, db), port: await freePort(), args });
    this.#servers.push(server);
    return { status: (await server.exited) ?? -1, text: server.stderr };
  }

  /** Stops the servers and removes everything. */
  async remove(): Promise<void> {
    for (const server of this.#servers.splice(0)) if (!server.hasExited) await server.stop();
    rmSync(this.dir, { recursive: true, force: true });
  }
}
