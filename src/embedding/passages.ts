/** Cuts a text into passages by its sentences. Pure. */
import { cutText } from '../templates/value-text.ts';

/** Tokens are counted as bytes, because every model counts its own: one per four bytes of UTF-8. */
export const TOKEN_BYTES = 4;

export interface Passage {
  text: string;
  /** Bytes of the whole text, as in `_matchesPosition`. */
  start: number;
  length: number;
}

export interface Cut {
  /** Maximum tokens of a passage. */
  maxTokens: number;
  /** Number of sentences with which a passage repeats the end of the one before. */
  overlap: number;
  /** Maximum number of passages; the rest of the text is in none. */
  max: number;
}

/** A sentence, or a piece of one that is longer than a passage. */
interface Sentence {
  text: string;
  start: number;
  bytes: number;
}

const SENTENCES = new Intl.Segmenter('und', { granularity: 'sentence' });

export function tokensOf(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / TOKEN_BYTES);
}

export function passagesOf(text: string, { maxTokens, overlap, max }: Cut): Passage[] {
  const bytesMax = maxTokens * TOKEN_BYTES;
  const passages: Passage[] = [];
  let sentences: Sentence[] = [];
  let bytes = 0;
  /** Whether a sentence is in no passage yet. */
  let hasMore = false;
  const end = (): void => {
    const passage = hasMore ? joined(sentences) : null;
    if (passage !== null) passages.push(passage);
  };
  // A passage takes at most one unit of the text per byte, and the last one is not cut by the end
  // of what is read. Half a character is left out.
  const reached = text.slice(0, (max + 1) * bytesMax).replace(/[\ud800-\udbff]$/, '');
  for (const sentence of sentencesOf(reached, bytesMax)) {
    if (sentences.length > 0 && bytes + sentence.bytes > bytesMax) {
      end();
      if (passages.length >= max) return passages;
      const space = Math.min(bytesMax / 2, bytesMax - sentence.bytes);
      sentences = hasMore ? lastOf(sentences, overlap, space) : [];
      hasMore = false;
      bytes = sentences.reduce((sum, one) => sum + one.bytes, 0);
    }
    hasMore ||= sentence.text.trim() !== '';
    sentences.push(sentence);
    bytes += sentence.bytes;
  }
  end();
  return passages;
}

function* sentencesOf(text: string, bytesMax: number): Generator<Sentence> {
  let start = 0;
  for (const { segment } of SENTENCES.segment(text)) {
    for (let rest = segment; rest !== '';) {
      const piece = pieceOf(rest, bytesMax);
      const bytes = Buffer.byteLength(piece);
      yield { text: piece, start, bytes };
      start += bytes;
      rest = rest.slice(piece.length);
    }
  }
}

/** What fits of a text, up to the end of a word if it has several. */
function pieceOf(text: string, bytesMax: number): string {
  // Every code unit takes at least one byte.
  const cut = cutText(text.slice(0, bytesMax), bytesMax);
  if (cut.length === text.length) return text;
  const words = /^[\s\S]*\s(?=\S*$)/u.exec(cut)?.[0] ?? '';
  return words.trim() === '' ? cut : words;
}

/**
 * At most `count` sentences with at most `bytesMax` bytes. The first with words is never among
 * them: a passage begins after the one before.
 */
function lastOf(sentences: readonly Sentence[], count: number, bytesMax: number): Sentence[] {
  const last: Sentence[] = [];
  let bytes = 0;
  const first = sentences.findIndex(({ text }) => text.trim() !== '');
  const rest = first === -1 ? [] : sentences.slice(first + 1);
  for (const sentence of rest.slice(count === 0 ? rest.length : -count).reverse()) {
    bytes += sentence.bytes;
    if (bytes > bytesMax) break;
    last.unshift(sentence);
  }
  return last;
}

/** Without white space around it; null: there is nothing else. */
function joined(sentences: readonly Sentence[]): Passage | null {
  const all = sentences.map(({ text }) => text).join('');
  const text = all.trim();
  if (text === '') return null;
  const before = all.length - all.trimStart().length;
  return {
    text,
    start: sentences[0]!.start + Buffer.byteLength(all.slice(0, before)),
    length: Buffer.byteLength(text),
  };
}
