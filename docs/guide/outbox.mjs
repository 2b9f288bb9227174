// Keeps an index equal to the rows whose ids an outbox has: what postgresql.mjs and mysql.mjs share.
const { GANNET_URL = 'http://127.0.0.1:7700', GANNET_KEY = '' } = process.env;
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function ask(method, path, body) {
  const headers = { authorization: `Bearer ${GANNET_KEY}`, 'content-type': 'application/json' };
  const response = await fetch(GANNET_URL + path, { method, headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
  return response.json();
}

/** Resolves once the change is in the index. */
async function send(path, body) {
  const { taskUid } = await ask('POST', path, body);
  for (;;) {
    const { status, error } = await ask('GET', `/tasks/${taskUid}`);
    if (status === 'succeeded') return;
    if (status === 'failed' || status === 'canceled') throw new Error(JSON.stringify(error));
    await pause(50);
  }
}

/**
 * @param entries reads at most 1,000 of the outbox, the oldest first: `{ seq, id }`
 * @param rows reads the rows with these ids as they are now: `{ id, document }`
 * @param remove deletes entries of the outbox by `seq`
 * @param changed begins to wait for a change, before the outbox is read; its promise is awaited when
 *   the outbox is empty
 */
export async function follow(index, { entries, rows, remove, changed }) {
  for (;;) {
    const change = changed();
    const taken = await entries();
    if (taken.length === 0) {
      await change;
      continue;
    }
    const ids = [...new Set(taken.map(({ id }) => id))];
    const found = await rows(ids);
    const present = new Set(found.map(({ id }) => id));
    const documents = found.map(({ document }) => document);
    const deleted = ids.filter((id) => !present.has(id));
    const path = `/indexes/${index}/documents`;
    if (documents.length > 0) await send(`${path}?primaryKey=id`, documents);
    if (deleted.length > 0) await send(`${path}/delete-batch`, deleted);
    // Only what is in the index leaves the outbox: a stop before this repeats it, which changes
    // nothing.
    await remove(taken.map(({ seq }) => seq));
  }
}
