/**
 * Conversations with a server, each with an empty index of its own: requests and expected
 * responses. They are made by the project, so that a fresh clone has them; `test/golden` replays
 * more if those files are available.
 *
 * A file holds `{about, steps}`, a step `{do, body?, wait?, expect}`: `do` is the method and the
 * path, in which `{i}` stands for the name of the file; `wait` waits for the task to end and
 * compares it too. Values that differ from run to run are `"*"`, and so are texts meant for people.
 * GANNET_RECORD=1 writes the responses into the files, to be reviewed like code.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';

interface Step {
  do: string;
  body?: unknown;
  wait?: boolean;
  expect?: { status: number; body?: unknown; task?: unknown };
}

interface Conversation {
  about: string;
  steps: Step[];
}

const FOLDER = 'test/conformance/conversations';
const RECORDS = process.env.GANNET_RECORD === '1';

/** Keys whose values differ from run to run, or are texts for people. */
const VOLATILE: ReadonlySet<string> = new Set([
  ...['uid', 'taskUid', 'batchUid', 'canceledBy', 'from', 'next', 'requestUid'],
  ...['enqueuedAt', 'startedAt', 'finishedAt', 'createdAt', 'updatedAt', 'duration'],
  ...['processingTimeMs', 'message', 'link', 'progressTrace', 'batchStrategy'],
  ...['rawDocumentDbSize', 'avgDocumentSize'],
]);

/** Optional keys. */
const OPTIONAL: ReadonlySet<string> = new Set([
  ...['writeChannelCongestion', 'internalDatabaseSizes', 'indexSize', 'usedIndexSize'],
]);

/** `uid` is volatile where it is a number: that of a task or batch. */
function comparable(value: unknown, key = ''): unknown {
  if (VOLATILE.has(key) && value !== null && !(key === 'uid' && typeof value === 'string'))
    return '*';
  if (Array.isArray(value)) return value.map((item) => comparable(item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !OPTIONAL.has(name))
      .map(([name, member]) => [name, comparable(member, name)]),
  );
}

describe('The conversations', function () {
  this.timeout(60_000);
  let server: BuiltServer;

  before(async function () {
    if (!existsSync('dist/main.cjs')) this.skip();
    server = await startBuiltServer();
  });
  after(() => server?.close());

  async function play(step: Step, index: string): Promise<Step['expect']> {
    const named = JSON.parse(JSON.stringify(step).replaceAll('{i}', index)) as Step;
    const [method, path] = named.do.split(' ') as [string, string];
    const options = named.body === undefined ? {} : { body: named.body };
    const { status, json } = await server.call(method, path, options);
    const response: NonNullable<Step['expect']> = { status };
    if (json !== undefined) response.body = comparable(json);
    if (step.wait === true) response.task = comparable(await server.ended(json.taskUid));
    return response;
  }

  for (const file of readdirSync(FOLDER).filter((name) => name.endsWith('.json'))) {
    const path = join(FOLDER, file);
    const conversation = JSON.parse(readFileSync(path, 'utf8')) as Conversation;
    const index = basename(file, '.json');

    it(`${index}: ${conversation.about}`, async () => {
      for (const [n, step] of conversation.steps.entries()) {
        const response = await play(step, index);
        if (RECORDS) step.expect = response!;
        else assert.deepEqual(response, step.expect, `step ${n + 1}: ${step.do}`);
      }
      if (RECORDS) writeFileSync(path, `${JSON.stringify(conversation, null, 2)}\n`);
    });
  }
});
