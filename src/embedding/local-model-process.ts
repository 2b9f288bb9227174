/**
 * The process that runs models, so that neither their memory nor a crash of the library affects the
 * server. It handles one request at a time and keeps loaded models in memory.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ModelFiles, Pooling } from './model-files.ts';

export interface EmbedRequest {
  job: number;
  files: ModelFiles;
  threads: number;
  texts: string[];
  work: ModelWork;
}

/** Texts are embedded, or scored as documents for a query: embeddings of one dimension. */
export type ModelWork = { is: 'embed'; pooling: Pooling } | { is: 'score'; query: string };

export type EmbedResponse =
  { job: number; embeddings: Float32Array[] } | { job: number; fault: string; missing?: true };

// Types of the optional packages, which are not part of the default installation.

interface Tensor {
  readonly data: unknown;
  readonly dims: readonly number[];
}

interface Session {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  run(feeds: Record<string, Tensor>): Promise<Record<string, Tensor>>;
}

interface Runtime {
  Tensor: new (type: 'int64', data: BigInt64Array, dims: number[]) => Tensor;
  InferenceSession: {
    create(path: string, options: Record<string, unknown>): Promise<Session>;
  };
}

interface Tokenizer {
  encode(
    text: string,
    options?: { text_pair?: string; add_special_tokens?: boolean; return_token_type_ids?: boolean },
  ): { ids: number[]; token_type_ids?: number[] };
}

interface Tokenizers {
  Tokenizer: new (tokenizer: object, config: object) => Tokenizer;
}

const TOKENS_MAX = 512;
/** Tokens of a query and a document together, so that the time of a pair is bounded. */
const PAIR_TOKENS_MAX = 512;

class Model {
  readonly #runtime: Runtime;
  readonly #session: Session;
  readonly #tokenizer: Tokenizer;
  readonly #tokensMax: number;

  private constructor(
    runtime: Runtime,
    session: Session,
    tokenizer: Tokenizer,
    config: Record<string, unknown>,
  ) {
    this.#runtime = runtime;
    this.#session = session;
    this.#tokenizer = tokenizer;
    const positions = config.max_position_embeddings;
    // RoBERTa numbers positions from after the padding token.
    const padding = typeof config.pad_token_id === 'number' ? config.pad_token_id : 0;
    const offset = /roberta/i.test(String(config.model_type)) ? padding + 1 : 0;
    this.#tokensMax = typeof positions === 'number' ? positions - offset : TOKENS_MAX;
  }

  static async load({ folder, encoder }: ModelFiles, threads: number): Promise<Model> {
    const runtime = await packageOf<Runtime>('onnxruntime-node');
    const { Tokenizer } = await packageOf<Tokenizers>('@huggingface/tokenizers');
    const json = (name: string): Record<string, unknown> =>
      JSON.parse(readFileSync(join(folder, name), 'utf8')) as Record<string, unknown>;
    let tokenizerConfig: Record<string, unknown> = {};
    try {
      tokenizerConfig = json('tokenizer_config.json');
    } catch {
      // Not every model has this file.
    }
    const session = await runtime.InferenceSession.create(join(folder, encoder), {
      executionProviders: ['cpu'],
      intraOpNumThreads: threads,
      interOpNumThreads: 1,
      // Makes 8-bit weights give the same results on processors with and without VNNI.
      extra: { session: { x64quantprecision: '1' } },
    });
    return new Model(
      runtime,
      session,
      new Tokenizer(json('tokenizer.json'), tokenizerConfig),
      json('config.json'),
    );
  }

  /**
   * Embeds each text in a run of its own. 8-bit models scale a run by its greatest number, so in a
   * group the embedding of a text depends on the other texts (cosine 0.99), and on CPUs a run of
   * sixteen texts is no faster than sixteen runs.
   */
  async embed(texts: readonly string[], pooling: Pooling): Promise<Float32Array[]> {
    const embeddings: Float32Array[] = [];
    for (const text of texts) {
      const { data, dims } = await this.#run(this.#tokensOf(text));
      if (dims.length !== 3) throw new Error('the model gives no embedding of each token');
      embeddings.push(pooled(data, dims[2]!, pooling));
    }
    return embeddings;
  }

  /** The logit of each pair. The score is its sigmoid, which has the same order. */
  async score(query: string, documents: readonly string[]): Promise<Float32Array[]> {
    const logits: Float32Array[] = [];
    for (const document of documents) {
      const { ids, types } = this.#pairOf(query, document);
      const { data, dims } = await this.#run(ids, types);
      if (dims.length > 2 || data.length !== 1 || !Number.isFinite(data[0])) {
        throw new Error('the model gives no score of a pair of texts');
      }
      logits.push(data);
    }
    return logits;
  }

  #pairOf(query: string, document: string): Pair {
    const alone = (text: string): number[] =>
      this.#tokenizer.encode(text, { add_special_tokens: false }).ids;
    const { ids, token_type_ids } = this.#tokenizer.encode(query, {
      text_pair: document,
      return_token_type_ids: true,
    });
    const types = token_type_ids ?? ids.map(() => 0);
    const max = Math.min(this.#tokensMax, PAIR_TOKENS_MAX);
    return ids.length <= max
      ? { ids, types }
      : shortenedPair({ ids, types }, [alone(query), alone(document)], max);
  }

  #tokensOf(text: string): number[] {
    const { ids } = this.#tokenizer.encode(text);
    // The last token marks the end of the text.
    return ids.length <= this.#tokensMax
      ? ids
      : [...ids.slice(0, this.#tokensMax - 1), ids.at(-1)!];
  }

  async #run(
    tokens: readonly number[],
    types: readonly number[] = tokens.map(() => 0),
  ): Promise<{ data: Float32Array; dims: readonly number[] }> {
    const { length } = tokens;
    const all: Record<string, BigInt64Array> = {
      input_ids: BigInt64Array.from(tokens, BigInt),
      attention_mask: new BigInt64Array(length).fill(1n),
      token_type_ids: BigInt64Array.from(types, BigInt),
    };
    const feeds: Record<string, Tensor> = {};
    for (const name of this.#session.inputNames) {
      const data = all[name];
      if (data === undefined) throw new Error(`the model wants an input \`${name}\``);
      feeds[name] = new this.#runtime.Tensor('int64', data, [1, length]);
    }
    const outputs = await this.#session.run(feeds);
    const output = outputs.last_hidden_state ?? outputs[this.#session.outputNames[0]!]!;
    if (!(output.data instanceof Float32Array)) {
      throw new Error('the model gives no numbers of 32 bits');
    }
    return { data: output.data, dims: output.dims };
  }
}

interface Pair {
  ids: number[];
  types: number[];
}

/**
 * Cuts the document, and a query that would leave it less than half.
 * @param texts the tokens of the query and of the document, without those that separate them
 */
export function shortenedPair(
  { ids, types }: Pair,
  [query, document]: readonly [number[], number[]],
  max: number,
): Pair {
  const queryBegin = positionOf(query, ids, 0);
  const documentBegin = positionOf(document, ids, queryBegin + query.length);
  const space = Math.max(0, max - (ids.length - query.length - document.length));
  const queryLength = Math.min(query.length, Math.max(space >> 1, space - document.length));
  const kept = (_: unknown, at: number): boolean =>
    !(at >= queryBegin + queryLength && at < queryBegin + query.length) &&
    !(at >= documentBegin + space - queryLength && at < documentBegin + document.length);
  return { ids: ids.filter(kept), types: types.filter(kept) };
}

/** Where a text is in the tokens of a pair, not before `from`. */
function positionOf(text: readonly number[], pair: readonly number[], from: number): number {
  for (let at = from; at + text.length <= pair.length; at++) {
    if (text.every((token, n) => pair[at + n] === token)) return at;
  }
  throw new Error('the tokenizer splits texts of a pair in another way');
}

/** @param tokens the embeddings of the tokens of a text, `width` numbers each */
export function pooled(tokens: Float32Array, width: number, pooling: Pooling): Float32Array {
  const count = tokens.length / width;
  switch (pooling) {
    case 'cls':
      return tokens.slice(0, width);
    case 'last':
      return tokens.slice(tokens.length - width);
    case 'max': {
      const greatest = tokens.slice(0, width);
      for (let i = width; i < tokens.length; i++) {
        if (tokens[i]! > greatest[i % width]!) greatest[i % width] = tokens[i]!;
      }
      return greatest;
    }
    case 'mean':
    case 'meanSqrtLength': {
      const sum = new Float64Array(width);
      for (let i = 0; i < tokens.length; i++) sum[i % width]! += tokens[i]!;
      const divisor = pooling === 'mean' ? count : Math.sqrt(count);
      return Float32Array.from(sum, (value) => value / divisor);
    }
  }
}

class MissingPackage extends Error {}

/** Loads a package that may not be installed. */
async function packageOf<T>(name: string): Promise<T> {
  try {
    const module = (await import(name)) as { default?: T } & T;
    return module.default ?? module;
  } catch (error) {
    throw new MissingPackage((error as Error).message);
  }
}

const models = new Map<string, Promise<Model>>();

async function respond(request: EmbedRequest): Promise<EmbedResponse> {
  const { job, files, threads, texts, work } = request;
  const key = join(files.folder, files.encoder);
  try {
    let model = models.get(key);
    if (model === undefined) {
      model = Model.load(files, threads);
      models.set(key, model);
    }
    const loaded = await model;
    const made =
      work.is === 'embed' ? loaded.embed(texts, work.pooling) : loaded.score(work.query, texts);
    return { job, embeddings: await made };
  } catch (error) {
    models.delete(key);
    const fault = (error as Error).message;
    return error instanceof MissingPackage ? { job, fault, missing: true } : { job, fault };
  }
}

if (process.send !== undefined) {
  let last: Promise<unknown> = Promise.resolve();
  process.on('message', (request: EmbedRequest) => {
    last = last.then(async () => process.send!(await respond(request)));
  });
  process.on('disconnect', () => process.exit(0));
}
