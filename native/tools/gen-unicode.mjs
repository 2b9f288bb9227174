// Writes native/text/unicode_tables.cc: the properties of each character that the analyzer uses.
//
//   node native/tools/gen-unicode.mjs            writes the file
//
// The character data comes from the Unicode version built into Node (`process.versions.unicode`);
// the lists of scripts and separators are the analyzer's own. The result is committed, so that words
// do not depend on the version of Node that builds the addon; test/unit/native/gen-unicode.test.ts
// compares.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// The default separators: hexadecimal code points and inclusive ranges.
const separators = `
0000 0009-000A 000D 0020-0023 0025-002F 003A-003B 003F-0040 005B-005D 005F-0060 007B 007D 00A1
00A7 00AB 00B1 00B6-00B7 00BB 00BF 00D7 00F7 055A-055F 0589-058A 05BE 05C0 05C3 05C6 05F3-05F4
0609-060A 060C-060D 061B 061E-061F 066A 066D 06D4 0700-070D 07F7-07F9 0830-083E 085E 0964-0965
0970 09FD 0A76 0AF0 0C77 0C84 0DF4 0E4F 0E5A-0E5B 0F04-0F0B 0F0D-0F12 0F14 0F3A-0F3D 0F85
0FD0-0FD4 0FD9-0FDA 104A-104F 10FB 1360-1368 1400 166E 1680 169B-169C 16EB-16ED 1735-1736
17D4-17D6 17D8-17DA 1800-180A 1944-1945 1A1E-1A1F 1AA0-1AA6 1AA8-1AAD 1B5A-1B60 1BFC-1BFF
1C3B-1C3F 1C7E-1C7F 1CC0-1CC7 1CD3 2002-200A 200C 2010 2012-2027 2029 2030-2043 2045-2051
2053-205E 207D-207E 208D-208E 2212-2225 2227-228D 228F-22FF 2308-230B 2768-2775 27C5-27C6
27E6-27EF 2983-2998 29D8-29DB 29FC-29FD 2CF9-2CFC 2CFE-2CFF 2D70 2E00-2E2E 2E30-2E4F 2E52
3000-3003 3008-3011 3014-301F 3030 303D 30A0 30FB A4FE-A4FF A60D-A60F A673 A67E A6F2-A6F7
A874-A877 A8CE-A8CF A8F8-A8FA A8FC A92E-A92F A95F A9C1-A9CD A9DE-A9DF AA5C-AA5F AADE-AADF
AAF0-AAF1 ABEB FD3E-FD3F FE10-FE19 FE30-FE52 FE54-FE61 FE63 FE68 FE6A-FE6B FF01-FF03 FF05-FF0A
FF0C-FF0F FF1A-FF1B FF1F-FF20 FF3B-FF3D FF3F FF5B FF5D FF5F-FF65 10100-10102 1039F 103D0 1056F
10857 1091F 1093F 10A50-10A58 10A7F 10AF0-10AF6 10B39-10B3F 10B99-10B9C 10EAD 10F55-10F59
11047-1104D 110BB-110BC 110BE-110C1 11140-11143 11174-11175 111C5-111C8 111CD 111DB 111DD-111DF
11238-1123D 112A9 1144B-1144F 1145A-1145B 1145D 114C6 115C1-115D7 11641-11643 11660-1166C
1173C-1173E 1183B 11944-11946 119E2 11A3F-11A46 11A9A-11A9C 11A9E-11AA2 11C41-11C45 11C70-11C71
11EF7-11EF8 11FFF 12470-12474 16A6E-16A6F 16AF5 16B37-16B3B 16B44 16E97-16E9A 16FE2 1BC9F
1DA87-1DA8B 1E95E-1E95F
`;

// Separators that end a sentence or a clause: the words before and after are far from each other.
const hardSeparators = `
0000 0021 003B 003F 00A1 00A7 00B6 00BF 055C-055E 0589 05C3 060C 061B 061F 06D4 0700-0709
07F7-07F9 0830-0835 0838-083E 085E 0964-0965 0DF4 0E5A-0E5B 0F04-0F0A 0F0D-0F12 0F14 0FD0-0FD4
104A-104B 10FB 1362-1368 169B-169C 16EB-16ED 1735-1736 17D4-17D6 17D8 17DA 1800-1806 1808-1809
1944-1945 1A1F 1AA8-1AAD 1B5A-1B60 1BFC-1BFF 1C3B-1C3F 1C7E-1C7F 1CC0-1CC7 203B 203D 204F 2056
205A 2CF9-2CFC 2CFE 2E18 2E2E 2E41 3001-3002 A4FE-A4FF A60D-A60F A6F2-A6F7 A876-A877 A8CE-A8CF
A92F A95F A9C3-A9CD AA5C-AA5F AADF AAF0-AAF1 ABEB FE45 10857 10A50-10A58 10AF0-10AF5 10B3A-10B3F
10B99-10B9C 10F55-10F59 11047-1104D 110BE-110C1 11140-11143 11175 111C5-111C6 111CD 111DE-111DF
11238-11239 1123B-1123C 112A9 1144B-1144D 1145A 115C2-115C3 115C9-115D7 11641-11642 11660-1166C
1173C-1173E 11944 11946 11A3F-11A46 11A9A-11A9C 11A9E-11AA2 11C41-11C42 11C70-11C71 11EF7-11EF8
11FFF 12471-12474 16A6E-16A6F 16AF5 16B37-16B39 16B44 16E97-16E9A 1BC9F 1DA87-1DA8A 1E95E-1E95F
`;

// Script groups, in the order of `enum class Script` in native/text/unicode.h. A character in no
// group is kOther and joins its neighbours. Strings are code points and ranges; regular expressions
// add all characters that match and are not in an earlier group.
const scripts = [
  [
    'kLatin',
    '0041-005A 0061-007A 0080-02AF 1D00-1D2A 1D2C-1D77 1D79-1DBF 1E00-1EFF 2100-214F 2C60-2C7F A720-A7FF AB30-AB6F',
    // Full-width letters fold to ASCII letters, so they are words like those letters.
    'FF21-FF3A FF41-FF5A',
  ],
  ['kCyrillic', '0400-0484 0487-052F 2DE0-2DFF A640-A69D A69F 1D2B 1D78'],
  ['kArabic', '0600-06FF 0750-07FF 08A0-08FF FB50-FDFF FE70-FEFF 10E60-10E7F 1EE00-1EEFF'],
  ['kDevanagari', '0900-097F A8E0-A8FF 1CD0-1CFF'],
  ['kEthiopic', '1200-139F 2D80-2DDF AB00-AB2F'],
  ['kHebrew', '0590-05FF'],
  ['kGeorgian', '10A0-10FF'],
  // Han with all its extensions, kana with the half-width forms and marks, and Bopomofo.
  [
    'kCj',
    '2E80-2FD5 3005-3007 3021-3029 3038-303C 3400-4DB5 4E00-9FCC F900-FAD9 3040-309F 30A0-30FF FF66-FF9F',
    /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}]/u,
  ],
  ['kHangul', 'AC00-D7AF 1100-11FF 3130-318F 3200-32FF A960-A97F D7B0-D7FF FFA0-FFDC'],
  ['kGreek', '0370-03FF'],
  ['kThai', '0E00-0E7F'],
  ['kKhmer', '1780-17FF 19E0-19FF'],
  ['kLao', '0E80-0EFF'],
  ['kMyanmar', '1000-109F A9E0-A9FF AA60-AA7F'],
  ['kBengali', '0980-09FF'],
  ['kGurmukhi', '0A00-0A7F'],
  ['kGujarati', '0A80-0AFF'],
  ['kOriya', '0B00-0B7F'],
  ['kTamil', '0B80-0BFF'],
  ['kTelugu', '0C00-0C7F'],
  ['kKannada', '0C80-0CFF'],
  ['kMalayalam', '0D00-0D7F'],
  ['kSinhala', '0D80-0DFF'],
];

const lastCodePoint = 0x10ffff;
const blockSize = 128;
const isSurrogate = (code) => code >= 0xd800 && code <= 0xdfff;
const isHangulSyllable = (code) => code >= 0xac00 && code <= 0xd7a3;

function* codePoints(ranges) {
  for (const range of ranges.trim().split(/\s+/)) {
    const [first, last = first] = range.split('-');
    for (let code = parseInt(first, 16); code <= parseInt(last, 16); ++code) yield code;
  }
}

function scriptTable() {
  const table = new Uint8Array(lastCodePoint + 1);
  scripts.forEach(([, ...parts], index) => {
    for (const part of parts) {
      if (typeof part === 'string') {
        for (const code of codePoints(part)) table[code] = index + 1;
        continue;
      }
      for (let code = 0x80; code <= lastCodePoint; ++code) {
        if (table[code] === 0 && !isSurrogate(code) && part.test(String.fromCodePoint(code))) {
          table[code] = index + 1;
        }
      }
    }
  });
  return table;
}

/** The source text of native/text/unicode_tables.cc. */
export function generate() {
  const scriptOf = scriptTable();
  const separatorSet = new Set(
    [...codePoints(separators)].map((code) => String.fromCodePoint(code)),
  );
  const hardSet = new Set(
    [...codePoints(hardSeparators)].map((code) => String.fromCodePoint(code)),
  );
  const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

  const pool = []; // bytes
  const decompositionStarts = [0];
  const decompositionIndex = new Map(); // NFKD string -> its number, from 1
  const deltas = [0];
  const entries = new Uint32Array(lastCodePoint + 1);
  for (let code = 0; code <= lastCodePoint; ++code) {
    if (isSurrogate(code)) continue;
    const char = String.fromCodePoint(code);
    const folded = char.normalize('NFKD');

    let decomposition = 0;
    if (folded !== char && !isHangulSyllable(code)) {
      decomposition = decompositionIndex.get(folded) ?? 0;
      if (decomposition === 0) {
        decomposition = decompositionStarts.length;
        decompositionIndex.set(folded, decomposition);
        pool.push(...Buffer.from(folded));
        decompositionStarts.push(pool.length);
      }
    }

    // U+0130 alone lowercases to two characters; it never does so here, being decomposed first.
    const lower = [...char.toLowerCase()];
    const delta = lower.length === 1 ? lower[0].codePointAt(0) - code : 0;
    let deltaNumber = deltas.indexOf(delta);
    if (deltaNumber < 0) deltaNumber = deltas.push(delta) - 1;

    let separator = 0;
    if (separatorSet.has(char)) {
      // A token is classified by its decomposed text: a full-width comma is a comma, an ellipsis
      // three dots.
      separator = hardSet.has(folded) ? 2 : separatorSet.has(folded) ? 1 : 3;
    }
    const isMark = /\p{Mn}/u.test(char);
    // Extends the character before it, as the second of a pair that is one grapheme cluster.
    const mayExtend =
      /[\p{M}\p{Grapheme_Extend}\p{Cf}]/u.test(char) || char === '\u0e33' || char === '\u0eb3';
    const extend = mayExtend && [...graphemes.segment('a' + char)].length === 1;

    entries[code] =
      (scriptOf[code] |
        (separator << 5) |
        (Number(isMark) << 7) |
        (Number(extend) << 8) |
        (Number(/\p{N}/u.test(char)) << 9) |
        (Number(/\p{L}/u.test(char)) << 10) |
        (deltaNumber << 11) |
        (decomposition << 18)) >>>
      0;
  }
  if (deltas.length > 128 || decompositionStarts.length > 16384)
    throw new Error('an entry overflows');

  const blockNumbers = [];
  const blocks = new Map();
  for (let at = 0; at <= lastCodePoint; at += blockSize) {
    const block = [...entries.subarray(at, at + blockSize)].join();
    if (!blocks.has(block)) blocks.set(block, blocks.size);
    blockNumbers.push(blocks.get(block));
  }
  if (blocks.size > 65536) throw new Error('too many blocks');
  const flat = [...blocks.keys()].flatMap((block) => block.split(',').map(Number));

  return `// Written by native/tools/gen-unicode.mjs. Do not edit.
//
// Derived from the Unicode Character Database ${process.versions.unicode}, copyright (c) 1991-present Unicode, Inc.,
// used under the Unicode License V3 (https://www.unicode.org/license.txt).
// clang-format off
#include "text/unicode.h"

namespace gannet::text {

const char kUnicodeVersion[] = "${process.versions.unicode}";

const uint16_t kCharBlocks[${blockNumbers.length}] = {
${lines(blockNumbers)}};

const uint32_t kCharEntries[${flat.length}] = {
${lines(flat)}};

const int32_t kLowerDeltas[${deltas.length}] = {
${lines(deltas)}};

const uint16_t kDecompositionStarts[${decompositionStarts.length}] = {
${lines(decompositionStarts)}};

const unsigned char kDecompositions[${pool.length}] = {
${lines(pool)}};

}  // namespace gannet::text
`;
}

function lines(numbers) {
  let text = '';
  let line = '';
  for (const number of numbers) {
    const item = `${number},`;
    if (line.length + item.length > 100) {
      text += line + '\n';
      line = '';
    }
    line += item;
  }
  return text + line + '\n';
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(fileURLToPath(new URL('../text/unicode_tables.cc', import.meta.url)), generate());
}
