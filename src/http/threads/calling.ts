/** Questions of an HTTP thread to the main thread. */
import type { MessagePort } from 'node:worker_threads';
import { ApiError } from '../../contract/errors.ts';
import type { Call, CallName, Calls, ToThread } from './messages.ts';

interface Waiting {
  resolve(result: never): void;
  reject(error: ApiError): void;
}

export class Calling {
  readonly #port: MessagePort;
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;

  constructor(port: MessagePort) {
    this.#port = port;
  }

  /** Rejects with `ApiError`. */
  ask<Name extends CallName>(
    name: Name,
    asked: Calls[Name]['asked'],
    signal?: AbortSignal,
  ): Promise<Calls[Name]['result']> {
    return new Promise((resolve, reject) => {
      const call = ++this.#last;
      this.#waiting.set(call, { resolve, reject });
      this.#port.postMessage({ is: 'call', call, name, asked } as Call, []);
      const cancel = (): void => this.#port.postMessage({ is: 'cancel', call }, []);
      if (signal?.aborted === true) cancel();
      else signal?.addEventListener('abort', cancel, { once: true });
    });
  }

  take(message: Extract<ToThread, { is: 'result' | 'fault' }>): void {
    const waiting = this.#waiting.get(message.call);
    this.#waiting.delete(message.call);
    if (message.is === 'result') waiting?.resolve(message.result as never);
    else {
      const { code, message: text, status } = message.fault;
      waiting?.reject(new ApiError(code, text, status));
    }
  }
}
