export interface Position {
  /** From 1. */
  line: number;
  /** In code units, from 1. */
  column: number;
}

/** A script that does not compile. */
export class ScriptSyntaxError extends Error {
  readonly position: Position;
  constructor(message: string, position: Position) {
    super(`${message} (line ${position.line}, position ${position.column})`);
    this.position = position;
  }
}

/** An error while a script runs. */
export class ScriptError extends Error {
  /** A script cannot catch it: a limit was reached. */
  readonly fatal: boolean;
  position: Position | null = null;

  constructor(message: string, fatal = false) {
    super(message);
    this.fatal = fatal;
  }

  /** The innermost position wins. */
  at(position: Position): this {
    this.position ??= position;
    return this;
  }

  describe(): string {
    if (this.position === null) return this.message;
    return `${this.message} (line ${this.position.line}, position ${this.position.column})`;
  }
}

export function fail(message: string): never {
  throw new ScriptError(message);
}
