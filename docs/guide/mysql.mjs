// Keeps an index equal to a view of documents, whose changes are in the outbox of mysql.md.
//   node mysql.mjs VIEW INDEX
// MYSQL_URI or MYSQL_UNIX_PORT names the database, GANNET_URL and GANNET_KEY the server.
import { createConnection } from 'mysql2/promise';
import { follow, pause } from './outbox.mjs';

const [view, index] = process.argv.slice(2);
const { MYSQL_URI: uri, MYSQL_UNIX_PORT: socketPath, MYSQL_DATABASE: database } = process.env;
const db = await createConnection({
  ...(uri === undefined ? { socketPath, database } : { uri }),
  // Ids of more than 53 bits, and documents as the database writes them.
  supportBigNumbers: true,
  bigNumberStrings: true,
  jsonStrings: true,
});

const read = async (sql, ...values) => (await db.query(sql, values))[0];
await follow(index, {
  changed: () => pause(1_000),
  entries: () => read('SELECT seq, id FROM search_outbox ORDER BY seq LIMIT 1000'),
  rows: async (ids) => {
    const found = await read('SELECT id, document FROM ?? WHERE id IN (?)', view, ids);
    return found.map(({ id, document }) => ({ id, document: JSON.parse(document) }));
  },
  remove: (seqs) => read('DELETE FROM search_outbox WHERE seq IN (?)', seqs),
});
