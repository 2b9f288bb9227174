/**
 * One function over many documents: what it leaves of each. The semantics are those of `documents/edit`, see
 * `docs/behaviour/edit-functions.md`.
 */
import { jsonText } from './builtins.ts';
import { asScriptError, compile, type CompiledScript, type GlobalVariable } from './compile.ts';
import { ScriptError, ScriptSyntaxError } from './errors.ts';
import { JsonCursor, readJson } from './json.ts';
import { type Cell, copyOf, FnPtr, ObjectMap, typeName, type Value } from './values.ts';

/** Bytes of a function; a longer one is refused. Keeps the time bounded that compiling takes. */
const FUNCTION_BYTES_MAX = 100_000;

const DOC: GlobalVariable = { name: 'doc', constant: false };
const CONTEXT: GlobalVariable = { name: 'context', constant: true };

/** Throws `ScriptSyntaxError`. */
export function compileEdit(text: string, withContext: boolean): CompiledScript {
  if (Buffer.byteLength(text) > FUNCTION_BYTES_MAX) {
    const start = { line: 1, column: 1 };
    throw new ScriptSyntaxError(`A function has at most ${FUNCTION_BYTES_MAX} bytes`, start);
  }
  try {
    return compile(text, withContext ? [DOC, CONTEXT] : [DOC]);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    // The stack of the thread came to its end.
    throw new ScriptSyntaxError('Expressions are nested too deep', { line: 1, column: 1 });
  }
}

/** What a page of documents becomes. */
export interface EditedPage {
  /** The documents that changed, one JSON text a line. */
  ndjson: string;
  edited: number;
  /** External ids of the documents to delete. */
  deleted: string[];
}

export class DocumentEditor {
  readonly #script: CompiledScript;
  readonly #context: Value | undefined;
  readonly #primaryKey: string;

  /** @param context JSON text, null without one */
  constructor(text: string, context: string | null, primaryKey: string) {
    this.#script = compileEdit(text, context !== null);
    this.#context = context === null ? undefined : readJson(context);
    this.#primaryKey = primaryKey;
  }

  /**
   * @param page JSON text of an answer to `documents/fetch`, with vectors
   * Throws `ScriptError` when the function fails for a document.
   */
  page(page: string): EditedPage {
    const cursor = new JsonCursor(page);
    const lines: string[] = [];
    const deleted: string[] = [];
    cursor.expect('{');
    cursor.expect('"results"');
    cursor.expect(':');
    cursor.expect('[');
    if (!cursor.accept(']')) {
      do {
        cursor.skipSpace();
        const begin = cursor.position;
        const doc = cursor.value();
        const stored = page.slice(begin, cursor.position);
        if (!(doc instanceof ObjectMap)) throw new Error('a document is an object');
        const edited = this.#edit(doc, stored);
        if (edited === null) deleted.push(idText(this.#idOf(readJson(stored) as ObjectMap)));
        else if (edited !== undefined) lines.push(edited, '\n');
      } while (cursor.accept(','));
    }
    return { ndjson: lines.join(''), edited: lines.length / 2, deleted };
  }

  /** @returns the new text, null to delete, undefined when nothing changed */
  #edit(doc: ObjectMap, stored: string): string | null | undefined {
    // A document without vectors has an empty object of them when vectors are asked for.
    const vectors = doc.get('_vectors');
    if (vectors instanceof ObjectMap && vectors.size === 0) doc.delete('_vectors');
    const id = this.#idOf(doc);
    const name = idText(id);
    const variable: Cell = { v: doc };
    const globals: Cell[] = [variable];
    if (this.#context !== undefined) globals.push({ v: copyOf(this.#context) });
    try {
      this.#script.run(globals);
    } catch (error) {
      const failed = asScriptError(error);
      throw new ScriptError(`For the document \`${name}\`: ${failed.describe()}`);
    }
    const left = variable.v;
    if (left === null) return null;
    if (!(left instanceof ObjectMap)) {
      throw new ScriptError(`For the document \`${name}\`: \`doc\` is left as ${typeName(left)}`);
    }
    const kept = this.#idOf(left);
    if (kept === undefined || !same(kept, id)) {
      throw new ScriptError(`For the document \`${name}\`: the primary key was changed`);
    }
    const text = jsonText(left);
    if (text === stored) return undefined;
    const before = readJson(stored) as ObjectMap;
    if (!left.has('_vectors') && vectors instanceof ObjectMap && vectors.size === 0) {
      before.delete('_vectors');
    }
    return same(left, before) ? undefined : text;
  }

  /** The value of the primary key, which may be a path. */
  #idOf(doc: ObjectMap): Value | undefined {
    const whole = doc.get(this.#primaryKey);
    if (whole !== undefined) return whole;
    let value: Value | undefined = doc;
    for (const name of this.#primaryKey.split('.')) {
      value = value instanceof ObjectMap ? value.get(name) : undefined;
    }
    return value;
  }
}

function idText(id: Value | undefined): string {
  return typeof id === 'string' ? id : String(id);
}

/** Equal in every type, in whatever order the keys are. */
function same(a: Value, b: Value | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, n) => same(item, b[n]));
  }
  if (a instanceof ObjectMap) {
    if (!(b instanceof ObjectMap) || a.size !== b.size) return false;
    for (const [key, item] of a) if (!same(item, b.get(key))) return false;
    return true;
  }
  return (
    !(a instanceof FnPtr) && b !== undefined && typeof a === 'object' && jsonText(a) === jsonText(b)
  );
}
