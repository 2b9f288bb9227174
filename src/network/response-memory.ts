/** Bytes of answers of remotes that are held until what is made of them is ready. */
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

  /** What `run` takes is given back when it has ended. */
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

/** The answers that one request holds. */
export interface HeldResponses {
  /** False: there is no room for so many more bytes, and none are taken. */
  take(bytes: number): boolean;
  /** Of what was taken. */
  giveBack(bytes: number): void;
}
