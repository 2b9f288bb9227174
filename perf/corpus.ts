/**
 * Provides documents to load: a file of packages as it is, or a product catalogue of any size made
 * from its prose. Both are written to a file before they are sent, so that making them is not
 * measured.
 */
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { createGunzip } from 'node:zlib';
import type { BuiltServer } from '../test/support/built-server.ts';
import { Random } from '../test/http/kill/support/random.ts';

export type Document = Record<string, unknown> & { id: string | number };

/** Documents of an NDJSON file, which may be compressed. */
export async function* documentsOf(path: string): AsyncGenerator<Document> {
  const raw = createReadStream(path);
  const input = path.endsWith('.gz') ? raw.pipe(createGunzip()) : raw;
  for await (const line of createInterface({ input, crlfDelay: Infinity })) {
    if (line !== '') yield JSON.parse(line) as Document;
  }
}

/** Writes documents as NDJSON. @returns the number of documents */
export async function writeNdjson(
  documents: AsyncIterable<Document>,
  path: string,
  onDocument: (document: Document) => void,
): Promise<number> {
  const file = createWriteStream(path);
  let count = 0;
  for await (const document of documents) {
    count++;
    onDocument(document);
    if (!file.write(`${JSON.stringify(document)}\n`)) await once(file, 'drain');
  }
  file.end();
  await once(file, 'finish');
  return count;
}

const NEWLINE = 10;

/** Whole lines of an NDJSON file, in chunks of about `bytes` bytes. */
export async function* chunksOf(path: string, bytes: number): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0);
  for await (const part of createReadStream(path, { highWaterMark: bytes })) {
    const chunk = Buffer.concat([rest, part as Buffer]);
    const end = chunk.lastIndexOf(NEWLINE) + 1;
    rest = chunk.subarray(end);
    if (end > 0) yield chunk.subarray(0, end);
  }
  if (rest.length > 0) yield rest;
}

/** The first `lines` lines of chunks of whole lines. */
export async function* firstLines(
  chunks: AsyncIterable<Buffer>,
  lines: number,
): AsyncGenerator<Buffer> {
  let left = lines;
  for await (const chunk of chunks) {
    let end = 0;
    while (left > 0 && end < chunk.length) {
      const newline = chunk.indexOf(NEWLINE, end);
      end = newline < 0 ? chunk.length : newline + 1;
      left--;
    }
    yield chunk.subarray(0, end);
    if (left === 0) return;
  }
}

/** A request must stay well below the body limit. */
const REQUEST_BYTES = 30_000_000;
/** Documents whose texts queries are made of. */
const SAMPLE = 5000;

/**
 * Adds the documents of an NDJSON file to an index, each line changed, and waits until it is done.
 */
export async function addDocuments(
  server: Pick<BuiltServer, 'finish'>,
  uid: string,
  path: string,
  change: (line: string) => string = (line) => line,
): Promise<void> {
  for await (const chunk of chunksOf(path, REQUEST_BYTES)) {
    const lines = chunk.toString().trimEnd().split('\n');
    await server.finish('POST', `/indexes/${uid}/documents?primaryKey=id`, {
      text: lines.map(change).join('\n'),
      type: 'application/x-ndjson',
    });
  }
}

/** Texts of a field in the first documents of an NDJSON file, to take words of queries from. */
export async function sampleTexts(path: string, field: string): Promise<string[]> {
  const texts: string[] = [];
  for await (const document of documentsOf(path)) {
    if (texts.length === SAMPLE) break;
    texts.push(String(document[field] ?? ''));
  }
  return texts;
}
const COLORS = 'black white red blue green yellow grey brown purple orange pink silver'.split(' ');
const FOLLOWERS_MAX = 4000;
/** 2010-01-01, and sixteen years, in seconds. */
const FIRST_RELEASE = 1_262_304_000;
const RELEASE_SPAN = 504_576_000;

/** What the catalogue takes from real data: which word follows which, and names. */
interface Prose {
  followers: Map<string, string[]>;
  starts: string[];
  sections: string[];
  makers: string[];
}

async function readProse(path: string): Promise<Prose> {
  const followers = new Map<string, string[]>();
  const starts: string[] = [];
  const sections = new Set<string>();
  const makers = new Set<string>();
  for await (const { section, maintainer, description } of documentsOf(path)) {
    sections.add(String(section));
    makers.add(String(maintainer));
    const words = String(description)
      .split(/\s+/)
      .filter((word) => word !== '' && word.length < 24);
    if (words.length < 8) continue;
    starts.push(words[0]!);
    for (let i = 0; i + 1 < words.length; i++) {
      const list = followers.get(words[i]!) ?? [];
      if (list.length === 0) followers.set(words[i]!, list);
      if (list.length < FOLLOWERS_MAX) list.push(words[i + 1]!);
    }
  }
  return { followers, starts, sections: [...sections].sort(), makers: [...makers].sort() };
}

/**
 * Products with text from a first-order Markov chain over the descriptions in `path`, so that the
 * frequencies of words and pairs and the lengths are those of real prose. About 560 bytes each. The
 * same seed gives the same bytes.
 */
export async function* catalogue(
  path: string,
  count: number,
  seed: number,
): AsyncGenerator<Document> {
  const { followers, starts, sections, makers } = await readProse(path);
  const random = new Random(seed);
  const int = (end: number): number => random.int(0, end);
  /** Picks such that few values are frequent and most are rare. */
  const skewed = (list: readonly string[]): string =>
    list[Math.min(list.length - 1, Math.floor(list.length ** random.next()) - 1)]!;
  const gauss = (): number =>
    Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
  const rounded = (value: number, digits: number): number =>
    Math.round(value * 10 ** digits) / 10 ** digits;
  const text = (words: number): string => {
    const out: string[] = [];
    let word = random.pick(starts);
    while (out.length < words) {
      out.push(word);
      word = random.pick(followers.get(word) ?? starts);
    }
    return out.join(' ');
  };
  for (let id = 0; id < count; id++) {
    yield {
      id,
      title: text(3 + int(6)),
      description: text(20 + int(50)),
      brand: skewed(makers),
      category: skewed(sections),
      colors: COLORS.filter(() => random.next() < 0.15),
      price: rounded(Math.exp(3 + gauss()), 2),
      rating: rounded(Math.min(5, Math.max(1, 3.8 + gauss() * 0.8)), 1),
      stock: int(500),
      available: random.next() < 0.8,
      releasedAt: FIRST_RELEASE + int(RELEASE_SPAN),
      _geo: {
        lat: rounded(random.next() * 160 - 80, 5),
        lng: rounded(random.next() * 360 - 180, 5),
      },
    };
  }
}

export const CATALOGUE_SETTINGS = {
  searchableAttributes: ['title', 'description', 'brand'],
  filterableAttributes: [
    'brand',
    'category',
    'colors',
    'price',
    'rating',
    'available',
    'stock',
    'releasedAt',
    '_geo',
  ],
  sortableAttributes: ['price', 'rating', 'releasedAt', '_geo'],
};
