/** Tries an embedder: renders its template for one document, and embeds the text. */
import { pathOf, type Client } from './client.ts';

export type Embedder = Readonly<Record<string, unknown>>;

/** What a try made, or why it failed. */
export type Outcome<T> = { readonly value: T } | { readonly error: Error };

export interface Tested {
  /** The id of the document that was rendered; null: the index has no documents. */
  readonly document: string | null;
  readonly rendered: Outcome<string> | null;
  /** null: the embedder on the server differs from the one in the form. */
  readonly embedded: Outcome<Embedded> | null;
}

export interface Embedded {
  readonly text: string;
  readonly dimensions: number;
  readonly ms: number;
}

/** Embedded where no text is rendered. */
const SAMPLE = 'river';

interface Subject {
  readonly uid: string;
  readonly primaryKey: string | null;
  readonly name: string;
  readonly embedder: Embedder;
  /** The embedder on the server; undefined: there is none of this name. */
  readonly saved: Embedder | undefined;
}

/** Sources whose vectors come with the documents: there is nothing to ask. */
export function isTestable({ source }: Embedder): boolean {
  return source !== 'userProvided';
}

/** @param id of a document; empty: that of the first one */
export async function testEmbedder(client: Client, subject: Subject, id: string): Promise<Tested> {
  const { embedder, saved } = subject;
  const document = id === '' ? await firstId(client, subject) : id;
  const rendered =
    document === null ? null : await attempt(() => render(client, subject, document));
  const isSaved = saved !== undefined && sameRequests(embedder, saved);
  if (!isSaved) return { document, rendered, embedded: null };
  const text = rendered !== null && 'value' in rendered ? rendered.value : '';
  const embedded = await attempt(() => embed(client, subject, text === '' ? SAMPLE : text));
  return { document, rendered, embedded };
}

async function firstId(client: Client, { uid, primaryKey }: Subject): Promise<string | null> {
  if (primaryKey === null) return null;
  const path = pathOf(['indexes', uid, 'documents'], { limit: 1, fields: primaryKey });
  const { results } = await client.send<{ results: Embedder[] }>('GET', path);
  return results.length === 0 ? null : String(results[0]![primaryKey]);
}

/** A template in the form need not be saved. Without one, that of the server counts. */
async function render(client: Client, subject: Subject, id: string): Promise<string> {
  const { uid, name, embedder } = subject;
  const { documentTemplate, documentTemplateMaxBytes } = embedder;
  const template =
    typeof documentTemplate === 'string'
      ? { kind: 'inlineDocumentTemplate', inline: documentTemplate, documentTemplateMaxBytes }
      : { kind: 'documentTemplate', indexUid: uid, embedder: name };
  const body = { template, input: { kind: 'indexDocument', indexUid: uid, id } };
  const { rendered } = await client.send<{ rendered: string }>('POST', '/render-template', {
    body,
  });
  return rendered;
}

async function embed(client: Client, { uid, name }: Subject, text: string): Promise<Embedded> {
  const from = performance.now();
  const body = {
    q: text,
    hybrid: { embedder: name, semanticRatio: 1 },
    limit: 0,
    retrieveVectors: true,
  };
  const path = pathOf(['indexes', uid, 'search']);
  const found = await client.send<{ queryVector: number[] }>('POST', path, { body, isTest: true });
  return { text, dimensions: found.queryVector.length, ms: performance.now() - from };
}

/** Whether both ask their provider in the same way. Templates only choose the text. */
function sameRequests(a: Embedder, b: Embedder): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  names.delete('documentTemplate');
  names.delete('documentTemplateMaxBytes');
  return [...names].every((name) => JSON.stringify(a[name]) === JSON.stringify(b[name]));
}

async function attempt<T>(work: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }
}
