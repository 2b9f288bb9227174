/** Documents of the whole network: listings and single documents (docs/behaviour/network.md). */
import type { ApiError } from '../contract/errors.ts';
import type { FetchRequest } from '../contract/documents.ts';
import { listed } from '../contract/fields.ts';
import type { RequestLimits } from '../contract/limits.ts';
import type { Remote } from '../contract/responses.ts';
import { RawJson } from '../base/json.ts';
import { JsonScanner, MalformedJson } from '../base/json-scanner.ts';
import { pauser } from '../base/pauser.ts';
import type { CancelSignal } from '../base/cancel-signal.ts';
import type { Asker, FanOut, RemoteQuestion } from '../network/fan-out.ts';
import {
  type ListingResponse,
  ListingOrder,
  readListing,
  type SortKey,
  withoutPaths,
} from '../network/listing.ts';
import { joined } from './response.ts';
import { type Documents, type Reader, wholeListing } from './index-service.ts';

export interface NetworkDocumentServices {
  documents: Documents;
  fanOut: FanOut;
  limits: RequestLimits;
}

/** This server, as a key that differs from every name. */
const HERE = Symbol('here');
type Server = string | typeof HERE;

/** Reading documents needs more permission than searching: the key for writing may have it. */
function readKey({ searchApiKey, writeApiKey }: Remote): string | null {
  return writeApiKey ?? searchApiKey;
}

type ReadingAsker = Asker & Reader;

export class NetworkDocuments {
  readonly #services: NetworkDocumentServices;

  constructor(services: NetworkDocumentServices) {
    this.#services = services;
  }

  /**
   * A listing of all servers: sorted into one list, or one server after another in the order of
   * their names. The filter is checked. Rejects with `ApiError` for faults of the request; failures
   * of remotes are part of the response.
   */
  fetch(uid: string, request: FetchRequest, reader: Reader): Promise<Buffer> {
    return this.#services.fanOut.holding((held) => this.#fetch(uid, request, { ...reader, held }));
  }

  async #fetch(uid: string, request: FetchRequest, asker: ReadingAsker): Promise<Buffer> {
    const { sort } = request;
    const sorted = sort !== null && sort.length > 0;
    const { documents, total, errors } = sorted
      ? await this.#sorted(uid, request, sort, asker)
      : await this.#byWindows(uid, request, asker);
    const { offset, limit } = request;
    const parts: (Buffer | string)[] = ['{"results":['];
    for (const [n, document] of documents.entries()) parts.push(n === 0 ? '' : ',', document);
    parts.push(
      `],"offset":${offset},"limit":${limit},"total":${total},"remoteErrors":${JSON.stringify(errors)}}`,
    );
    return joined(parts, this.#services.limits);
  }

  async #sorted(
    uid: string,
    request: FetchRequest,
    sort: readonly string[],
    asker: ReadingAsker,
  ): Promise<ListingResponse & { errors: Record<string, ApiError> }> {
    const { offset, limit, fields } = request;
    const order = new ListingOrder(sort);
    const end = Math.min(offset + limit, Number.MAX_SAFE_INTEGER);
    // Fields needed only for the order are removed again.
    const added = order.fields.filter((field) => !listed(fields, field));
    const asked = {
      ...request,
      offset: 0,
      limit: limit === 0 ? 0 : end,
      fields: fields === null ? null : [...fields, ...added],
    };
    const servers = this.#servers();
    const requests = new Map<Server, FetchRequest>(servers.map((server) => [server, asked]));
    const { responses, errors } = await this.#ask(uid, requests, readListing, asker);
    const lists = servers
      .map((server) => responses.get(server))
      .filter((list) => list !== undefined);
    const keyAt = (documents: readonly Buffer[], at: number): SortKey | null =>
      at < documents.length ? order.keyOf(documents[at]!) : null;
    const heads = lists.map(({ documents }) => ({ documents, at: 0, key: keyAt(documents, 0) }));
    const merged: Buffer[] = [];
    const cut = new Set(added);
    const pause = pauser();
    for (let position = 0; position < end; position++) {
      await pause();
      let best: (typeof heads)[number] | undefined;
      for (const head of heads) {
        if (head.key === null) continue;
        if (best === undefined || order.compare(head.key, best.key!) < 0) best = head;
      }
      if (best === undefined) break;
      if (position >= offset) merged.push(withoutPaths(best.documents[best.at]!, cut));
      best.key = keyAt(best.documents, ++best.at);
    }
    const total = lists.reduce((sum, list) => sum + list.total, 0);
    return { documents: merged, total, errors };
  }

  /** Asks for the number of documents on each server first, then for those in the window. */
  async #byWindows(
    uid: string,
    request: FetchRequest,
    asker: ReadingAsker,
  ): Promise<ListingResponse & { errors: Record<string, ApiError> }> {
    const servers = this.#servers();
    const counting = { ...request, offset: 0, limit: 0 };
    const all = new Map<Server, FetchRequest>(servers.map((server) => [server, counting]));
    const counted = await this.#ask(uid, all, readListing, asker);
    const windows = new Map<Server, FetchRequest>();
    let total = 0;
    for (const server of servers) {
      const count = counted.responses.get(server)?.total ?? 0;
      const from = Math.max(0, request.offset - total);
      const to = Math.min(count, request.offset + request.limit - total);
      if (to > from) windows.set(server, { ...request, offset: from, limit: to - from });
      total += count;
    }
    const { responses, errors } = await this.#ask(uid, windows, readListing, asker);
    return {
      documents: servers.flatMap((server) => responses.get(server)?.documents ?? []),
      total,
      errors: { ...counted.errors, ...errors },
    };
  }

  /**
   * All servers of the request in the order of their names, whichever server received the request.
   */
  #servers(): Server[] {
    const { network, others, isMember } = this.#services.fanOut;
    const named: [string, Server][] = others.map((name) => [name, name]);
    if (isMember) named.push([network.self ?? '', HERE]);
    return named.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, server]) => server);
  }

  /** @param read throws `MalformedJson` when a response is not what was requested */
  async #ask<T>(
    uid: string,
    requests: ReadonlyMap<Server, FetchRequest>,
    read: (body: Buffer) => Promise<T>,
    asker: ReadingAsker,
  ): Promise<{ responses: Map<Server, T>; errors: Record<string, ApiError> }> {
    const questions = new Map<string, RemoteQuestion>();
    for (const [server, request] of requests) {
      if (server !== HERE) questions.set(server as string, fetchQuestion(uid, request));
    }
    const own = requests.get(HERE);
    const { documents, fanOut, limits } = this.#services;
    const here =
      own === undefined
        ? null
        : async () => read(await wholeListing(await documents.fetch(uid, own, asker), limits));
    const asked = await fanOut.askConcurrently(here, questions, read, asker);
    const responses = new Map<Server, T>(asked.responses);
    if (asked.here !== null) responses.set(HERE, asked.here);
    return { responses, errors: asked.errors };
  }

  /** JSON text of one document from any server that has it; null: none that responded. */
  async getDocument(
    uid: string,
    id: string,
    params: { fields: string[] | null; retrieveVectors: boolean },
    signal: CancelSignal,
  ): Promise<Buffer | null> {
    const { documents, fanOut } = this.#services;
    const own = fanOut.isMember ? documents.getDocument(uid, id, params) : null;
    if (own !== null) return own;
    const request: FetchRequest = {
      offset: 0,
      limit: 1,
      filter: null,
      sort: null,
      ids: [id],
      ...params,
    };
    const question = fetchQuestion(uid, request);
    return fanOut.holding(async (held) => {
      const questions = new Map(fanOut.others.map((name) => [name, question]));
      const asker = { signal, held };
      const { responses } = await fanOut.askConcurrently(null, questions, readListing, asker);
      for (const { documents: found } of responses.values()) if (found.length > 0) return found[0]!;
      return null;
    });
  }

  /**
   * The embeddings of a document that passes a filter, from any server; undefined: no server has
   * it.
   * @param filter null: any document
   */
  async embeddings(
    uid: string,
    id: string,
    embedder: string,
    filter: unknown,
    asker: ReadingAsker,
  ): Promise<number[][] | undefined> {
    const request: FetchRequest = {
      offset: 0,
      limit: 1,
      fields: null,
      filter,
      sort: null,
      ids: [id],
      retrieveVectors: true,
    };
    const { responses } = await this.#ask(
      uid,
      new Map(this.#servers().map((server) => [server, request])),
      async (body) => {
        const [document] = (await readListing(body)).documents;
        return document === undefined ? undefined : embeddingsIn(document, embedder);
      },
      asker,
    );
    return [...responses.values()].find((embeddings) => embeddings !== undefined);
  }
}

function fetchQuestion(uid: string, request: FetchRequest): RemoteQuestion {
  const { filter, ...plain } = request;
  const body = { ...plain, filter: filter instanceof RawJson ? filter.toJSON() : filter };
  return {
    method: 'POST',
    path: `/indexes/${uid}/documents/fetch`,
    isOptional: true,
    body: JSON.stringify(body),
    key: readKey,
  };
}

/** Throws `MalformedJson`. */
function embeddingsIn(document: Buffer, embedder: string): number[][] {
  let vectors: unknown;
  const scanner = new JsonScanner(document);
  scanner.object((name) => {
    if (name === '_vectors') vectors = scanner.value();
  });
  const embeddings =
    (vectors as Record<string, { embeddings?: unknown } | null> | null | undefined)?.[embedder]
      ?.embeddings ?? [];
  const lists: unknown[] = Array.isArray(embeddings) ? embeddings : [];
  if (lists.length > 0 && isVector(lists)) return [lists];
  if (lists.every(isVector)) return lists;
  throw new MalformedJson('no embeddings');
}

function isVector(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'number');
}
