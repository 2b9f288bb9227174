/**
 * Changes of documents. Each can be undone while the page is open. They happen one after the other,
 * so that what was there before one is what the one before it has left.
 */
import { Fault, pathOf, type Client, type TaskReceipt } from './client.ts';
import type { IndexEntry } from './indexes.ts';
import { member, objectOf, withoutMember } from './raw-json.ts';
import { ended, finish } from './tasks.ts';
import { joinVectors, partVectors } from './vectors.ts';

interface Change {
  /** The index and when it was created: another one may get its name. */
  readonly index: string;
  readonly id: string;
  /** null: the whole document. */
  readonly field: string | null;
  /** JSON of the field or of the document; null: there was none. */
  readonly before: string | null;
}

/** Those of a session: another key need not see what they hold. */
const changes = new WeakMap<Client, Change[]>();
const CHANGES_MAX = 1000;

function nameOf({ uid, createdAt }: IndexEntry): string {
  return `${uid} ${createdAt}`;
}

function lastChange(client: Client, index: IndexEntry): Change | undefined {
  return changes.get(client)?.findLast((one) => one.index === nameOf(index));
}

function remember(client: Client, index: IndexEntry, change: Omit<Change, 'index'>): void {
  const before = changes.get(client) ?? [];
  changes.set(client, [...before.slice(-CHANGES_MAX), { ...change, index: nameOf(index) }]);
}

/** What {@link undoLast} would undo, in words; null: nothing. */
export function undoable(client: Client, index: IndexEntry): string | null {
  const last = lastChange(client, index);
  return last === undefined ? null : changeWords(last.id, last.field);
}

export function changeWords(id: string, field: string | null): string {
  return field === null ? `document ${id}` : `${field} of ${id}`;
}

let last: Promise<unknown> = Promise.resolve();

function inOrder(work: () => Promise<string>): Promise<string> {
  const next = last.then(work);
  last = next.catch(() => {});
  return next;
}

/**
 * Writes one field. Others that were changed meanwhile stay.
 * @param value JSON
 */
export function changeField(
  client: Client,
  index: IndexEntry,
  id: string,
  field: string,
  value: string,
): Promise<string> {
  return inOrder(async () => {
    const document = await stored(client, index, id);
    const outcome = await putField(client, index, { id, document, field, value });
    remember(client, index, { id, field, before: member(document!, field) ?? null });
    return outcome;
  });
}

/** @param id its id as text; null: only the server knows it */
export function replaceDocument(
  client: Client,
  index: IndexEntry,
  id: string | null,
  document: string,
): Promise<string> {
  return inOrder(async () => {
    const before = id === null ? null : await stored(client, index, id);
    const outcome = await write(client, index, 'POST', document);
    if (id !== null) remember(client, index, { id, field: null, before });
    return outcome;
  });
}

export function deleteDocument(client: Client, index: IndexEntry, id: string): Promise<string> {
  return inOrder(async () => {
    const before = await stored(client, index, id);
    const outcome = await erase(client, index, id);
    if (before !== null) remember(client, index, { id, field: null, before });
    return outcome;
  });
}

/** Brings back what was there before the last change that is not undone yet. */
export function undoLast(client: Client, index: IndexEntry): Promise<string> {
  return inOrder(async () => {
    const change = lastChange(client, index);
    if (change === undefined) return 'There is nothing to undo.';
    const outcome = await restore(client, index, change);
    changes.set(
      client,
      changes.get(client)!.filter((one) => one !== change),
    );
    return outcome;
  });
}

async function restore(client: Client, index: IndexEntry, change: Change): Promise<string> {
  const { id, field, before } = change;
  if (field === null) {
    return before === null ? erase(client, index, id) : write(client, index, 'POST', before);
  }
  const document = await stored(client, index, id);
  if (before !== null) return putField(client, index, { id, document, field, value: before });
  if (document === null) throw missing(id);
  // An update cannot take a field away.
  return write(client, index, 'POST', withoutMember(document, field));
}

interface FieldWrite {
  readonly id: string;
  /** null: there is none. */
  readonly document: string | null;
  readonly field: string;
  readonly value: string;
}

async function putField(
  client: Client,
  index: IndexEntry,
  { id, document, field, value }: FieldWrite,
): Promise<string> {
  if (document === null) throw missing(id);
  const name = index.primaryKey!;
  const parts = [
    { name, text: member(document, name)! },
    { name: field, text: value },
  ];
  return write(client, index, 'PUT', objectOf(parts));
}

function missing(id: string): Error {
  return new Error(`The document ${id} no longer exists.`);
}

/** The document with its own vectors; null: there is none. */
async function stored(client: Client, { uid }: IndexEntry, id: string): Promise<string | null> {
  const path = pathOf(['indexes', uid, 'documents', id], { retrieveVectors: true });
  try {
    const { document, own } = partVectors(await (await client.open('GET', path, {})).text());
    return joinVectors(document, own);
  } catch (error) {
    if (error instanceof Fault && error.code === 'document_not_found') return null;
    throw error;
  }
}

/** @param method POST replaces the document; PUT updates it, and creates none */
async function write(
  client: Client,
  { uid }: IndexEntry,
  method: 'POST' | 'PUT',
  text: string,
): Promise<string> {
  const { signal } = new AbortController();
  const options = { type: 'application/json', signal, onSent: () => {} };
  const path = pathOf(['indexes', uid, 'documents'], { skipCreation: method === 'PUT' });
  return ended(client, await client.upload<TaskReceipt>(method, path, new Blob([text]), options));
}

function erase(client: Client, { uid }: IndexEntry, id: string): Promise<string> {
  return finish(client, 'DELETE', pathOf(['indexes', uid, 'documents', id]));
}
