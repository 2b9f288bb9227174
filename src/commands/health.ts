/** `gannet health`: checks whether a server responds. */
import { OutboundError } from '../outbound/outbound-error.ts';
import { type Command, command, DONE, FAILED } from './command.ts';
import {
  authoritiesOf,
  Connection,
  CONNECTION_OPTIONS,
  DEFAULT_URL,
  serverUrl,
} from './connection.ts';

const OPTIONS = {
  url: CONNECTION_OPTIONS.url,
  ca: CONNECTION_OPTIONS.ca,
  timeout: {
    kind: 'count',
    initial: '5',
    min: 1,
    max: 3600,
    help: 'Seconds to wait for the response.',
  },
} as const;

export const healthCommand: Command = command({
  name: 'health',
  summary: 'Checks whether a server is healthy, and prints its status.',
  operands: '',
  notes: '',
  examples: [
    'health --url http://127.0.0.1:7700',
    'health --url https://search.example --ca ca.pem',
  ],
  options: OPTIONS,
  async run(given, _, terminal) {
    const url = serverUrl('url', given.text('url') ?? DEFAULT_URL);
    const seconds = given.values.timeout;
    const late = AbortSignal.timeout(seconds * 1000);
    const connection = new Connection(
      { url, key: null, authorities: authoritiesOf(given), retrySeconds: 0 },
      { ...terminal, signal: AbortSignal.any([terminal.signal, late]) },
    );
    try {
      const { status } = await connection.get<{ status?: unknown }>('/health');
      terminal.output.write(`${String(status)}\n`);
      return status === 'available' ? DONE : FAILED;
    } catch (error) {
      if (!late.aborted) throw error;
      throw new OutboundError(
        'timeout',
        `${connection.address} did not answer within ${seconds} s`,
      );
    } finally {
      await connection.close();
    }
  },
});
