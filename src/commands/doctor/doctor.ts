/** `gannet doctor`: checks a machine, the options of a server, and a server that runs. */
import type { Options } from '../../base/options.ts';
import type { Result } from '../../base/result.ts';
import { type Command, command, DONE, FAILED } from '../command.ts';
import { authoritiesOf, Connection, CONNECTION_OPTIONS, serverUrl } from '../connection.ts';
import { advice, fault, fine, type Finding } from './finding.ts';
import { judgeMachine, readMachine } from './machine.ts';
import { checkServer } from './server.ts';

/** What a server would be started with. */
export interface ServerPlan {
  host: string;
  port: number;
  /** Its folders, by what they are for. */
  folders: Readonly<Record<string, string>>;
  hasMasterKey: boolean;
  /** What a start would warn of. */
  notices: readonly string[];
}

const SYMBOLS = { ok: 'ok    ', advice: 'advice', fault: 'FAULT ' };

/** @param plan reads the options of the server: variables, the configuration file, and the flags */
export function doctorCommand<O extends Options>(
  serverOptions: O,
  plan: (flags: readonly string[]) => Result<ServerPlan, string>,
): Command {
  const options: typeof CONNECTION_OPTIONS = { ...CONNECTION_OPTIONS, ...serverOptions };
  return command({
    name: 'doctor',
    summary: 'Checks the machine, the options and a running server, and says what to change.',
    operands: '',
    notes: 'The options of the server are read from the environment and the configuration file.',
    examples: ['doctor --db-path ./data.gannet --url http://127.0.0.1:7700'],
    options,
    exits: '0 there is nothing to change; 1 there is; 2 the command line is invalid',
    async run(given, _, terminal) {
      const tell = ({ level, text, change }: Finding): void => {
        terminal.output.write(`${SYMBOLS[level]}  ${text}\n`);
        if (change !== undefined) terminal.output.write(`        ${change}\n`);
      };
      const findings: Finding[] = [];
      const add = (more: readonly Finding[]): void => {
        findings.push(...more);
        more.forEach(tell);
      };
      const flags = Object.keys(serverOptions).flatMap((name) => {
        const value = given.text(name as never) as string | null;
        return value === null ? [] : [`--${name}`, value];
      });
      const read = plan(flags);
      add(read.ok ? judgePlan(read.value) : [fault(read.error, 'A start refuses these options.')]);
      const connection = new Connection(
        {
          url: serverUrl('url', given.values.url),
          key: given.values.key,
          authorities: authoritiesOf(given),
          retrySeconds: 0,
        },
        terminal,
      );
      try {
        const ofServer = await checkServer(connection);
        if (read.ok) {
          const facts = await readMachine(read.value.folders, read.value);
          const listenError = ofServer === null ? facts.listenError : null;
          add(judgeMachine({ ...facts, listenError }));
        }
        add(ofServer ?? [fine(`No server runs at ${connection.address}`)]);
      } finally {
        await connection.close();
      }
      const count = findings.filter(({ level }) => level !== 'ok').length;
      terminal.output.write(count === 0 ? 'Nothing to change.\n' : `${count} to change.\n`);
      return count === 0 ? DONE : FAILED;
    },
  });
}

function judgePlan({ host, hasMasterKey, notices }: ServerPlan): Finding[] {
  const isLocal = host === '127.0.0.1' || host === '::1';
  return [
    ...notices.map((notice) => advice(notice, 'Remove or correct it.')),
    hasMasterKey || isLocal
      ? fine('The options')
      : fault(
          `The server would listen at ${host} without a master key`,
          'Set GANNET_MASTER_KEY: everyone who reaches it may do everything.',
        ),
  ];
}
