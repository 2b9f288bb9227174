/**
 * The files of a model that runs on this machine: in a folder that the embedder names, or
 * downloaded once from the hub into a cache, by revision.
 */
import {
  createWriteStream,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { OutboundClient, OutboundStream } from '../outbound/outbound-client.ts';
import { OutboundError } from '../outbound/outbound-error.ts';
import { EmbeddingError } from './embedding-error.ts';

/** The encoder, the first of these that there is. */
const ENCODERS = ['onnx/model.onnx', 'onnx/model_quantized.onnx', 'model.onnx'] as const;
const NEEDED = ['config.json', 'tokenizer.json'] as const;
const OPTIONAL = ['tokenizer_config.json', '1_Pooling/config.json'] as const;

const MAIN_BRANCH = 'main';
const REDIRECTS_MAX = 5;
const HEAD_TIMEOUT_MS = 30_000;
const NOT_FOUND = 404;

/** `owner/name` or `name`. */
const MODEL_NAME = /^[\w.-]+(?:\/[\w.-]+)?$/;
const REVISION = /^[\w.-]+$/;

export interface ModelFiles {
  folder: string;
  /** Relative to it. */
  encoder: string;
}

export interface ModelSource {
  client: OutboundClient;
  /** Where downloads are kept. */
  cacheDir: string;
  /** Of the hub, without a slash at the end. */
  hubUrl: string;
}

/** Whether a model is named by its folder. */
function isFolder(model: string): boolean {
  return isAbsolute(model) || model.startsWith('./') || model.startsWith('../');
}

/** Finds or downloads a model. Throws `EmbeddingError`, or the reason of the signal. */
export async function modelFiles(
  model: string,
  revision: string | undefined,
  source: ModelSource,
  signal: AbortSignal | undefined,
): Promise<ModelFiles> {
  if (isFolder(model)) {
    const folder = resolve(model);
    for (const name of NEEDED) {
      if (!existsSync(join(folder, name))) {
        throw new EmbeddingError(`The folder of the model, \`${folder}\`, has no \`${name}\``);
      }
    }
    return { folder, encoder: encoderIn(folder) };
  }
  if (!MODEL_NAME.test(model) || model.split('/').some((part) => /^\.+$/.test(part))) {
    throw new EmbeddingError(
      `\`${model}\` is neither the name of a model nor the path of a folder`,
    );
  }
  const version = revision ?? MAIN_BRANCH;
  if (!REVISION.test(version) || /^\.+$/.test(version)) {
    throw new EmbeddingError(`\`${version}\` is no revision of a model`);
  }
  const folder = join(source.cacheDir, model.replace('/', '--'), version);
  const complete = join(folder, '.complete');
  if (!existsSync(complete)) {
    await download(`${source.hubUrl}/${model}/resolve/${version}`, folder, source.client, signal);
  }
  return { folder, encoder: encoderIn(folder) };
}

function encoderIn(folder: string): string {
  const found = ENCODERS.find((name) => existsSync(join(folder, name)));
  if (found !== undefined) return found;
  const names = ENCODERS.map((name) => `\`${name}\``).join(', ');
  throw new EmbeddingError(
    `The model in \`${folder}\` has none of ${names}: only models in the form ONNX can be run`,
  );
}

async function download(
  url: string,
  folder: string,
  client: OutboundClient,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (const name of NEEDED) {
    if (!(await fetchFile(url, name, folder, client, signal))) {
      throw new EmbeddingError(`The hub has no \`${name}\` of the model (${url})`);
    }
  }
  for (const name of OPTIONAL) await fetchFile(url, name, folder, client, signal);
  for (const name of ENCODERS) {
    if (await fetchFile(url, name, folder, client, signal)) {
      // Weights of large models lie beside it.
      await fetchFile(url, `${name}_data`, folder, client, signal);
      break;
    }
  }
  encoderIn(folder);
  // Written last: what a stop leaves incomplete is downloaded again.
  const stream = createWriteStream(join(folder, '.complete'));
  await pipeline(Readable.from([]), stream);
}

/** @returns false: there is no such file */
async function fetchFile(
  base: string,
  name: string,
  folder: string,
  client: OutboundClient,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const path = join(folder, name);
  const partial = `${path}.part`;
  try {
    const answer = await follow(`${base}/${name}`, client, signal);
    try {
      if (answer.status === NOT_FOUND) return false;
      if (answer.status !== 200) {
        throw new EmbeddingError(`The hub answered ${answer.status} for \`${name}\` of the model`);
      }
      mkdirSync(dirname(path), { recursive: true });
      await pipeline(answer.body, createWriteStream(partial, { flush: true }));
    } finally {
      answer.discard();
    }
    renameSync(partial, path);
    return true;
  } catch (error) {
    rmSync(partial, { force: true });
    signal?.throwIfAborted();
    if (error instanceof OutboundError) {
      throw new EmbeddingError(`The model cannot be downloaded: ${error.message}`);
    }
    throw error;
  }
}

/**
 * The hub sends large files from elsewhere. Nothing secret is sent, so its redirects are followed.
 */
async function follow(
  url: string,
  client: OutboundClient,
  signal: AbortSignal | undefined,
): Promise<OutboundStream> {
  let at = url;
  for (let hops = 0; hops <= REDIRECTS_MAX; hops++) {
    const answer = await client.stream({
      ...{ method: 'GET', url: at, signal },
      timeoutMs: HEAD_TIMEOUT_MS,
    });
    const { location } = answer.headers;
    if (answer.status < 300 || answer.status >= 400 || typeof location !== 'string') return answer;
    answer.discard();
    at = new URL(location, at).href;
  }
  throw new EmbeddingError('The hub redirects without end');
}

/** How embeddings of tokens become one, from `1_Pooling/config.json`. */
export type Pooling = 'cls' | 'mean' | 'last' | 'meanSqrtLength' | 'max';

/** @param setting `useModel`, `forceCls` or `forceMean` */
export function poolingOf(folder: string, setting: unknown): Pooling {
  if (setting === 'forceCls') return 'cls';
  if (setting === 'forceMean') return 'mean';
  const path = join(folder, '1_Pooling/config.json');
  if (!existsSync(path)) return 'mean';
  const config = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
  if (config.pooling_mode_cls_token === true) return 'cls';
  if (config.pooling_mode_mean_tokens === true) return 'mean';
  if (config.pooling_mode_lasttoken === true) return 'last';
  if (config.pooling_mode_mean_sqrt_len_tokens === true) return 'meanSqrtLength';
  if (config.pooling_mode_max_tokens === true) return 'max';
  return 'mean';
}
