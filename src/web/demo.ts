/** A collection of books, for whoever has no documents at hand. */
import { pathOf, type Client, type TaskReceipt } from './client.ts';
import { ended, finish } from './tasks.ts';

const UID = 'books';

const SETTINGS = {
  searchableAttributes: ['title', 'author', 'summary'],
  filterableAttributes: ['author', 'genres', 'language', 'year'],
  sortableAttributes: ['year'],
};

/** Makes an index of books. Returns what its last task says. */
export async function loadDemo(client: Client): Promise<string> {
  // The build replaces this name with the documents.
  const documents = process.env.GANNET_DEMO ?? '';
  await finish(client, 'PATCH', pathOf(['indexes', UID, 'settings']), SETTINGS);
  const path = pathOf(['indexes', UID, 'documents'], { primaryKey: 'id' });
  const { signal } = new AbortController();
  const options = { type: 'application/x-ndjson', signal, onSent: () => {} };
  return ended(
    client,
    await client.upload<TaskReceipt>('POST', path, new Blob([documents]), options),
  );
}

declare const process: { readonly env: { readonly GANNET_DEMO?: string } };
