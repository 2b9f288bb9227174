// Keeps an index equal to a table, whose changes are in the outbox of postgresql.md.
//   node postgresql.mjs TABLE INDEX
// PGHOST, PGDATABASE and the like name the database, GANNET_URL and GANNET_KEY the server.
import { Client, escapeIdentifier } from 'pg';
import { follow, pause } from './outbox.mjs';

const [table, index] = process.argv.slice(2);
const db = new Client();
await db.connect();
let wake = () => {};
db.on('notification', () => wake());
await db.query('LISTEN search_outbox');

const read = async (sql, ...values) => (await db.query(sql, values)).rows;
await follow(index, {
  changed: () => Promise.race([new Promise((resolve) => (wake = resolve)), pause(10_000)]),
  entries: () => read('SELECT seq, id FROM search_outbox ORDER BY seq LIMIT 1000'),
  rows: (ids) =>
    read(
      `SELECT id::text, row_to_json(t) AS document FROM ${escapeIdentifier(table)} t WHERE id = ANY($1::bigint[])`,
      ids,
    ),
  remove: (seqs) => read('DELETE FROM search_outbox WHERE seq = ANY($1::bigint[])', seqs),
});
