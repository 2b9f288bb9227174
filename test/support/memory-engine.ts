import { longTogether } from '../../src/base/long-values.ts';
import {
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type {
  BatchJob,
  BatchOutcome,
  BatchStep,
  DocumentStream,
  EngineOptions,
  EngineResult,
  EngineText,
  IndexState,
  ListingPart,
  NativeAddon,
  PayloadFormat,
  PayloadSummary,
  StoredSettings,
  StepResult,
} from '../../src/engine/native.ts';

/**
 * The engine without an index: documents in a Map, every operation a plain loop. It follows the
 * document rules (ids, primary keys, replacing, merging, deleting) to the letter; searching is a
 * scan for substrings without ranking, and filters know comparisons, IN, EXISTS, NOT, AND, OR and
 * parentheses.
 *
 * Each commit writes the whole index into one file of its folder, so that a killed process leaves
 * what the real engine would leave.
 */
export class MemoryEngine implements NativeAddon {
  readonly #indexes = new Map<number, MemoryIndex>();
  readonly #persist: boolean;
  #nextHandle = 1;
  /** Awaited by each batch before its commit. */
  beforeCommit: ((job: BatchJob) => Promise<void> | void) | null = null;
  /** Called after each commit, before the caller learns of it. */
  afterCommit: ((job: BatchJob) => Promise<void> | void) | null = null;
  /** Steps applied since the start, to check that nothing runs twice. */
  appliedSteps = 0;
  options: EngineOptions | null = null;

  constructor({ persist = true }: { persist?: boolean } = {}) {
    this.#persist = persist;
  }

  get openCount(): number {
    return this.#indexes.size;
  }

  configure(options: EngineOptions): void {
    this.options = options;
  }

  sweepIndex(): void {}

  markCrashes(): void {}

  limitProcess(): boolean {
    return false;
  }

  lockFile(path: string): number {
    return openSync(path, 'a');
  }

  checkDatabase(): null {
    return null;
  }

  sumOfValue(): number {
    return 0;
  }

  openIndex(dir: string): number {
    for (const index of this.#indexes.values()) {
      if (index.dir === dir) throw engineError('internal', `${dir} is open already`);
    }
    const handle = this.#nextHandle++;
    this.#indexes.set(handle, new MemoryIndex(dir, this.#persist));
    return handle;
  }

  /** Handles of the indexes that report merging. */
  readonly merging = new Set<number>();

  indexFields(): string {
    return '[]';
  }

  compactIndex(): Promise<void> {
    return Promise.resolve();
  }

  setCommitLog(): void {}

  lead(): void {}

  prepareCommit(): Promise<Buffer> {
    return Promise.reject(new Error('This engine keeps no log'));
  }

  endCommit(): void {}

  applyRecord(): Promise<boolean> {
    return Promise.reject(new Error('This engine keeps no log'));
  }

  isMerging(handle: number): boolean {
    return this.merging.has(handle);
  }

  mergeDebt(): number {
    return 0;
  }

  /** Handles of the indexes that were looked after, in order. */
  readonly lookedAfter: number[] = [];

  mergeAtRest(handle: number): void {
    this.lookedAfter.push(handle);
  }

  /** Handles of the indexes that report damage. */
  readonly damaged = new Set<number>();

  isDamaged(handle: number): boolean {
    return this.damaged.has(handle);
  }

  /** Why merges have failed, by handle. */
  readonly mergeFaults = new Map<number, string>();

  takeMergeFault(handle: number): string | null {
    const fault = this.mergeFaults.get(handle) ?? null;
    this.mergeFaults.delete(handle);
    return fault;
  }

  async closeIndex(handle: number): Promise<void> {
    this.#indexes.delete(handle);
  }

  watchStops(): void {}

  indexState(handle: number): string {
    return JSON.stringify(this.#index(handle).state());
  }

  indexSettings(handle: number): StoredSettings | null {
    const { settings } = this.#index(handle);
    return settings === null ? null : { json: JSON.stringify(settings), long: {} };
  }

  async search(handle: number, request: EngineText): Promise<EngineResult> {
    return resultOf(searchIn(this.#index(handle), JSON.parse(String(request))));
  }

  async resumeSearch(): Promise<EngineResult> {
    throw new Error('no search waits for a vector here');
  }

  dropSearch(): void {}

  async readResponse(): Promise<never> {
    throw new Error('no server responds here');
  }

  readFacetHits = this.readResponse;
  mergeResponses = this.readResponse;
  mergeBest = this.readResponse;
  mergeGroups = this.readResponse;
  mergeFacetHits = this.readResponse;

  async reorderPage(): Promise<never> {
    throw new Error('no page is kept here');
  }

  findReferences = this.reorderPage;
  attachDocuments = this.reorderPage;
  writePage = this.reorderPage;
  responseOfPage = this.reorderPage;
  dropPage(): void {}

  async federatedSearch(handles: number[], request: EngineText): Promise<EngineResult> {
    const { federation, queries, requestUid } = JSON.parse(String(request)) as {
      federation: Json;
      queries: Json[];
      requestUid: string;
    };
    const hits = queries.flatMap((query, n) => {
      const { hits } = searchIn(this.#index(handles[n]!), { ...query, offset: 0, limit: 1000 });
      const { indexUid } = query;
      return (hits as Json[]).map((hit) => ({
        ...hit,
        _federation: { indexUid, queriesPosition: n, weightedRankingScore: 1 },
      }));
    });
    const { offset, limit } = federation as { offset: number; limit: number };
    const body = {
      hits: hits.slice(offset, offset + limit),
      processingTimeMs: 0,
      limit,
      offset,
      estimatedTotalHits: hits.length,
      requestUid,
    };
    return resultOf(body);
  }

  async similar(): Promise<EngineResult> {
    throw new Error('documents have no vectors here');
  }

  async facetSearch(handle: number, request: EngineText): Promise<EngineResult> {
    const { facetName, facetQuery = null, filter } = JSON.parse(String(request)) as Json;
    const counts = new Map<string, number>();
    for (const document of this.#index(handle).matching(filter)) {
      const value = document[facetName as string];
      for (const one of Array.isArray(value) ? value : [value]) {
        if (typeof one !== 'string' && typeof one !== 'number') continue;
        const text = String(one);
        if (text.toLowerCase().startsWith(((facetQuery as string | null) ?? '').toLowerCase())) {
          counts.set(text, (counts.get(text) ?? 0) + 1);
        }
      }
    }
    const facetHits = [...counts].sort().map(([value, count]) => ({ value, count }));
    return resultOf({ facetHits, facetQuery, processingTimeMs: 0 });
  }

  async fetchDocuments(handle: number, request: EngineText): Promise<ListingPart> {
    const params = JSON.parse(String(request)) as Json;
    const index = this.#index(handle);
    const ids = params.ids as string[] | null | undefined;
    const found = index
      .matching(params.filter, 'invalid_document_filter')
      .filter(
        (document) => ids === null || ids === undefined || ids.includes(index.idOf(document)),
      );
    const { offset, limit } = params as { offset: number; limit: number };
    const results = found
      .slice(offset, offset + limit)
      .map((document) => shown(document, params.fields as string[] | null));
    const bytes = Buffer.from(JSON.stringify({ results, offset, limit, total: found.length }));
    return { bytes, rest: null };
  }

  getDocument(
    handle: number,
    id: string,
    fields: string[] | null,
    _retrieveVectors: boolean,
  ): Buffer | null {
    const document = this.#index(handle).documents.get(id);
    return document === undefined ? null : Buffer.from(JSON.stringify(shown(document, fields)));
  }

  readonly #streams = new Map<DocumentStream, { lines: Buffer[]; next: number }>();

  async openDocuments(
    handle: number,
    request: string,
  ): Promise<{ stream: DocumentStream; total: number }> {
    const { filter } = JSON.parse(request) as Json;
    const lines = this.#index(handle)
      .matching(filter, 'invalid_document_filter')
      .map((document) => Buffer.from(`${JSON.stringify(document)}\n`));
    const stream = {} as DocumentStream;
    this.#streams.set(stream, { lines, next: 0 });
    return { stream, total: lines.length };
  }

  async nextDocuments(stream: DocumentStream, bytes: number): Promise<Buffer> {
    const open = this.#streams.get(stream)!;
    const lines: Buffer[] = [];
    for (let size = 0; size < bytes && open.next < open.lines.length;) {
      const line = open.lines[open.next++]!;
      size += line.length;
      lines.push(line);
    }
    return Buffer.concat(lines);
  }

  rewindDocuments(stream: DocumentStream): void {
    this.#streams.get(stream)!.next = 0;
  }

  closeDocuments(stream: DocumentStream): void {
    this.#streams.delete(stream);
  }

  async copyIndex(handle: number, dir: string): Promise<void> {
    cpSync(this.#index(handle).dir, dir, { recursive: true });
  }

  async checkPayload(
    source: string | Buffer,
    format: PayloadFormat,
    csvDelimiter: string,
    output: string,
  ): Promise<PayloadSummary> {
    const text = (typeof source === 'string' ? await readFile(source) : source).toString();
    if (format !== 'csv') return { documents: parseDocuments(text, format).length };
    const documents = parseCsv(text, csvDelimiter);
    const ndjson = documents.map((document) => `${JSON.stringify(document)}\n`).join('');
    if (typeof source !== 'string')
      return { documents: documents.length, ndjson: Buffer.from(ndjson) };
    await writeFile(output, ndjson);
    return { documents: documents.length };
  }

  async applyBatch(handle: number, job: string, payloads: Buffer[]): Promise<string> {
    const index = this.#index(handle);
    const batch = JSON.parse(job) as BatchJob;
    const kinds = new Set(batch.steps.map(({ kind }) => kind));
    if (kinds.has('settings') && (kinds.has('documents') || kinds.has('deleteIds'))) {
      throw engineError('internal', 'a batch with settings changes documents');
    }
    index.canceled = false;
    index.running = batch;
    try {
      await null;
      const next = index.copy();
      const results = batch.steps.map((step) => next.apply(step, payloads));
      this.appliedSteps += batch.steps.length;
      await this.beforeCommit?.(batch);
      if (index.canceled) throw engineError('canceled', 'stopped on request');
      const outcome: BatchOutcome = { results, numberOfDocuments: next.documents.size };
      next.updatedAt = batch.now;
      next.lastBatch = { batchUid: batch.batchUid, taskUids: batch.taskUids, outcome };
      index.commit(next);
      await this.afterCommit?.(batch);
      return JSON.stringify(outcome);
    } finally {
      index.running = null;
    }
  }

  /** Never requests embeddings. */
  completeEmbed(): void {}
  failEmbed(): void {}

  cancelBatch(handle: number): void {
    this.#index(handle).canceled = true;
  }

  batchProgress(handle: number): string {
    const { running } = this.#index(handle);
    if (running === null) return 'null';
    const total = running.steps.length;
    return JSON.stringify({ steps: [{ currentStep: 'document', finished: 0, total }] });
  }

  verifyIndex(): Promise<string> {
    throw engineError('internal', 'This engine keeps nothing that could be verified.');
  }

  cancelSearch(): void {}

  fetchRest(): Promise<ListingPart> {
    throw engineError('internal', 'Listings of this engine have one part.');
  }

  dropRest(): void {}

  async checkLargeFilter(filter: EngineText, containsFilter: boolean): Promise<void> {
    this.checkFilter(String(filter), containsFilter);
  }

  checkFilter(filter: string, containsFilter: boolean): void {
    const parsed = JSON.parse(filter) as unknown;
    if (!containsFilter && JSON.stringify(parsed).includes('CONTAINS')) {
      throw engineError('feature_not_enabled', 'CONTAINS needs the feature `containsFilter`.');
    }
    compileFilter(parsed, null, 'invalid_search_filter');
  }

  checkRankingRule(): void {}

  #index(handle: number): MemoryIndex {
    const index = this.#indexes.get(handle);
    if (index === undefined) throw engineError('internal', `no index has the handle ${handle}`);
    return index;
  }
}

type Json = Record<string, unknown>;

function engineError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

interface Stored {
  primaryKey: string | null;
  settings: Json | null;
  documents: Json[];
  updatedAt: string | null;
  lastBatch: IndexState['lastBatch'];
}

class MemoryIndex {
  readonly dir: string;
  readonly #persist: boolean;
  primaryKey: string | null = null;
  settings: Json | null = null;
  documents = new Map<string, Json>();
  updatedAt: string | null = null;
  lastBatch: IndexState['lastBatch'] = null;
  canceled = false;
  running: BatchJob | null = null;

  constructor(dir: string, persist: boolean) {
    this.dir = dir;
    this.#persist = persist;
    if (!persist) return;
    mkdirSync(dir, { recursive: true });
    const file = join(dir, 'index.json');
    if (!existsSync(file)) return;
    const stored = JSON.parse(readFileSync(file, 'utf8')) as Stored;
    this.primaryKey = stored.primaryKey;
    this.settings = stored.settings;
    this.updatedAt = stored.updatedAt;
    this.lastBatch = stored.lastBatch;
    for (const document of stored.documents) this.documents.set(this.idOf(document), document);
  }

  copy(): MemoryIndex {
    const copy = new MemoryIndex(this.dir, false);
    return Object.assign(copy, {
      primaryKey: this.primaryKey,
      settings: this.settings,
      documents: new Map(this.documents),
      updatedAt: this.updatedAt,
      lastBatch: this.lastBatch,
    });
  }

  commit(next: MemoryIndex): void {
    const { primaryKey, settings, documents, updatedAt, lastBatch } = next;
    Object.assign(this, { primaryKey, settings, documents, updatedAt, lastBatch });
    if (!this.#persist) return;
    const stored: Stored = {
      primaryKey,
      settings,
      documents: [...documents.values()],
      updatedAt,
      lastBatch,
    };
    const file = join(this.dir, 'index.json');
    writeFileSync(`${file}.tmp`, JSON.stringify(stored));
    renameSync(`${file}.tmp`, file);
  }

  state(): IndexState {
    const fieldDistribution: Record<string, number> = {};
    let bytes = 0;
    for (const document of this.documents.values()) {
      const { _vectors, ...attributes } = document as Record<string, unknown>;
      bytes += Buffer.byteLength(JSON.stringify(attributes));
      for (const field of Object.keys(attributes)) {
        fieldDistribution[field] = (fieldDistribution[field] ?? 0) + 1;
      }
    }
    return {
      primaryKey: this.primaryKey,
      numberOfEmbeddings: 0,
      numberOfEmbeddedDocuments: 0,
      numberOfDocuments: this.documents.size,
      rawDocumentDbSize: bytes,
      diskBytes: bytes + 4096,
      usedBytes: bytes,
      fieldDistribution: Object.fromEntries(Object.entries(fieldDistribution).sort()),
      updatedAt: this.updatedAt,
      lastBatch: this.lastBatch,
    };
  }

  apply(step: BatchStep, payloads: Buffer[]): StepResult {
    const { task } = step;
    const before = this.documents.size;
    try {
      switch (step.kind) {
        case 'documents':
          return { task, indexedDocuments: this.#add(step, payloads) };
        case 'deleteIds':
          for (const id of idsOf(step, payloads)) this.documents.delete(id);
          return { task, deletedDocuments: before - this.documents.size };
        case 'deleteFilter':
          for (const document of this.matching(step.filter, 'invalid_document_filter')) {
            this.documents.delete(this.idOf(document));
          }
          return { task, deletedDocuments: before - this.documents.size };
        case 'deleteExpired':
          return { task, deletedDocuments: 0 };
        case 'clear':
          this.documents.clear();
          return { task, deletedDocuments: before };
        case 'settings':
          this.settings = plain(
            longTogether(step.settings, (name) => payloads[step.long![name]!]!),
          );
          return { task };
        case 'primaryKey':
          if (before > 0 && this.primaryKey !== step.primaryKey) {
            throw engineError(
              'index_primary_key_already_exists',
              `The index has documents with the primary key \`${this.primaryKey}\`.`,
            );
          }
          this.primaryKey = step.primaryKey;
          return { task };
      }
    } catch (error) {
      const { code, message } = error as Error & { code?: string };
      return { task, error: { code: code ?? 'internal', message } };
    }
  }

  #add(step: Extract<BatchStep, { kind: 'documents' }>, payloads: Buffer[]): number {
    const { payload, format, method, skipCreation } = step;
    const text =
      'file' in payload ? readFileSync(payload.file, 'utf8') : payloads[payload.buffer]!.toString();
    const documents = parseDocuments(text, format);
    const keyBefore = this.primaryKey;
    if (this.primaryKey === null) {
      if (step.primaryKey !== null) this.primaryKey = step.primaryKey;
      else if (documents.length > 0) this.primaryKey = guessPrimaryKey(documents[0]!);
    }
    let ids: string[];
    try {
      ids = documents.map((document) => this.idOf(document));
    } catch (error) {
      this.primaryKey = keyBefore;
      throw error;
    }
    documents.forEach((document, n) => {
      const id = ids[n]!;
      const stored = this.documents.get(id);
      if (stored === undefined && skipCreation) return;
      this.documents.set(id, method === 'replace' ? document : { ...stored, ...document });
    });
    return new Set(ids).size;
  }

  idOf(document: Json): string {
    const value = valueAt(document, this.primaryKey!);
    const text = JSON.stringify(document).slice(0, 100);
    if (value === undefined) {
      throw engineError(
        'missing_document_id',
        `No \`${this.primaryKey}\` in the document ${text}.`,
      );
    }
    const valid =
      typeof value === 'string'
        ? /^[A-Za-z0-9_-]{1,511}$/.test(value)
        : typeof value === 'number' && Number.isInteger(value);
    if (!valid) {
      throw engineError('invalid_document_id', `Invalid id ${JSON.stringify(value)} in ${text}.`);
    }
    return String(value);
  }

  matching(filter: unknown, code = 'invalid_search_filter'): Json[] {
    const documents = [...this.documents.values()];
    if (filter === undefined || filter === null) return documents;
    const rules = (this.settings?.filterableAttributes ?? []) as unknown[];
    const names = rules.flatMap((rule) =>
      typeof rule === 'string'
        ? [rule]
        : (rule as { attributePatterns: string[] }).attributePatterns,
    );
    return documents.filter(compileFilter(filter, names, code));
  }
}

/** Flat keys before nested ones; arrays are not entered. */
function valueAt(document: Json, path: string): unknown {
  if (Object.hasOwn(document, path)) return document[path];
  for (let dot = path.indexOf('.'); dot > 0; dot = path.indexOf('.', dot + 1)) {
    const inner = document[path.slice(0, dot)];
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) continue;
    const value = valueAt(inner as Json, path.slice(dot + 1));
    if (value !== undefined) return value;
  }
  return undefined;
}

function guessPrimaryKey(document: Json): string {
  const candidates = Object.keys(document)
    .filter((name) => name.toLowerCase().endsWith('id'))
    .sort();
  if (candidates.length === 0) {
    throw engineError(
      'index_primary_key_no_candidate_found',
      'No attribute ends in `id`. Name the primary key in the request.',
    );
  }
  if (candidates.length > 1) {
    throw engineError(
      'index_primary_key_multiple_candidates_found',
      `${candidates.length} attributes end in \`id\`: \`${candidates[0]}\`, \`${candidates[1]}\`. ` +
        'Name the primary key in the request.',
    );
  }
  return candidates[0]!;
}

function parseDocuments(text: string, format: 'json' | 'ndjson'): Json[] {
  let values: unknown[];
  try {
    if (format === 'json') {
      const value = JSON.parse(text) as unknown;
      values = Array.isArray(value) ? value : [value];
    } else {
      values = text
        .split('\n')
        .filter((line) => line.trim() !== '')
        .map((line) => JSON.parse(line) as unknown);
    }
  } catch (error) {
    throw engineError(
      'malformed_payload',
      `The payload does not parse: ${(error as Error).message}.`,
    );
  }
  for (const value of values) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw engineError('malformed_payload', `A document must be an object, not ${typeof value}.`);
    }
  }
  return values as Json[];
}

function parseCsv(text: string, delimiter: string): Json[] {
  const rows: string[][] = [[]];
  let cell = '';
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!;
    if (quoted) {
      if (char === '"' && text[i + 1] === '"') cell += text[++i];
      else if (char === '"') quoted = false;
      else cell += char;
    } else if (char === '"' && cell === '') quoted = true;
    else if (char === delimiter || char === '\n') {
      rows.at(-1)!.push(cell.replace(/\r$/, ''));
      cell = '';
      if (char === '\n') rows.push([]);
    } else cell += char;
  }
  rows.at(-1)!.push(cell);
  const [header = [], ...lines] = rows.filter((row) => row.length > 1 || row[0] !== '');
  return lines.map((line, n) => {
    if (line.length !== header.length) {
      throw engineError('malformed_payload', `Line ${n + 1} has ${line.length} fields.`);
    }
    return Object.fromEntries(
      line.map((value, column) => typedCell(header[column]!, value, n + 1)),
    );
  });
}

function typedCell(header: string, value: string, line: number): [string, unknown] {
  const [, name = header, type = 'string'] = /^(.*):(string|number|boolean)$/.exec(header) ?? [];
  const trimmed = value.trim();
  if (type === 'string') return [name, value === '' ? null : value];
  if (trimmed === '') return [name, null];
  if (type === 'boolean' && /^(true|false)$/.test(trimmed)) return [name, trimmed === 'true'];
  if (type === 'number' && !Number.isNaN(Number(trimmed))) return [name, Number(trimmed)];
  throw engineError('malformed_payload', `Line ${line}, column \`${name}\`: \`${value}\`.`);
}

function shown(document: Json, fields: string[] | null | undefined): Json {
  const entries = Object.entries(document).filter(
    ([name]) =>
      name !== '_vectors' &&
      (fields === null || fields === undefined || fields.includes('*') || fields.includes(name)),
  );
  return Object.fromEntries(entries);
}

function searchIn(index: MemoryIndex, request: Json): Json {
  const query = (request.q as string | null | undefined) ?? '';
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = index.matching(request.filter).filter((document) => {
    const text = JSON.stringify(document).toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const { offset, limit } = request as { offset: number; limit: number };
  const displayed = index.settings?.displayedAttributes as string[] | undefined;
  const fields = displayed === undefined || displayed.includes('*') ? null : displayed;
  const body: Json = request.indexUid === undefined ? {} : { indexUid: request.indexUid };
  body.hits = found.slice(offset, offset + limit).map((document) => shown(document, fields));
  body.query = query;
  body.processingTimeMs = 0;
  body.limit = limit;
  body.offset = offset;
  body.estimatedTotalHits = found.length;
  if (request.requestUid !== undefined) body.requestUid = request.requestUid;
  if (request.metadata !== undefined) body.metadata = request.metadata;
  return body;
}

/** The head that belongs to the body. */
function resultOf(body: Json): EngineResult {
  const { processingTimeMs, estimatedTotalHits } = body as Record<string, number>;
  return {
    bytes: Buffer.from(JSON.stringify(body)),
    head: {
      processingTimeMs: processingTimeMs!,
      degraded: false,
      totalHits: estimatedTotalHits ?? null,
    },
  };
}

type Predicate = (document: Json) => boolean;

/** @param names filterable attributes; null: syntax only */
function compileFilter(filter: unknown, names: string[] | null, code: string): Predicate {
  if (Array.isArray(filter)) {
    const parts = filter.map((part) => {
      if (!Array.isArray(part)) return compileFilter(part, names, code);
      const either = part.map((item) => compileFilter(item, names, code));
      return (document: Json) => either.some((test) => test(document));
    });
    return (document) => parts.every((test) => test(document));
  }
  if (typeof filter !== 'string') throw engineError(code, 'A filter is a text or an array.');
  if (filter.trim() === '') return () => true;
  return new FilterText(filter, names, code).parse();
}

const TOKEN = /\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|!=|>=|<=|[=<>()[\],]|[^\s=<>!()[\],"']+)/gy;

class FilterText {
  readonly #tokens: string[] = [];
  readonly #names: string[] | null;
  readonly #code: string;
  #at = 0;

  constructor(text: string, names: string[] | null, code: string) {
    this.#names = names;
    this.#code = code;
    let end = 0;
    for (const match of text.matchAll(TOKEN)) {
      this.#tokens.push(match[1]!);
      end = match.index + match[0].length;
    }
    if (text.slice(end).trim() !== '') this.#fail(`\`${text.slice(end)}\` is not expected`);
  }

  parse(): Predicate {
    const test = this.#or();
    if (this.#at < this.#tokens.length) this.#fail(`\`${this.#tokens[this.#at]}\` is not expected`);
    return test;
  }

  #fail(reason: string): never {
    throw engineError(this.#code, `Invalid filter: ${reason}.`);
  }

  #is(keyword: string): boolean {
    if (this.#tokens[this.#at]?.toUpperCase() !== keyword) return false;
    this.#at++;
    return true;
  }

  #or(): Predicate {
    const tests = [this.#and()];
    while (this.#is('OR')) tests.push(this.#and());
    return (document) => tests.some((test) => test(document));
  }

  #and(): Predicate {
    const tests = [this.#not()];
    while (this.#is('AND')) tests.push(this.#not());
    return (document) => tests.every((test) => test(document));
  }

  #not(): Predicate {
    if (this.#is('NOT')) {
      const test = this.#not();
      return (document) => !test(document);
    }
    if (this.#is('(')) {
      const test = this.#or();
      if (!this.#is(')')) this.#fail('a parenthesis is not closed');
      return test;
    }
    return this.#comparison();
  }

  #word(): string {
    const token = this.#tokens[this.#at++];
    if (token === undefined || /^[=<>!()[\],]/.test(token)) this.#fail('a value is missing');
    return /^["']/.test(token) ? token.slice(1, -1).replace(/\\(.)/g, '$1') : token;
  }

  #comparison(): Predicate {
    const name = this.#word();
    if (this.#names !== null && !this.#names.includes(name) && !this.#names.includes('*')) {
      throw engineError(this.#code, `Attribute \`${name}\` is not filterable.`);
    }
    const values = (document: Json): unknown[] => {
      const value = valueAt(document, name);
      return value === undefined ? [] : Array.isArray(value) ? value : [value];
    };
    const equals = (value: unknown, text: string): boolean =>
      String(value).toLowerCase() === text.toLowerCase() && value !== null;
    if (this.#is('EXISTS')) return (document) => valueAt(document, name) !== undefined;
    if (this.#is('IN')) {
      if (!this.#is('[')) this.#fail('IN needs a list');
      const wanted: string[] = [];
      while (!this.#is(']')) {
        wanted.push(this.#word());
        if (!this.#is(',') && this.#tokens[this.#at] !== ']') this.#fail('a list is not closed');
      }
      return (document) => values(document).some((v) => wanted.some((text) => equals(v, text)));
    }
    const operator = this.#tokens[this.#at++] ?? '';
    if (!['=', '!=', '<', '<=', '>', '>='].includes(operator)) this.#fail('an operator is missing');
    const text = this.#word();
    if (operator === '=') return (document) => values(document).some((v) => equals(v, text));
    if (operator === '!=') return (document) => !values(document).some((v) => equals(v, text));
    const bound = Number(text);
    if (Number.isNaN(bound)) this.#fail(`\`${text}\` is not a number`);
    const holds: Record<string, (value: number) => boolean> = {
      '<': (value) => value < bound,
      '<=': (value) => value <= bound,
      '>': (value) => value > bound,
      '>=': (value) => value >= bound,
    };
    return (document) => values(document).some((v) => typeof v === 'number' && holds[operator]!(v));
  }
}

function idsOf(step: Extract<BatchStep, { kind: 'deleteIds' }>, payloads: Buffer[]): string[] {
  if ('ids' in step) return step.ids;
  const { payload } = step;
  const list = 'file' in payload ? readFileSync(payload.file) : payloads[payload.buffer]!;
  return JSON.parse(list.toString()) as string[];
}

function plain(value: Json): Json {
  return JSON.parse(JSON.stringify(value)) as Json;
}
