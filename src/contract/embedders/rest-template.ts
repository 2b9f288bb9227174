/**
 * The templates of a REST embedder: the form of a request, and the location of the embeddings in
 * its response. `scanTemplate` checks their form when the setting is given; the classes rely on
 * that.
 */
import { err, ok, type Result } from '../../base/result.ts';
import { editDistance } from '../../base/suggest.ts';
import { embeddingOf } from './protocol.ts';

/** Placeholders of a text and of a fragment in requests. */
export const TEXT = '{{text}}';
export const FRAGMENT = '{{fragment}}';
export const EMBEDDING = '{{embedding}}';
/** Placeholders of rerankers. */
export const QUERY = '{{query}}';
export const SCORE = '{{score}}';
export const POSITION = '{{index}}';
const REPEAT = '{{..}}';
const EDIT_DISTANCE_MAX = 2;

type Path = readonly (string | number)[];

/** Counts the value placeholders and checks the position of the repetition mark. */
export function scanTemplate(
  template: unknown,
  placeholders: readonly string[],
): Result<{ repeats: boolean }, string> {
  const placeholder = placeholders[0]!;
  let repeats = 0;

  function count(value: unknown, repeated: boolean): Result<number, string> {
    if (placeholders.includes(value as string)) return ok(1);
    if (value === REPEAT) return err(`\`"${REPEAT}"\` may only be the second item of an array`);
    if (Array.isArray(value)) {
      if (value[1] === REPEAT) {
        if (repeated) return err(`\`"${REPEAT}"\` stands inside a repeated item`);
        repeats++;
        const inside = count(value[0], true);
        if (!inside.ok) return inside;
        return inside.value === 1
          ? ok(1)
          : err(`the item before \`"${REPEAT}"\` must hold \`"${placeholder}"\` exactly once`);
      }
      return sum(value, repeated);
    }
    if (typeof value === 'object' && value !== null) return sum(Object.values(value), repeated);
    return ok(0);
  }

  function sum(values: unknown[], repeated: boolean): Result<number, string> {
    let total = 0;
    for (const value of values) {
      const part = count(value, repeated);
      if (!part.ok) return part;
      total += part.value;
    }
    return ok(total);
  }

  const total = count(template, false);
  if (!total.ok) return total;
  if (total.value === 0) return err(`the placeholder \`"${placeholder}"\` is missing`);
  if (total.value > 1) return err(`the placeholder \`"${placeholder}"\` occurs more than once`);
  if (repeats > 1) return err(`\`"${REPEAT}"\` occurs more than once`);
  return ok({ repeats: repeats === 1 });
}

export class RequestTemplate {
  readonly #template: unknown;
  readonly #placeholder: string;
  /** One request takes several inputs. */
  readonly repeats: boolean;

  /** @param placeholder `{{text}}` or `{{fragment}}` */
  constructor(template: unknown, placeholder: string) {
    this.#template = template;
    this.#placeholder = placeholder;
    this.repeats = findRepeat(template);
  }

  /**
   * REQUIRES: one input unless `repeats`.
   * @param query of a reranker: in place of `{{query}}`
   */
  body(inputs: readonly unknown[], query?: string): string {
    return JSON.stringify(this.#fill(this.#template, inputs, query));
  }

  #fill(template: unknown, inputs: readonly unknown[], query?: string): unknown {
    if (template === this.#placeholder) return inputs[0];
    if (template === QUERY && query !== undefined) return query;
    if (Array.isArray(template)) {
      return template[1] === REPEAT
        ? inputs.map((input) => this.#fill(template[0], [input], query))
        : template.map((item) => this.#fill(item, inputs, query));
    }
    if (typeof template !== 'object' || template === null) return template;
    return Object.fromEntries(
      Object.entries(template).map(([key, value]) => [key, this.#fill(value, inputs, query)]),
    );
  }
}

function findRepeat(template: unknown): boolean {
  if (typeof template !== 'object' || template === null) return false;
  if (Array.isArray(template) && template[1] === REPEAT) return true;
  return Object.values(template).some(findRepeat);
}

export class ResponseTemplate {
  /** Path to the embedding, or to the list of items that hold one each. */
  readonly #path: Path;
  /** Path from an item of that list to its embedding; null: there is no list. */
  readonly #itemPath: Path | null;

  constructor(template: unknown) {
    const list = findPath(template, (value) => Array.isArray(value) && value[1] === REPEAT);
    const isEmbedding = (value: unknown): boolean => value === EMBEDDING;
    if (list === null) {
      this.#path = findPath(template, isEmbedding) ?? [];
      this.#itemPath = null;
    } else {
      this.#path = list;
      const [item] = at(template, list) as unknown[];
      this.#itemPath = findPath(item, isEmbedding) ?? [];
    }
  }

  /** The embeddings of a response, or why it does not match. */
  embeddings(received: unknown): Result<Float32Array[], string> {
    const found = follow(received, this.#path, 'answer');
    if (!found.ok) return found;
    if (this.#itemPath === null) {
      const embedding = embeddingOf(found.value, pathText(this.#path));
      return embedding.ok ? ok([embedding.value]) : embedding;
    }
    if (!Array.isArray(found.value)) return err(`\`${pathText(this.#path)}\` is not a list`);
    const embeddings: Float32Array[] = [];
    for (const [number, item] of found.value.entries()) {
      const location = pathText([...this.#path, number]);
      const value = follow(item, this.#itemPath, location);
      if (!value.ok) return value;
      const embedding = embeddingOf(value.value, location + pathText(this.#itemPath, ''));
      if (!embedding.ok) return embedding;
      embeddings.push(embedding.value);
    }
    return ok(embeddings);
  }
}

/** The scores in the responses of a reranker. REQUIRES: the template repeats an item. */
export class ScoresTemplate {
  /** Path to the list of items. */
  readonly #path: Path;
  readonly #scorePath: Path;
  /** Path from an item to the number of its document; null: items are in the order sent. */
  readonly #positionPath: Path | null;

  constructor(template: unknown) {
    this.#path = findPath(template, (value) => Array.isArray(value) && value[1] === REPEAT)!;
    const [item] = at(template, this.#path) as unknown[];
    this.#scorePath = findPath(item, (value) => value === SCORE)!;
    this.#positionPath = findPath(item, (value) => value === POSITION);
  }

  /** Items say which document they are about. */
  get readsPositions(): boolean {
    return this.#positionPath !== null;
  }

  /** A list of one score for each document, or why a response does not match. */
  scores(received: unknown): Result<Float32Array[], string> {
    const found = follow(received, this.#path, 'answer');
    if (!found.ok) return found;
    const list = pathText(this.#path);
    if (!Array.isArray(found.value)) return err(`\`${list}\` is not a list`);
    const count = found.value.length;
    const scores: Float32Array[] = Array.from({ length: count });
    for (const [number, item] of found.value.entries()) {
      const location = pathText([...this.#path, number]);
      const position =
        this.#positionPath === null ? ok(number) : follow(item, this.#positionPath, location);
      if (!position.ok) return position;
      const of = position.value as number;
      if (!Number.isInteger(of) || of < 0 || of >= count || scores[of] !== undefined) {
        return err(`\`${location}\` has a wrong number of a document`);
      }
      const score = follow(item, this.#scorePath, location);
      if (!score.ok) return score;
      const read = embeddingOf([score.value], location + pathText(this.#scorePath, ''));
      if (!read.ok) return read;
      scores[of] = read.value;
    }
    return ok(scores);
  }
}

function findPath(template: unknown, wanted: (value: unknown) => boolean): Path | null {
  if (wanted(template)) return [];
  if (typeof template !== 'object' || template === null) return null;
  for (const [key, value] of Object.entries(template)) {
    const below = findPath(value, wanted);
    if (below !== null) return [Array.isArray(template) ? Number(key) : key, ...below];
  }
  return null;
}

function at(value: unknown, path: Path): unknown {
  return path.reduce((inner, key) => (inner as Record<string, unknown>)[key], value);
}

/** @param root name of the received body in messages */
function follow(received: unknown, path: Path, root: string): Result<unknown, string> {
  let value = received;
  for (const [depth, key] of path.entries()) {
    const location = root + pathText(path.slice(0, depth), '');
    const next = member(value, key, `\`${location}\``);
    if (!next.ok) return next;
    value = next.value;
  }
  return ok(value);
}

function member(value: unknown, key: string | number, location: string): Result<unknown, string> {
  if (typeof key === 'number') {
    if (!Array.isArray(value)) return err(`${location} is not a list`);
    return key < value.length ? ok(value[key]) : err(`${location} has only ${value.length} items`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return err(`${location} is not an object, so it has no \`${key}\``);
  }
  if (Object.hasOwn(value, key)) return ok((value as Record<string, unknown>)[key]);
  const near = similarKey(key, Object.keys(value));
  return err(
    `${location} has no \`${key}\`${near === undefined ? '' : `; there is \`${near}\`, is that meant?`}`,
  );
}

function similarKey(key: string, keys: readonly string[]): string | undefined {
  const near = keys
    .filter((other) => Math.abs(other.length - key.length) <= EDIT_DISTANCE_MAX)
    .map((other) => ({ other, distance: editDistance(key, other) }))
    .filter(({ distance }) => distance <= EDIT_DISTANCE_MAX);
  return near.toSorted((a, b) => a.distance - b.distance)[0]?.other;
}

function pathText(path: Path, first = 'answer'): string {
  return path.reduce<string>(
    (location, key) => location + (typeof key === 'number' ? `[${key}]` : `.${key}`),
    first,
  );
}
