/**
 * Applies one function to many documents. The semantics are those of `documents/edit`, see
 * `docs/behaviour/edit-functions.md`.
 */
import { elementsAt, membersAt } from '../base/json-spans.ts';
import { jsonText } from './builtins.ts';
import { asScriptError, compile, type CompiledScript, type GlobalVariable } from './compile.ts';
import { fail, ScriptError, ScriptSyntaxError } from './errors.ts';
import { readJson } from './json.ts';
import { type Cell, copyOf, FnPtr, ObjectMap, typeName, type Value } from './values.ts';

/** Maximum size of a function in bytes, which bounds the time to compile it. */
const FUNCTION_BYTES_MAX = 100_000;

/** Maximum number of characters of an id in a message. */
const NAME_LENGTH = 512;

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
    // The stack of the thread overflowed.
    throw new ScriptSyntaxError('Expressions are nested too deep', { line: 1, column: 1 });
  }
}

/** The results for some of the documents of a page. */
export interface EditedDocuments {
  /** The changed documents, one JSON text per line. */
  ndjson: string;
  edited: number;
  /** External ids of the documents to delete. */
  deleted: string[];
}

/** Maximum code units of a part, and the time after which a smaller part is yielded. */
const PART_LENGTH = 4 * 1024 * 1024;
const PART_MS = 200;

/**
 * Maximum code units of the JSON text of a document. A document that was longer before may keep its
 * length.
 */
const DOCUMENT_LENGTH_MAX = 64 * 1024 * 1024;

export class DocumentEditor {
  readonly #script: CompiledScript;
  readonly #context: Value | undefined;
  readonly #primaryKey: string;
  readonly #embedders: readonly string[];

  /**
   * @param context JSON text, or null
   * @param embedders names of those of the index
   */
  constructor(
    text: string,
    context: string | null,
    primaryKey: string,
    embedders: readonly string[] = [],
  ) {
    this.#script = compileEdit(text, context !== null);
    this.#context = context === null ? undefined : readJson(context);
    this.#primaryKey = primaryKey;
    this.#embedders = embedders;
  }

  /**
   * @param page JSON text of a response to `documents/fetch`, with vectors
   * Throws `ScriptError` when the function fails for a document.
   */
  *parts(page: string): Generator<EditedDocuments> {
    const results = membersAt(page, 0).find(({ name }) => name === 'results')!;
    let part = new Part();
    for (const { begin, end } of elementsAt(page, results.begin)) {
      const stored = page.slice(begin, end);
      const doc = readJson(stored);
      if (!(doc instanceof ObjectMap)) throw new Error('a document is an object');
      const edited = this.#named(doc, stored);
      if (edited === null) part.deleted.push(idText(this.#idOf(readJson(stored) as ObjectMap)));
      else if (edited !== undefined) part.add(edited);
      if (part.isFull) {
        yield part.take();
        part = new Part();
      }
    }
    yield part.take();
  }

  /** Like `#edit`; errors name the document. */
  #named(doc: ObjectMap, stored: string): string | null | undefined {
    try {
      return this.#edit(doc, stored);
    } catch (error) {
      const name = idText(this.#idOf(readJson(stored) as ObjectMap)).slice(0, NAME_LENGTH);
      const failed = asScriptError(error);
      throw new ScriptError(`For the document \`${name}\`: ${failed.describe()}`);
    }
  }

  /** @returns the new text, null to delete, undefined when nothing changed */
  #edit(doc: ObjectMap, stored: string): string | null | undefined {
    // `documents/fetch` adds an empty object to documents without vectors.
    const vectors = doc.get('_vectors');
    if (vectors instanceof ObjectMap && vectors.size === 0) doc.delete('_vectors');
    const id = this.#idOf(doc);
    const variable: Cell = { v: doc };
    const globals: Cell[] = [variable];
    if (this.#context !== undefined) globals.push({ v: copyOf(this.#context) });
    this.#script.run(globals);
    const left = variable.v;
    if (left === null) return null;
    if (!(left instanceof ObjectMap)) return fail(`\`doc\` is left as ${typeName(left)}`);
    const kept = this.#idOf(left);
    if (kept === undefined || !same(kept, id)) return fail('the primary key was changed');
    const text = jsonText(left, Math.max(DOCUMENT_LENGTH_MAX, stored.length));
    if (text === stored) return undefined;
    const before = readJson(stored) as ObjectMap;
    if (!left.has('_vectors') && vectors instanceof ObjectMap && vectors.size === 0) {
      before.delete('_vectors');
    }
    if (same(left, before)) return undefined;
    return this.#dropsGenerated(left, before) ? jsonText(left) : text;
  }

  /**
   * Takes out the embeddings that the server makes and the function left alone: a document that
   * brings them keeps them, whatever its text is by then. @returns whether there were any
   */
  #dropsGenerated(doc: ObjectMap, before: ObjectMap): boolean {
    const vectors = doc.get('_vectors');
    const stored = before.get('_vectors');
    if (!(vectors instanceof ObjectMap) || !(stored instanceof ObjectMap)) return false;
    const generated = this.#embedders.filter((name) => {
      const one = vectors.get(name);
      const isGenerated = one instanceof ObjectMap && one.get('regenerate') === true;
      return isGenerated && same(one, stored.get(name));
    });
    for (const name of generated) vectors.delete(name);
    if (vectors.size === 0) doc.delete('_vectors');
    return generated.length > 0;
  }

  /** The value of the primary key. The key may be a path. */
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

class Part {
  readonly deleted: string[] = [];
  readonly #lines: string[] = [];
  readonly #begun = performance.now();
  #length = 0;

  add(document: string): void {
    this.#lines.push(document, '\n');
    this.#length += document.length;
  }

  get isFull(): boolean {
    return this.#length >= PART_LENGTH || performance.now() - this.#begun >= PART_MS;
  }

  take(): EditedDocuments {
    const { deleted } = this;
    return { ndjson: this.#lines.join(''), edited: this.#lines.length / 2, deleted };
  }
}

function idText(id: Value | undefined): string {
  return typeof id === 'string' ? id : String(id);
}

/** Whether two values have the same types and values. The order of keys is ignored. */
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
