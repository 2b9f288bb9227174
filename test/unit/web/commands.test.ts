import assert from 'node:assert/strict';
import { COMMANDS_MAX, commandsFor, matching } from '../../../src/web/shell/commands.ts';

const isSearch = (view: string): boolean => view === 'search';
const hrefOf = (view: string, uid = ''): string => `${view}/${uid}`;

const VIEWS = [
  { name: 'search', title: 'Search', group: 'Search', icon: 'search' },
  { name: 'rules', title: 'Search rules', group: 'Relevance', icon: 'rules' },
  { name: 'tasks', title: 'Tasks', group: 'Operations', icon: 'tasks' },
] as const;

describe('The command palette', () => {
  const all = commandsFor(VIEWS, ['books', 'tasks of a day'], isSearch, hrefOf);

  it('offers the views, and those of each index', () => {
    assert.deepEqual(
      all.map(({ title, href }) => [title, href]),
      [
        ['Search', 'search/'],
        ['Search rules', 'rules/'],
        ['Tasks', 'tasks/'],
        ['books: Search', 'search/books'],
        ['tasks of a day: Search', 'search/tasks of a day'],
      ],
    );
  });

  it('finds every word in any order, what begins with the text first', () => {
    const titles = (text: string): string[] => matching(all, text).map(({ title }) => title);
    assert.deepEqual(titles('tas'), ['Tasks', 'tasks of a day: Search']);
    assert.deepEqual(titles('RULES search'), ['Search rules']);
    assert.deepEqual(titles('nowhere'), []);
    assert.equal(titles('').length, all.length);
  });

  it('shows no more than can be looked through', () => {
    const uids = Array.from({ length: 1000 }, (_, number) => `index${number}`);
    const many = commandsFor(VIEWS, uids, isSearch, hrefOf);
    assert.equal(matching(many, 'index').length, COMMANDS_MAX);
  });
});
