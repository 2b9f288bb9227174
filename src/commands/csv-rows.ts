/** Writes documents as the rows of a CSV file. */
import { membersAt, stringAt } from '../base/json-spans.ts';
import { RefusedRequest } from '../outbound/api-peer.ts';
import { CommandFailure } from './command.ts';
import type { Connection } from './connection.ts';
import type { Page } from './document-pages.ts';

const NEWLINE = 10;

export class CsvRows {
  readonly #columns: ReadonlyMap<string, number>;

  /** @param names of the columns; a document must not have other fields */
  constructor(names: readonly string[]) {
    this.#columns = new Map(names.map((name, at) => [name, at]));
  }

  /** The columns of an index: the primary key, then the other fields by name. */
  static async of(connection: Connection, index: string, withVectors: boolean): Promise<CsvRows> {
    const path = `/indexes/${encodeURIComponent(index)}`;
    const { primaryKey } = await connection.get<{ primaryKey?: unknown }>(path);
    const { fieldDistribution } = await connection.get<{ fieldDistribution?: unknown }>(
      `${path}/stats`,
    );
    if (typeof fieldDistribution !== 'object' || fieldDistribution === null) {
      throw new RefusedRequest(200, { message: 'the response has no fieldDistribution' }, null);
    }
    const others = Object.keys(fieldDistribution).filter(
      (name) => name !== primaryKey && name !== '_vectors',
    );
    const key = typeof primaryKey === 'string' ? [primaryKey] : [];
    return new CsvRows([...key, ...others, ...(withVectors ? ['_vectors'] : [])]);
  }

  header(): Buffer {
    return row([...this.#columns.keys()].map(quoted));
  }

  /** Throws `CommandFailure` for a document with a field that has no column. */
  rows({ lines }: Pick<Page, 'lines'>): Buffer {
    const rows: Buffer[] = [];
    for (let begin = 0, end; (end = lines.indexOf(NEWLINE, begin)) >= 0; begin = end + 1) {
      rows.push(this.#row(lines.toString('utf8', begin, end)));
    }
    return Buffer.concat(rows);
  }

  #row(document: string): Buffer {
    const values = Array<string>(this.#columns.size).fill('');
    for (const member of membersAt(document, 0)) {
      const at = this.#columns.get(member.name);
      if (at === undefined) {
        throw new CommandFailure(
          `The index was changed during the export: its documents now have the field \`${member.name}\`. Repeat the command.`,
        );
      }
      const text = document.slice(member.begin, member.end);
      if (text.startsWith('"')) values[at] = quoted(stringAt(document, member));
      else values[at] = text === 'null' ? '' : quoted(text);
    }
    return row(values);
  }
}

function row(values: readonly string[]): Buffer {
  // A reader takes an empty line for no record.
  const text = values.join(',');
  return Buffer.from(`${text === '' ? '""' : text}\r\n`);
}

/** An empty text is quoted, so that it differs from a value that is missing. */
function quoted(text: string): string {
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
