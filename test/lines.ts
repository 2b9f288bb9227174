/**
 * Prints the lines of code by folder, without blank lines and comments, and their budgets.
 *
 *   npm run lines               the table
 *   npm run lines -- --lower    lowers each budget to what its folder needs, and a little more
 */
import { writeFileSync } from 'node:fs';
import { BUDGETS_FILE, countFolders, overBudget, readBudgets } from './support/lines.ts';

/**
 * A budget is a multiple of `STEP` and leaves `SPARE`, so that a correction of a few lines does not
 * touch it.
 */
const STEP = 100;
const SPARE = 50;

const folders = countFolders();
const budgets = readBudgets();

if (process.argv.includes('--lower')) {
  const lowered = folders.map(({ name, code }) => {
    const needed = Math.ceil((code + SPARE) / STEP) * STEP;
    return [name, Math.min(needed, budgets[name] ?? needed)] as const;
  });
  writeFileSync(BUDGETS_FILE, `${JSON.stringify(Object.fromEntries(lowered), null, 2)}\n`);
}

const row = (name: string, ...columns: readonly (string | number)[]): string =>
  name.padEnd(20) + columns.map((column) => String(column).padStart(10)).join('');

console.log(row('folder', 'files', 'code', 'budget', 'all lines'));
for (const { name, files, code, lines } of folders) {
  console.log(row(name, files, code, readBudgets()[name] ?? 'none', lines));
}
for (const fault of overBudget(folders, readBudgets())) {
  console.error(fault);
  process.exitCode = 1;
}
