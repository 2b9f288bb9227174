/** Limits the bytes of responses of remotes that are held until they are merged. */
export class ResponseMemory {
  readonly #heldBytesMax: number;
  readonly #bytesMax: number;
  #bytes = 0;

  /**
   * @param heldBytesMax for one request
   * @param bytesMax for all requests
   */
  constructor(heldBytesMax: number, bytesMax: number) {
    this.#heldBytesMax = heldBytesMax;
    this.#bytesMax = bytesMax;
  }

  /** `run` may take bytes; those that it has not given back are released when it ends. */
  async holding<T>(run: (held: HeldResponses) => Promise<T>): Promise<T> {
    let own = 0;
    const give = (bytes: number): void => {
      own -= bytes;
      this.#bytes -= bytes;
    };
    try {
      return await run({
        take: (bytes) => {
          if (own + bytes > this.#heldBytesMax || this.#bytes + bytes > this.#bytesMax)
            return false;
          give(-bytes);
          return true;
        },
        giveBack: give,
      });
    } finally {
      give(own);
    }
  }
}

/** The responses that one request holds. */
export interface HeldResponses {
  /** False: the bytes would exceed a limit, and none are taken. */
  take(bytes: number): boolean;
  /** Gives back bytes that were taken. */
  giveBack(bytes: number): void;
}
