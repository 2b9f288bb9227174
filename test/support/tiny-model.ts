/** Writes a small cross-encoder in ONNX form, and computes its scores without ONNX. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const SPECIAL = ['[PAD]', '[UNK]', '[CLS]', '[SEP]'];
const WORDS = ['red', 'shoe', ...Array.from({ length: 20 }, (_, n) => `w${n}`)];
const VOCABULARY = [...SPECIAL, ...WORDS];
/** Whole eighths, so that sums are exact. */
const WEIGHTS = VOCABULARY.map((_, id) => (((id * 37) % 41) - 20) / 8);
const [UNKNOWN, BEGIN, END] = [1, 2, 3];

/** The tokens that the model reads. */
const TOKENS_MAX = 16;

/** The mean weight of the tokens, where those of the document count twice. */
export function tinyScore(query: string, document: string): number {
  const tokensOf = (text: string): number[] =>
    text
      .split(' ')
      .map((word) => VOCABULARY.indexOf(word))
      .map((id) => (id < 0 ? UNKNOWN! : id));
  const space = TOKENS_MAX - 3;
  const [q, d] = [tokensOf(query), tokensOf(document)];
  const kept = Math.min(q.length, Math.max(Math.floor(space / 2), space - d.length));
  const first = [BEGIN!, ...q.slice(0, kept), END!];
  const second = [...d.slice(0, space - kept), END!];
  const sum = [...first, ...second, ...second].reduce((total, id) => total + WEIGHTS[id]!, 0);
  return Math.fround(sum / (first.length + second.length));
}

/** @param output `logits`, or a number for each token, which is no score */
export function writeTinyModel(folder: string, output: 'logits' | 'weighted' = 'logits'): void {
  mkdirSync(join(folder, 'onnx'), { recursive: true });
  const config = { model_type: 'bert', max_position_embeddings: TOKENS_MAX };
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer()));
  writeFileSync(join(folder, 'onnx/model.onnx'), onnx(output));
}

function tokenizer(): object {
  const special = (id: string, type_id: number): object => ({ SpecialToken: { id, type_id } });
  const text = (id: string, type_id: number): object => ({ Sequence: { id, type_id } });
  const single = [special('[CLS]', 0), text('A', 0), special('[SEP]', 0)];
  const token = (id: number): object => ({ id: SPECIAL[id], ids: [id], tokens: [SPECIAL[id]] });
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false };
  return {
    ...{ version: '1.0', truncation: null, padding: null, decoder: null },
    added_tokens: SPECIAL.map((content, id) => ({ id, content, ...flags, special: true })),
    normalizer: { type: 'Lowercase' },
    pre_tokenizer: { type: 'Whitespace' },
    post_processor: {
      ...{ type: 'TemplateProcessing', single },
      pair: [...single, text('B', 1), special('[SEP]', 1)],
      special_tokens: { '[CLS]': token(BEGIN!), '[SEP]': token(END!) },
    },
    model: {
      ...{ type: 'WordPiece', unk_token: '[UNK]', continuing_subword_prefix: '##' },
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(VOCABULARY.map((word, id) => [word, id])),
    },
  };
}

// The protobuf messages of ONNX, by the numbers of their fields.

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))];
}

function field(number: number, value: number | string | Buffer): Buffer {
  if (typeof value === 'number') return Buffer.from([...varint(number * 8), ...varint(value)]);
  const bytes = Buffer.from(value as string);
  return Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(bytes.length)]), bytes]);
}

const message = (...fields: Buffer[]): Buffer => Buffer.concat(fields);
const [FLOAT, INT64] = [1, 7];

/** An attribute: a number, or a list of one. */
function attribute(name: string, value: number | [number]): Buffer {
  return typeof value === 'number'
    ? message(field(1, name), field(3, value), field(20, 2))
    : message(field(1, name), field(8, value[0]), field(20, 7));
}

function node(type: string, inputs: string[], output: string, ...attributes: Buffer[]): Buffer {
  const named = inputs.map((name) => field(1, name));
  const described = attributes.map((one) => field(5, one));
  return field(1, message(...named, field(2, output), field(4, type), ...described));
}

function tensor(name: string, type: number): Buffer {
  const dimension = field(1, message(field(2, `${name}_n`)));
  const shape = field(2, message(field(1, message(field(1, 1))), dimension));
  return message(field(1, name), field(2, field(1, message(field(1, type), shape))));
}

function onnx(output: string): Buffer {
  const weights = message(
    ...[field(1, WEIGHTS.length), field(2, FLOAT!), field(8, 'weights')],
    field(9, Buffer.from(Float32Array.from(WEIGHTS).buffer)),
  );
  const graph = message(
    node('Gather', ['weights', 'input_ids'], 'gathered', attribute('axis', 0)),
    node('Cast', ['token_type_ids'], 'types', attribute('to', FLOAT!)),
    node('Mul', ['gathered', 'types'], 'second'),
    node('Add', ['gathered', 'second'], 'weighted'),
    node('ReduceMean', ['weighted'], 'logits', attribute('axes', [1]), attribute('keepdims', 1)),
    ...[field(2, 'tiny'), field(5, weights)],
    ...[field(11, tensor('input_ids', INT64!)), field(11, tensor('token_type_ids', INT64!))],
    field(12, tensor(output, FLOAT!)),
  );
  return message(field(1, 8), field(7, graph), field(8, message(field(1, ''), field(2, 13))));
}
