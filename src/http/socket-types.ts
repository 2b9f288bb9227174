/** The members of uWebSockets.js that are used here, common to its versions 20.51 and 20.69. */
export declare namespace Socket {
  interface Library {
    App(): App;
    SSLApp(options: TlsOptions): App;
    LIBUS_LISTEN_EXCLUSIVE_PORT: number;
    us_listen_socket_close(token: ListenToken): void;
    us_socket_local_port(token: ListenToken): number;
  }

  interface TlsOptions {
    key_file_name: string;
    cert_file_name: string;
    ca_file_name?: string;
  }

  interface ListenToken {
    readonly listenToken: unique symbol;
  }

  type AppDescriptor = { readonly appDescriptor: unique symbol };

  interface App {
    any(pattern: string, handler: (res: Response, req: Request) => void): App;
    listen(
      host: string,
      port: number,
      options: number,
      callback: (token: ListenToken | false) => void,
    ): App;
    listen_unix(callback: (token: ListenToken | false) => void, path: string): App;
    close(): App;
    /** Stands for the app of a thread; can be sent to another thread. */
    getDescriptor(): AppDescriptor;
    /** From now on this app hands each new connection to one of its children. */
    addChildAppDescriptor(descriptor: AppDescriptor): App;
  }

  /** Invalid after the handler returns. */
  interface Request {
    /** As sent. */
    getCaseSensitiveMethod(): string;
    getUrl(): string;
    getQuery(): string | undefined;
    forEach(callback: (name: string, value: string) => void): void;
  }

  interface Response {
    onAborted(listener: () => void): Response;
    /** ASCII, IPv6 in eight groups of four digits; empty for a unix socket. */
    getRemoteAddressAsText(): ArrayBuffer;
    /** `chunk` is detached when the callback returns. */
    onData(listener: (chunk: ArrayBuffer, last: boolean) => void): Response;
    /** Returns whether everything so far has been written. `offset`: bytes sent so far. */
    onWritable(listener: (offset: number) => boolean): Response;
    pause(): void;
    resume(): void;
    cork(callback: () => void): Response;
    writeStatus(status: string): Response;
    writeHeader(name: string, value: string): Response;
    write(chunk: string | Buffer): boolean;
    end(body?: string | Buffer, closeConnection?: boolean): Response;
    tryEnd(rest: Buffer, total: number): [sent: boolean, complete: boolean];
    endWithoutBody(): Response;
    /** Bytes of the body that have been written. */
    getWriteOffset(): number;
    /** Drops the connection; the abort listener is called. */
    close(): void;
  }
}
