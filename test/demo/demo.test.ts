import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';
import { EXAMPLES, SETTINGS } from './examples.ts';

const BOOKS = 'test/demo/books.ndjson';
const PACKED_BYTES_MAX = 100_000;

interface Book {
  id: number;
  title: string;
  author: string;
  year: number;
  language: string;
  genres: string[];
  summary: string;
}

describe('The collection of books', () => {
  const text = readFileSync(BOOKS, 'utf8');
  const books = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Book);

  it('has complete books with distinct numbers, and stays small', () => {
    assert.ok(Buffer.byteLength(text) < PACKED_BYTES_MAX);
    assert.equal(new Set(books.map(({ id }) => id)).size, books.length);
    for (const book of books) {
      assert.deepEqual(
        Object.keys(book),
        ['id', 'title', 'author', 'year', 'language', 'genres', 'summary'],
        book.title,
      );
      assert.ok(Number.isInteger(book.year) && book.genres.length > 0, book.title);
    }
  });
});

describe('The built server with the collection of books', () => {
  let server: BuiltServer;

  before(async function () {
    if (!existsSync('dist/main.cjs')) {
      console.log('skipped: the demonstration, because the project is not built (npm run build)');
      this.skip();
    }
    server = await startBuiltServer();
    await server.finish('PATCH', '/indexes/books/settings', { body: SETTINGS });
    const task = await server.finish('POST', '/indexes/books/documents', {
      text: readFileSync(BOOKS, 'utf8'),
      type: 'application/x-ndjson',
    });
    assert.equal(task.status, 'succeeded');
  });

  after(() => server?.close());

  for (const { shows, body, first } of EXAMPLES) {
    it(`answers the example: ${shows}`, async () => {
      const { status, json } = await server.call('POST', '/indexes/books/search', { body });
      assert.equal(status, 200);
      const titles = (json.hits as Book[]).map(({ title }) => title);
      assert.deepEqual(titles.slice(0, first.length), first);
    });
  }

  it('finds every book by its title and author', async () => {
    const lines = readFileSync(BOOKS, 'utf8').trimEnd().split('\n');
    for (const line of lines) {
      const { id, title, author } = JSON.parse(line) as Book;
      const body = { q: `${title} ${author}`, limit: 1 };
      const { json } = await server.call('POST', '/indexes/books/search', { body });
      assert.equal(json.hits[0]?.id, id, title);
    }
  });
});
