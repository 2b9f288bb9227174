/**
 * The cells of CSV records, read as the server reads them (`native/indexing/parse/csv.cc`). Pure
 * functions.
 */

/** @param record may end with its line end */
export function cellsOf(record: string, delimiter: string): string[] {
  const text = record.replace(/^[\r\n]+/, '').replace(/(?:\r\n|\r|\n)$/, '');
  const cells: string[] = [];
  for (let at = 0; ; at++) {
    let cell = '';
    if (text[at] === '"') {
      at++;
      for (;;) {
        const quote = text.indexOf('"', at);
        if (quote < 0) return [...cells, cell + text.slice(at)];
        cell += text.slice(at, quote);
        at = quote + 1;
        if (text[at] !== '"') break;
        cell += '"';
        at++;
      }
    }
    // What follows the closing quote belongs to the cell.
    const end = text.indexOf(delimiter, at);
    if (end < 0) return [...cells, cell + text.slice(at)];
    cells.push(cell + text.slice(at, end));
    at = end;
  }
}

/** A record of these cells, without a line end. */
export function rowOf(cells: readonly string[], delimiter: string): string {
  return cells
    .map((cell) =>
      cell.includes(delimiter) || /["\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell,
    )
    .join(delimiter);
}

const DELIMITERS = [',', ';', '\t', '|'];

/** The delimiter that the header has most often. */
export function detectDelimiter(header: string, expected: string): string {
  const plain = header.replaceAll(/"(?:[^"]|"")*"/g, '');
  const times = (one: string): number => plain.split(one).length;
  return DELIMITERS.reduce((best, one) => (times(one) > times(best) ? one : best), expected);
}

/**
 * A number as JSON, with all its digits; null if it is not a number. Spaces around it, a plus,
 * zeros before it and a missing digit at the point are allowed.
 */
export function numberOf(cell: string): string | null {
  const match = /^(-)?(\d*)(?:\.(\d*))?(e[+-]?\d+)?$/i.exec(cell.trim().replace(/^\+(?!-)/, ''));
  if (match === null) return null;
  const [, minus = '', whole = '', part = '', exponent = ''] = match;
  if (whole === '' && part === '') return null;
  const text = `${minus}${whole.replace(/^0+(?=\d)/, '') || '0'}${part === '' ? '' : `.${part}`}${exponent}`;
  return Number.isFinite(Number(text)) ? text : null;
}
