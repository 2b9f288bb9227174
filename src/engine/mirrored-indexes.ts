/** The indexes that the main thread has, for a thread that searches them. */
import { type CancelSignal, NEVER_CANCELED } from '../base/cancel-signal.ts';
import { ApiError } from '../contract/errors.ts';
import { fromEngine } from './errors.ts';
import { cancelable } from './handle.ts';
import type { EngineResult, EngineText, ListingPart, NativeAddon } from './native.ts';
import type {
  SearchedHandle,
  SearchedIndex,
  SearchedIndexes,
  SearchedSettings,
} from './searched-index.ts';
import type { SharedHandles } from './shared-handles.ts';

/** A handle and its slot: see `SharedHandles`. */
export interface OpenSlot {
  handle: number;
  slot: number;
}

/** The state of an index. */
export interface IndexCopy {
  folder: string;
  /** null: it is closed. */
  open: OpenSlot | null;
  primaryKey: string | null;
  /** null: not read yet. */
  settings: SearchedSettings | null;
}

export interface MirrorOptions {
  native: NativeAddon;
  shared: SharedHandles;
  /** Has the main thread open an index and count this thread in. Rejects with `ApiError`. */
  open: (folder: string) => Promise<OpenSlot>;
  /** The uid that an alias stands for. */
  targetOf: (alias: string) => string | undefined;
}

export class MirroredIndexes implements SearchedIndexes {
  readonly #options: MirrorOptions;
  readonly #folders = new Map<string, string>();
  readonly #indexes = new Map<string, MirroredIndex>();

  constructor(options: MirrorOptions) {
    this.#options = options;
  }

  get native(): NativeAddon {
    return this.#options.native;
  }

  get(name: string): MirroredIndex | undefined {
    const folder = this.#folders.get(name);
    if (folder !== undefined) return this.#indexes.get(folder);
    const target = this.#options.targetOf(name);
    const other = target === undefined ? undefined : this.#folders.get(target);
    return other === undefined ? undefined : this.#indexes.get(other);
  }

  /** @param copy null: the uid stands for no index any more */
  name(uid: string, copy: IndexCopy | null): void {
    const before = this.#folders.get(uid);
    if (copy === null) this.#folders.delete(uid);
    else {
      this.#folders.set(uid, copy.folder);
      if (this.#indexes.has(copy.folder)) this.change(copy);
      else this.#indexes.set(copy.folder, new MirroredIndex(copy, this.#options));
    }
    if (before === undefined || before === copy?.folder) return;
    if (![...this.#folders.values()].includes(before)) this.#indexes.delete(before);
  }

  /** Does nothing if no uid stands for the index. */
  change(copy: IndexCopy): void {
    const known = this.#indexes.get(copy.folder);
    if (known !== undefined) known.copy = copy;
  }
}

class MirroredIndex implements SearchedIndex {
  readonly handle: SearchedHandle;
  copy: IndexCopy;
  readonly #options: MirrorOptions;

  constructor(copy: IndexCopy, options: MirrorOptions) {
    this.copy = copy;
    this.#options = options;
    this.handle = new MirroredHandle(this, options);
  }

  /** Whether everything is known that the checks of a request need. */
  get isReady(): boolean {
    return this.copy.settings !== null;
  }

  /** REQUIRES: `isReady` */
  get settings(): SearchedSettings {
    return this.copy.settings!;
  }

  get summary(): { primaryKey: string | null } {
    return this.copy;
  }

  /** Resolves when the index is ready. */
  async prepare(): Promise<void> {
    const { open, shared } = this.#options;
    shared.leave((await open(this.copy.folder)).slot);
  }
}

class MirroredHandle implements SearchedHandle {
  readonly #index: MirroredIndex;
  readonly #options: MirrorOptions;
  /** For `release`, the slots that `hold` has entered. */
  readonly #held: OpenSlot[] = [];

  constructor(index: MirroredIndex, options: MirrorOptions) {
    this.#index = index;
    this.#options = options;
  }

  search(
    request: EngineText,
    signal: CancelSignal = NEVER_CANCELED,
    timed = false,
  ): Promise<EngineResult> {
    const { native } = this.#options;
    return this.#cancelable(signal, (handle, id) => native.search(handle, request, id, timed));
  }

  facetSearch(
    request: EngineText,
    signal: CancelSignal = NEVER_CANCELED,
    timed = false,
  ): Promise<EngineResult> {
    const { native } = this.#options;
    return this.#cancelable(signal, (handle, id) => native.facetSearch(handle, request, id, timed));
  }

  similar(
    request: EngineText,
    signal: CancelSignal = NEVER_CANCELED,
    timed = false,
  ): Promise<EngineResult> {
    const { native } = this.#options;
    return this.#cancelable(signal, (handle, id) => native.similar(handle, request, id, timed));
  }

  fetchDocuments(request: EngineText, signal: CancelSignal = NEVER_CANCELED): Promise<ListingPart> {
    const { native } = this.#options;
    return this.#cancelable(signal, (handle, id) => native.fetchDocuments(handle, request, id));
  }

  getDocument(
    id: string,
    fields: string[] | null,
    retrieveVectors: boolean,
  ): Promise<Buffer | null> {
    const { native } = this.#options;
    return this.#use((handle) => native.getDocument(handle, id, fields, retrieveVectors));
  }

  async hold(): Promise<number> {
    const open = await this.#enter();
    this.#held.push(open);
    return open.handle;
  }

  release(): void {
    this.#options.shared.leave(this.#held.pop()!.slot);
  }

  #cancelable<T>(
    signal: CancelSignal,
    start: (handle: number, cancelId: number) => Promise<T>,
  ): Promise<T> {
    const { native } = this.#options;
    return this.#use((handle) => cancelable(native, signal, (id) => start(handle, id)));
  }

  async #use<T>(work: (handle: number) => Promise<T> | T): Promise<T> {
    const entered = this.#enter();
    const open = entered instanceof Promise ? await entered : entered;
    try {
      return await work(open.handle);
    } catch (error) {
      throw this.#isDeleted(open) ? deletedMeanwhile() : fromEngine(error);
    } finally {
      this.#options.shared.leave(open.slot);
    }
  }

  #enter(): OpenSlot | Promise<OpenSlot> {
    const { open } = this.#index.copy;
    const { shared } = this.#options;
    if (open !== null && shared.enter(open.slot, open.handle)) return open;
    return this.#options.open(this.#index.copy.folder);
  }

  /** An index in use is closed only when it is deleted. */
  #isDeleted({ slot, handle }: OpenSlot): boolean {
    const { shared } = this.#options;
    if (!shared.enter(slot, handle)) return true;
    shared.leave(slot);
    return false;
  }
}

function deletedMeanwhile(): ApiError {
  return new ApiError('index_not_found', 'The index was deleted meanwhile.');
}
