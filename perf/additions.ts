import { connect } from 'node:net';

export interface AdditionsLoad {
  port: number;
  path: string;
  /** Bodies of JSON, one request each. */
  bodies: readonly string[];
  connections: number;
}

export interface Additions {
  seconds: number;
  /** From sending a request to the end of its answer, in order of the answers. */
  milliseconds: number[];
  /** Answers that were not 202. */
  failures: number;
}

/**
 * Posts all bodies, each connection sending its next one when the last is answered. Plain sockets: the client
 * shares the machine with the server and must not be what is measured.
 */
export async function postAll({
  port,
  path,
  bodies,
  connections,
}: AdditionsLoad): Promise<Additions> {
  const milliseconds: number[] = [];
  let failures = 0;
  let next = 0;
  const start = performance.now();
  const post = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1');
      let answer = '';
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
            `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
        );
      };
      socket.setNoDelay(true);
      socket.on('connect', send);
      socket.on('error', reject);
      socket.on('data', (part) => {
        answer += part.toString();
        const head = answer.indexOf('\r\n\r\n');
        if (head < 0) return;
        const length = Number(/content-length: *(\d+)/i.exec(answer)?.[1] ?? 0);
        if (Buffer.byteLength(answer) < head + 4 + length) return;
        if (!answer.startsWith('HTTP/1.1 202')) failures++;
        milliseconds.push(performance.now() - sentAt);
        answer = '';
        send();
      });
    });
  await Promise.all(Array.from({ length: connections }, post));
  return { seconds: (performance.now() - start) / 1000, milliseconds, failures };
}
