/**
 * What a source of embeddings is: one entry of `sources.ts`, in a file of its own. Validation, defaults, requests to the
 * provider, and what the engine knows of the embedder follow from it.
 */
import type { Result } from '../../base/result.ts';
import type { Distribution, EmbedderOf, FieldName, FieldRules, GivenEmbedder } from './fields.ts';
import type { Protocol, ProtocolContext } from './protocol.ts';

/** @typeParam Embedder the stored form: all defaults are written out */
export interface EmbedderSource<
  Name extends string = string,
  Rules extends FieldRules = FieldRules,
  Embedder = EmbedderOf<Name, Rules>,
> {
  readonly name: Name;
  /** Which it takes besides `COMMON_FIELDS`, in the order in which messages list them. */
  readonly fields: Rules;
  /** Values of fields that are not given. Those of a document template are the same for all sources. */
  defaults?(given: GivenEmbedder): GivenEmbedder;
  /** What is wrong with values that have the right form: the field, and the rest of the sentence. */
  check?(given: GivenEmbedder): { field: FieldName; reason: string } | null;
  /** What decides about the embeddings themselves: when one of these changes, they are made again. */
  readonly identifiedBy: readonly FieldName[];
  /** null: not known before the first embedding. Default: those that are given. */
  dimensions?(embedder: Embedder): number | null;
  /** Used where the embedder gives none. null, and the default: scores are the similarities as they are. */
  distribution?(embedder: Embedder): Distribution | null;
  /** Of a source that is asked by HTTP: how. An error is shown to the user. */
  protocol?(embedder: Embedder, context: ProtocolContext): Result<Protocol, string>;
}

/** Keeps the literal types of the name and the fields. */
export function embedderSource<const Name extends string, const Rules extends FieldRules>(
  entry: EmbedderSource<Name, Rules>,
): EmbedderSource<Name, Rules> {
  return entry;
}

/** The stored form of embedders of a source. */
export type EmbedderFrom<Source> =
  Source extends EmbedderSource<infer _Name, infer _Rules, infer Embedder> ? Embedder : never;
