import { connect } from 'node:net';

export interface AdditionsLoad {
  port: number;
  path: string;
  /** JSON bodies, one request each. */
  bodies: readonly string[];
  connections: number;
  /** API key; absent: the server requires none. */
  key?: string;
}

export interface Additions {
  seconds: number;
  /** Time from sending each request to the end of its response, in the order of the responses. */
  milliseconds: number[];
  /** Responses other than 202. */
  failures: number;
}

/**
 * Posts all bodies. Each connection sends its next body when the last one is answered. It uses
 * plain sockets: the client shares the machine with the server, and its cost must not be measured.
 */
export async function postAll({
  port,
  path,
  bodies,
  connections,
  key,
}: AdditionsLoad): Promise<Additions> {
  const milliseconds: number[] = [];
  let failures = 0;
  let next = 0;
  const authorization = key === undefined ? '' : `authorization: Bearer ${key}\r\n`;
  const start = performance.now();
  const post = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1');
      let response = '';
      let sentAt = 0;
      const send = (): void => {
        const body = bodies[next++];
        if (body === undefined) {
          socket.end();
          resolve();
          return;
        }
        sentAt = performance.now();
        socket.write(
          `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n` +
            authorization +
            `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
        );
      };
      socket.setNoDelay(true);
      socket.on('connect', send);
      socket.on('error', reject);
      socket.on('data', (part) => {
        response += part.toString();
        const head = response.indexOf('\r\n\r\n');
        if (head < 0) return;
        const length = Number(/content-length: *(\d+)/i.exec(response)?.[1] ?? 0);
        if (Buffer.byteLength(response) < head + 4 + length) return;
        if (!response.startsWith('HTTP/1.1 202')) failures++;
        milliseconds.push(performance.now() - sentAt);
        response = '';
        send();
      });
    });
  await Promise.all(Array.from({ length: connections }, post));
  return { seconds: (performance.now() - start) / 1000, milliseconds, failures };
}
