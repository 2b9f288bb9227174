/**
 * A source of embeddings: one entry of `sources.ts`, in its own file. Validation, defaults,
 * requests to the provider, and what the engine needs to know about the embedder follow from it.
 */
import type { Result } from '../../base/result.ts';
import type { Distribution, EmbedderOf, FieldName, FieldRules, GivenEmbedder } from './fields.ts';
import type { Protocol, ProtocolContext } from './protocol.ts';

/** @typeParam Embedder the stored form, with all defaults filled in */
export interface EmbedderSource<
  Name extends string = string,
  Rules extends FieldRules = FieldRules,
  Embedder = EmbedderOf<Name, Rules>,
> {
  readonly name: Name;
  /** Supported fields apart from `COMMON_FIELDS`, in the order in which messages list them. */
  readonly fields: Rules;
  /** Defaults of absent fields. Those of a document template are the same for all sources. */
  defaults?(given: GivenEmbedder): GivenEmbedder;
  /**
   * Returns what is wrong with values of the right form: the field, and the rest of the sentence.
   */
  check?(given: GivenEmbedder): { field: FieldName; reason: string } | null;
  /** Fields that determine the embeddings: when one of these changes, they are regenerated. */
  readonly identifiedBy: readonly FieldName[];
  /** null: unknown before the first embedding. Default: the given dimensions. */
  dimensions?(embedder: Embedder): number | null;
  /** Used where the embedder has none. null, the default: scores are the unchanged similarities. */
  distribution?(embedder: Embedder): Distribution | null;
  /** For a source that is queried over HTTP: its protocol. An error is shown to the user. */
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
