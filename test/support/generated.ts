/** Parts of pages that are written from declarations; GANNET_UPDATE_GOLDEN=1 writes them. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';

/** @param generate the whole page, from its present text */
export function assertGenerated(page: string, generate: (text: string) => string): void {
  const present = readFileSync(page, 'utf8');
  const wanted = generate(present);
  if (process.env['GANNET_UPDATE_GOLDEN'] !== undefined) writeFileSync(page, wanted);
  assert.equal(readFileSync(page, 'utf8'), wanted, 'GANNET_UPDATE_GOLDEN=1 writes the page');
}

/** A table of Markdown as `prettier` leaves it. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [row(head), `|${'---|'.repeat(head.length)}`, ...rows.map(row)].join('\n');
}
