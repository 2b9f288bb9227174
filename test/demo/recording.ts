/**
 * Writes docs/search-as-you-type.svg: what a server responds while somebody types a search into
 * the books of the demonstration.
 *
 *   node --import=tsx test/demo/recording.ts
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';

export const FILE = 'docs/search-as-you-type.svg';
const TYPED = 'dostoyevski crim';
const HITS = 4;
/** Seconds that a letter stays, and the last one. */
const LETTER_S = 0.45;
const LAST_S = 3;

interface Hit {
  _formatted: { title: string; author: string; year: string };
}

interface Frame {
  typed: string;
  hits: Hit[];
  total: number;
}

/** The recording, from the responses of a server without indexes. */
export async function recording(server: BuiltServer): Promise<string> {
  await server.finish('POST', '/indexes/books/documents', {
    text: readFileSync('test/demo/books.ndjson', 'utf8'),
    type: 'application/x-ndjson',
  });
  const frames: Frame[] = [];
  for (let length = 1; length <= TYPED.length; length++) {
    const typed = TYPED.slice(0, length);
    const { json } = await server.call('POST', '/indexes/books/search', {
      body: {
        q: typed,
        limit: HITS,
        attributesToHighlight: ['title', 'author'],
        highlightPreTag: '\u0001',
        highlightPostTag: '\u0002',
      },
    });
    frames.push({ typed, hits: json.hits, total: json.estimatedTotalHits });
  }
  return pictureOf(frames);
}

/** Text of XML; what is marked becomes bold. */
function shown(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('\u0001', '<tspan class="m">')
    .replaceAll('\u0002', '</tspan>');
}

function pictureOf(frames: readonly Frame[]): string {
  const seconds = LETTER_S * (frames.length - 1) + LAST_S;
  const share = (n: number): string => ((100 * LETTER_S * n) / seconds).toFixed(2);
  const rules = frames.map((_, n) => {
    const end = n === frames.length - 1 ? '100' : share(n + 1);
    // Visible from its share of the time until that of the next frame.
    const before = n === 0 ? '' : `0%{opacity:0}`;
    const after = n === frames.length - 1 ? '' : `${end}%,100%{opacity:0}`;
    return `@keyframes f${n}{${before}${share(n)}%{opacity:1}${after}}.f${n}{animation:f${n} ${seconds}s step-end infinite}`;
  });
  const groups = frames.map(({ typed, hits, total }, n) => {
    const rows = hits.map(({ _formatted: { title, author, year } }, row) => {
      const y = 92 + row * 44;
      return `<text x="24" y="${y}" class="t">${shown(title)}</text><text x="24" y="${y + 18}" class="a">${shown(author)}, ${shown(year)}</text>`;
    });
    const found = `${total} ${total === 1 ? 'book' : 'books'}`;
    return `<g class="f${n}"><text x="24" y="43" class="q">${shown(typed)}<tspan class="c">|</tspan></text><text x="576" y="43" class="n">${found}</text>${rows.join('')}</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 264" width="600" role="img" aria-label="Typing “${TYPED}” into a search box finds Crime and Punishment">
<style>
text{font-family:system-ui,sans-serif;fill:#1b1f24}.q{font-size:18px}.c{fill:#0969da}.n{font-size:13px;fill:#59636e;text-anchor:end}.t{font-size:16px}.a{font-size:13px;fill:#59636e}.m{font-weight:bold;fill:#0969da}g{opacity:0}
${rules.join('\n')}
@media (prefers-reduced-motion:reduce){g{animation:none!important}.f${frames.length - 1}{opacity:1}}
</style>
<rect width="600" height="264" rx="8" fill="#fff" stroke="#d1d9e0"/>
<rect x="12" y="16" width="576" height="42" rx="6" fill="#f6f8fa" stroke="#d1d9e0"/>
${groups.join('\n')}
</svg>
`;
}

async function write(): Promise<void> {
  const server = await startBuiltServer();
  try {
    writeFileSync(FILE, await recording(server));
  } finally {
    await server.close();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await write();
