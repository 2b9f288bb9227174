/** The tables of docs/options.md are those of `OPTIONS`. GANNET_UPDATE_GOLDEN=1 writes them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { isShown, type Option, type Options, shownDefault } from '../../../src/base/options.ts';
import { OPTIONS, VARIABLES } from '../../../src/config.ts';
import { assertGenerated, table } from '../../support/generated.ts';

const PAGE = 'docs/options.md';
const ALL = Object.entries<Option>(OPTIONS as Options);
const IGNORED = ALL.filter(([, { ignored }]) => ignored === true);

function described(options: readonly [string, Option][]): string {
  const quoted = (text: string): string =>
    /^(?!none$|off$|unlimited$)[\w./:-]+$/.test(text) ? `\`${text}\`` : text;
  return table(
    ['Option', 'Default', 'Meaning'],
    options.map(([name, option]) => {
      const { kind, help } = option;
      const initial = shownDefault(option) ?? (kind === 'flag' ? 'off' : 'none');
      return [`\`--${name}\``, quoted(initial), help];
    }),
  );
}

/** By the heading that they follow. */
const TABLES: Record<string, string> = {
  'The options that most servers need': described(ALL.filter(([, { common }]) => common === true)),
  'All other options': described(
    ALL.filter(([, option]) => option.common !== true && isShown(option)),
  ),
  Variables: table(
    ['Variable'],
    VARIABLES.map((name) => [`\`GANNET_${name}\``]),
  ),
  'Earlier names': table(
    ['Name', 'Present name'],
    ALL.flatMap(([name, { means }]) =>
      means === undefined ? [] : [[`\`--${name}\``, `\`--${means}\``]],
    ),
  ),
  'Accepted without effect': table(
    ['Options', 'Why'],
    [...new Set(IGNORED.map(([, { help }]) => help))].map((help) => {
      const same = IGNORED.filter(([, option]) => option.help === help);
      return [same.map(([name]) => `\`--${name}\``).join(', '), help];
    }),
  ),
};

function withTables(page: string): string {
  return page
    .split(/^(?=## )/m)
    .map((section) => {
      const rows = TABLES[/^## (.*)$/m.exec(section)?.[1] ?? ''];
      return rows === undefined
        ? section
        : section.replace(/^(?:GENERATED|\|.*(?:\n\|.*)*)$/m, () => rows);
    })
    .join('');
}

describe('docs/options.md', () => {
  it('has the options that are declared, with their defaults and meanings', () => {
    assertGenerated(PAGE, withTables);
    const current = readFileSync(PAGE, 'utf8');
    for (const [heading, rows] of Object.entries(TABLES)) {
      assert.ok(current.includes(`## ${heading}\n`), heading);
      assert.ok(current.includes(rows), heading);
    }
  });
});
