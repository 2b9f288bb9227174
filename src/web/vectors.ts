/**
 * The vectors of a document, which are not shown while it is edited. Pure functions on JSON texts.
 */
import { member, members, objectOf, withoutMember, type Member } from './raw-json.ts';

export interface Parted {
  /** The document without its vectors. */
  readonly document: string;
  /** Vectors that somebody gave, by embedder: those that the server computes are left out. */
  readonly own: readonly Member[];
}

/** @param json a document with `_vectors` as the server shows it */
export function partVectors(json: string): Parted {
  const vectors = member(json, '_vectors');
  if (vectors === undefined) return { document: json, own: [] };
  const own = members(vectors).filter(({ text }) => member(text, 'regenerate') === 'false');
  return { document: withoutMember(json, '_vectors'), own };
}

/** Adds the vectors again, unless the document now has vectors of its own. */
export function joinVectors(document: string, own: readonly Member[]): string {
  if (own.length === 0 || member(document, '_vectors') !== undefined) return document;
  return objectOf([...members(document), { name: '_vectors', text: objectOf(own) }]);
}
