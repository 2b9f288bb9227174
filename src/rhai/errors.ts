export interface Position {
  /** Line number, from 1. */
  line: number;
  /** Column in code units, from 1. */
  column: number;
}

/** A script does not compile. */
export class ScriptSyntaxError extends Error {
  readonly position: Position;
  constructor(message: string, position: Position) {
    super(`${message} (line ${position.line}, position ${position.column})`);
    this.position = position;
  }
}

/** An error in a running script. */
export class ScriptError extends Error {
  /** Whether a limit was reached. The script cannot catch such an error. */
  readonly fatal: boolean;
  position: Position | null = null;

  constructor(message: string, fatal = false) {
    super(message);
    this.fatal = fatal;
  }

  /** Sets the position, unless an inner one was set before. */
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
