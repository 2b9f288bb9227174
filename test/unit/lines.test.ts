/** The code stays within `test/lines.json`, and who raises a budget says why. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  BUDGETS_FILE,
  codeLines,
  countFolders,
  overBudget,
  PRODUCT,
  raised,
  readBudgets,
} from '../support/lines.ts';

const git = (...args: string[]): string => execFileSync('git', args, { encoding: 'utf8' });

/** The budgets as of a revision; none before the file existed. */
function budgetsAt(revision: string): Record<string, number> {
  const exists = git('ls-tree', revision, '--', BUDGETS_FILE) !== '';
  return exists ? readBudgets(git('show', `${revision}:${BUDGETS_FILE}`)) : {};
}

describe('lines of code', () => {
  const folder = (name: string, code: number) => ({ name, code, files: 1, lines: code });

  it('are neither blank nor comments', () => {
    const text = [
      ...['/**', ' * A comment', ' */', 'const a = 1; // one', '', '  // none'],
      ...['/* a */ const b = 2;', '/* c */', '{/* d', 'e */}', 'f();', "const g = '/*';", 'h();'],
    ].join('\n');
    assert.equal(codeLines(text), 5);
    assert.equal(codeLines('#!/bin/sh\n# a comment\necho "# b"\n', true), 1);
  });

  it('are too many, or have no budget, or a budget has no folder: each is a fault', () => {
    const folders = [folder('src/a', 11), folder('src/b', 10), folder('src/c', 1)];
    assert.deepEqual(overBudget(folders, { 'src/a': 10, 'src/b': 10, 'src/d': 5 }), [
      'src/a has 11 lines of code; its budget is 10',
      'src/c has no budget',
      'src/d has a budget and no code',
    ]);
    assert.deepEqual(raised({ a: 1, b: 2, c: 3 }, { a: 2, b: 1, d: 1 }), ['a', 'd']);
  });

  it('stay within the budget of each folder and of the product', () => {
    const folders = countFolders();
    assert.equal(folders.at(-1)!.name, PRODUCT);
    assert.deepEqual(overBudget(folders, readBudgets()), []);
  });

  it('became more in the last change of the budgets only if its message says why', () => {
    const revision = git('log', '-1', '--format=%H', '--', BUDGETS_FILE).trim();
    const parents = git('show', '--no-patch', '--format=%P', revision).trim();
    if (revision === '' || parents === '') return;
    const names = raised(budgetsAt(`${revision}~1`), budgetsAt(revision));
    const message = git('show', '--no-patch', '--format=%s %b', revision);
    assert.ok(names.length === 0 || /budget/i.test(message), `${revision} raises ${names.join()}`);
  });
});
