/**
 * Formats the rows of a report as CSV (RFC 4180), with a header. Values inside an object get a name
 * such as `latencyMs.p50`.
 */
export function csvOf(rows: readonly object[], names: readonly string[]): string {
  const lines = [names.map(field).join(',')];
  for (const row of rows) {
    const flat = flatten(row);
    lines.push(names.map((name) => field(flat.get(name) ?? null)).join(','));
  }
  return `${lines.join('\r\n')}\r\n`;
}

function flatten(row: object, prefix = ''): Map<string, unknown> {
  const flat = new Map<string, unknown>();
  for (const [name, value] of Object.entries(row)) {
    if (typeof value === 'object' && value !== null) {
      for (const [inner, one] of flatten(value as object, `${prefix}${name}.`))
        flat.set(inner, one);
    } else flat.set(prefix + name, value);
  }
  return flat;
}

/**
 * Formats a value. A text that a spreadsheet would run as a formula gets an apostrophe, because
 * visitors choose these texts.
 */
function field(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'string') return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
