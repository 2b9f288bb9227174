/** Documents as CSV that the server can read again, and the values of a record. Pure functions. */
import { members, type Member } from './raw-json.ts';

export type Kind = 'text' | 'number' | 'boolean' | 'other';

/** The columns of the documents that were seen, and whether all values of each have one type. */
export class Columns {
  readonly #kinds = new Map<string, Kind | null>();

  /** @param document JSON text of an object */
  see(document: string): void {
    for (const { name, text } of members(document)) {
      if (text === 'null') {
        if (!this.#kinds.has(name!)) this.#kinds.set(name!, null);
        continue;
      }
      const kind = kindOf(text);
      const known = this.#kinds.get(name!) ?? kind;
      this.#kinds.set(name!, known === kind ? kind : 'other');
    }
  }

  /** With the types that the server reads after a colon. */
  header(): string {
    const cells = [...this.#kinds].map(([name, kind]) =>
      kind === 'number' || kind === 'boolean' ? `${name}:${kind}` : name,
    );
    return `${cells.map(cell).join(',')}\n`;
  }

  row(document: string): string {
    const byName = new Map(members(document).map(({ name, text }: Member) => [name, text]));
    const cells = [...this.#kinds.keys()].map((name) => {
      const text = byName.get(name) ?? 'null';
      if (text === 'null') return '';
      return cell(text.startsWith('"') ? (JSON.parse(text) as string) : text);
    });
    return `${cells.join(',')}\n`;
  }
}

/** @param text a value as JSON */
export function kindOf(text: string): Kind {
  if (text.startsWith('"')) return 'text';
  if (text === 'true' || text === 'false') return 'boolean';
  return /^[-\d]/.test(text) ? 'number' : 'other';
}

function cell(text: string): string {
  return /["\r\n,]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
