/** What the main thread and the HTTP threads send each other. */
import type { ErrorCode } from '../../contract/errors.ts';
import type { SearchRequest } from '../../contract/search.ts';
import type { LogEvent, LogFilter } from '../../base/logger.ts';
import type { KnownSearches } from '../../search/insights.ts';
import type { IndexCopy, OpenSlot } from '../../engine/mirrored-indexes.ts';
import type { Connection, HeaderList } from '../connection.ts';
import type { Observation } from '../metrics.ts';
import type { PhaseName } from '../phase.ts';
import type { RerankedQuery } from '../../search/run/local.ts';
import type { Socket } from '../socket-types.ts';

/** Memory of a large chunk of a body; it goes to and fro between two threads. */
export const CHUNK_BYTES = 512 * 1024;

/** A request that a thread has received and the main thread serves. */
export interface ForwardedHead extends Pick<
  Connection,
  'method' | 'path' | 'query' | 'headers' | 'headBytes' | 'framingFault'
> {
  address: string;
}

/** Events of a request under way, by the number that the thread has given it. */
export type RequestEvent =
  | { is: 'request'; id: number; head: ForwardedHead }
  | { is: 'chunk'; id: number; bytes: Uint8Array<ArrayBuffer>; last: boolean }
  /** The client has taken this many bytes of a stream. */
  | { is: 'sent'; id: number; bytes: number }
  | { is: 'abort'; id: number };

export type ResponseEvent =
  /** Bytes of the body have been used. `memory`: that of a large chunk, for the next one. */
  | { is: 'used'; id: number; bytes: number; memory: ArrayBuffer | null }
  | ({ is: 'respond'; id: number; body: Uint8Array<ArrayBuffer> | string | null } & ResponseHead)
  | ({ is: 'stream'; id: number } & ResponseHead)
  | { is: 'part'; id: number; bytes: Uint8Array<ArrayBuffer> }
  | { is: 'end'; id: number }
  | { is: 'cut'; id: number };

export interface ResponseHead {
  status: number;
  headers: HeaderList;
  closes: boolean;
}

/** Questions of a thread, with the types of their results. */
export interface Calls {
  /** Opens the index of a folder and counts the thread in: see `SharedHandles.enter`. */
  open: { asked: { folder: string }; result: OpenSlot };
  /** See `EmbedQuery`. */
  embed: {
    asked: {
      uid: string;
      embedder: string;
      query: Pick<SearchRequest, 'q' | 'media'>;
      deadline: number;
    };
    result: Float32Array;
  };
  /** See `RerankHits`. */
  rerank: {
    asked: { uid: string; model: string; query: RerankedQuery; deadline: number };
    result: readonly number[] | null;
  };
}

export type CallName = keyof Calls;

export type Call = {
  [Name in CallName]: { is: 'call'; call: number; name: Name; asked: Calls[Name]['asked'] };
}[CallName];

export interface CallFault {
  code: ErrorCode;
  message: string;
  status: number;
}

/** What happened in a thread, for the log and the metrics. */
export interface Notes {
  logged: LogEvent[];
  counted: Observation[];
}

export type FromThread =
  | RequestEvent
  | Call
  /** Nobody waits for the result of the call any more. */
  | { is: 'cancel'; call: number }
  /** The thread serves the connections that `descriptor` stands for. */
  | { is: 'ready'; descriptor: Socket.AppDescriptor }
  | { is: 'notes'; notes: Notes }
  /** Everything that was noted before a `flush` has been sent. */
  | { is: 'flushed' }
  | { is: 'insights'; known: KnownSearches }
  | { is: 'canceled'; found: boolean }
  | { is: 'drained' };

export type ToThread =
  | ResponseEvent
  | { is: 'result'; call: number; result: unknown }
  | { is: 'fault'; call: number; fault: CallFault }
  | { is: 'flush' }
  /** @see Insights.totals */
  | { is: 'insights'; hours: number }
  | { is: 'cancelSearch'; id: string }
  | { is: 'drain'; graceMs: number }
  /** Drop all connections and end. */
  | { is: 'close' }
  /** Drop all connections at once, and count this in `ThreadOptions.closed`. */
  | { is: 'drop' };

/** A change of the state that threads copy. */
export type StateChange =
  /** undefined: the record is removed. */
  | { is: 'record'; table: MirroredTable; key: string; value: unknown }
  /** null: the uid stands for no index any more. */
  | { is: 'name'; uid: string; index: IndexCopy | null }
  /** An index that has a uid has changed; otherwise it means nothing. */
  | { is: 'index'; index: IndexCopy }
  | { is: 'phase'; phase: PhaseName }
  | { is: 'logged'; filter: LogFilter };

export type MirroredTable = 'keys' | 'aliases' | 'search-rules' | 'features';
