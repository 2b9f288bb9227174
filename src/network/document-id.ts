/** The id of a document given as JSON text, by the rules of the engine. */
import { JsonScanner, MalformedJson } from '../base/json-scanner.ts';
import { isDocumentId } from '../contract/formats.ts';
import { isInteger64 } from '../base/json.ts';

/** null: the document has no usable id. */
export function documentIdOf(document: Buffer, primaryKey: string): string | null {
  const found: string[] = [];
  try {
    collect(new JsonScanner(document), primaryKey, found);
  } catch (error) {
    if (error instanceof MalformedJson) return null;
    throw error;
  }
  const isPath = primaryKey.includes('.');
  const text = isPath && found.length > 1 ? undefined : found.at(-1);
  if (text === undefined) return null;
  if (text.startsWith('"')) {
    const id = JSON.parse(text) as string;
    return isDocumentId(id) ? id : null;
  }
  if (!/^-?\d+$/.test(text) || !isInteger64(text)) return null;
  return text === '-0' ? '0' : text;
}

/** The texts of the values at a path; each of its names may match several members. */
function collect(scanner: JsonScanner, path: string, found: string[]): void {
  if (scanner.peek() !== OPEN_OBJECT) return;
  scanner.object((name) => {
    if (name === path) {
      const from = scanner.at;
      scanner.skip();
      found.push(scanner.bytes.toString('utf8', from, scanner.at));
    } else if (path.startsWith(`${name}.`)) {
      collect(scanner, path.slice(name.length + 1), found);
    }
  });
}

const OPEN_OBJECT = 0x7b;

/**
 * The primary key that the engine infers for an index whose first document this is; null: it
 * refuses.
 */
export function inferredKey(document: Buffer): string | null {
  const candidates = new Set<string>();
  try {
    new JsonScanner(document).object((name) => {
      if (/id$/i.test(name)) candidates.add(name);
    });
  } catch (error) {
    if (error instanceof MalformedJson) return null;
    throw error;
  }
  return candidates.size === 1 ? [...candidates][0]! : null;
}
