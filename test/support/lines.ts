/** Lines of code by folder, and the budgets that they must not exceed. See docs/CONTRIBUTING.md. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

export const BUDGETS_FILE = 'test/lines.json';

/** The most lines of code by folder. A folder with a slash at its end counts only its own files. */
export type Budgets = Readonly<Record<string, number>>;

export interface Folder {
  name: string;
  files: number;
  code: number;
  /** With blank lines and comments. */
  lines: number;
}

/** The folders of the product are budgeted one by one, and together as `PRODUCT`. */
const SPLIT = ['native', 'src'];
export const PRODUCT = SPLIT.join(' + ');
/** These have one budget each. */
const WHOLE = ['test', 'perf'];

const CODE = /\.(?:[cm]?js|tsx?|cc?|h|css|py|sh)$/;

/**
 * Lines that are neither blank nor only a comment. Formatters put every comment at the start of a
 * line or after code, so it is enough to look at how each line starts.
 */
export function codeLines(text: string, hashes = false): number {
  let count = 0;
  /** Within a comment of several lines. */
  let inside = false;
  for (const line of text.split('\n')) {
    const bare = line.trim();
    if (inside) {
      inside = !bare.includes('*/');
    } else if (/^\{?\/\*/.test(bare)) {
      const [, after] = bare.split('*/', 2);
      inside = after === undefined;
      if (after !== undefined && !/^\}?$/.test(after)) count++;
    } else if (bare !== '' && !bare.startsWith(hashes ? '#' : '//')) {
      count++;
    }
  }
  return count;
}

/** `src/http`, or `src/` for a file of `src` itself; null for a file that no budget covers. */
function folderOf(file: string): string | null {
  const [root = '', second = '', ...rest] = file.split('/');
  if (WHOLE.includes(root)) return root;
  if (!SPLIT.includes(root)) return null;
  return rest.length === 0 ? `${root}/` : `${root}/${second}`;
}

/** Counts the files that git knows or will know. The sum of the product is last. */
export function countFolders(): Folder[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    encoding: 'utf8',
  });
  const folders = new Map<string, Folder>();
  const add = (name: string, code: number, lines: number): void => {
    const folder = folders.get(name) ?? { name, files: 0, code: 0, lines: 0 };
    folders.set(name, folder);
    folder.files++;
    folder.code += code;
    folder.lines += lines;
  };
  for (const file of new Set(listed.split('\n').toSorted())) {
    const name = CODE.test(file) && existsSync(file) ? folderOf(file) : null;
    if (name === null) continue;
    const text = readFileSync(file, 'utf8');
    const code = codeLines(text, /\.(?:py|sh)$/.test(file));
    const lines = text.split('\n').length - 1;
    add(name, code, lines);
    if (!WHOLE.includes(name)) add(PRODUCT, code, lines);
  }
  const rank = ({ name }: Folder): number => [...WHOLE, PRODUCT].indexOf(name);
  return [...folders.values()].sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1));
}

export const readBudgets = (text = readFileSync(BUDGETS_FILE, 'utf8')): Budgets =>
  JSON.parse(text) as Budgets;

/** The folders that exceed their budget or have none, and the budgets without a folder. */
export function overBudget(folders: readonly Folder[], budgets: Budgets): string[] {
  const faults = folders.flatMap(({ name, code }) => {
    const budget = budgets[name];
    if (budget === undefined) return [`${name} has no budget`];
    return code > budget ? [`${name} has ${code} lines of code; its budget is ${budget}`] : [];
  });
  const names = new Set(folders.map(({ name }) => name));
  const missing = Object.keys(budgets).filter((name) => !names.has(name));
  return [...faults, ...missing.map((name) => `${name} has a budget and no code`)];
}

/** The budgets that `after` raises or adds while others of `before` exist. */
export function raised(before: Budgets, after: Budgets): string[] {
  return Object.keys(after).filter((name) => after[name]! > (before[name] ?? 0));
}
