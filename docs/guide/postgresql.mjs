// Keeps an index equal to a table, whose changes are in the outbox of postgresql.md.
//   node postgresql.mjs TABLE INDEX
// PGHOST, PGDATABASE and the like name the database, GANNET_URL and GANNET_KEY the server.
import { Client, escapeIdentifier } from 'pg';

const [table, index] = process.argv.slice(2);
const { GANNET_URL = 'http://127.0.0.1:7700', GANNET_KEY = '' } = process.env;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function ask(method, path, body) {
  const headers = { authorization: `Bearer ${GANNET_KEY}`, 'content-type': 'application/json' };
  const response = await fetch(GANNET_URL + path, { method, headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
  return response.json();
}

/** Resolves once the change is in the index. */
async function send(path, body) {
  const { taskUid } = await ask('POST', `/indexes/${index}/${path}`, body);
  for (;;) {
    const { status, error } = await ask('GET', `/tasks/${taskUid}`);
    if (status === 'succeeded') return;
    if (status === 'failed' || status === 'canceled') throw new Error(JSON.stringify(error));
    await pause(50);
  }
}

const db = new Client();
await db.connect();
let wake = () => {};
db.on('notification', () => wake());
await db.query('LISTEN search_outbox');
for (;;) {
  // Before the outbox is read, so that no notification is missed.
  const notified = new Promise((resolve) => (wake = resolve));
  const taken = await db.query('SELECT seq, id FROM search_outbox ORDER BY seq LIMIT 1000');
  if (taken.rows.length === 0) {
    await Promise.race([notified, pause(10_000)]);
    continue;
  }
  const ids = [...new Set(taken.rows.map(({ id }) => id))];
  const found = await db.query(
    `SELECT id::text, row_to_json(t) AS document FROM ${escapeIdentifier(table)} t WHERE id = ANY($1::bigint[])`,
    [ids],
  );
  const present = new Set(found.rows.map(({ id }) => id));
  const documents = found.rows.map(({ document }) => document);
  const deleted = ids.filter((id) => !present.has(id));
  if (documents.length > 0) await send('documents?primaryKey=id', documents);
  if (deleted.length > 0) await send('documents/delete-batch', deleted);
  // Only what is in the index leaves the outbox: a stop before this repeats it, which changes
  // nothing.
  const done = taken.rows.map(({ seq }) => seq);
  await db.query('DELETE FROM search_outbox WHERE seq = ANY($1::bigint[])', [done]);
}
