/**
 * The files of a local model: in a folder that the embedder names, or downloaded once per revision
 * from the hub to a cache.
 */
import { createWriteStream, existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { makeFolder } from '../base/make-folder.ts';
import type { OutboundClient, OutboundStream } from '../outbound/outbound-client.ts';
import { OutboundError } from '../outbound/outbound-error.ts';
import { EmbeddingError } from './embedding-error.ts';

/** Possible names of the encoder file. The first one that exists is used. */
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
  /** Path of the encoder, relative to the folder. */
  encoder: string;
}

export interface ModelSource {
  client: OutboundClient;
  /** Folder of downloaded models. */
  cacheDir: string;
  /** URL of the hub, without a trailing slash. */
  hubUrl: string;
}

/** Whether the name of a model is the path of its folder. */
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
    throw new EmbeddingError(`\`${version}\` is not a revision of a model`);
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
      // The weights of large models are in a separate file.
      await fetchFile(url, `${name}_data`, folder, client, signal);
      break;
    }
  }
  encoderIn(folder);
  // Written last, so that an incomplete download is repeated.
  const stream = createWriteStream(join(folder, '.complete'));
  await pipeline(Readable.from([]), stream);
}

/** Downloads a file. @returns false if it does not exist */
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
    const response = await follow(`${base}/${name}`, client, signal);
    try {
      if (response.status === NOT_FOUND) return false;
      if (response.status !== 200) {
        throw new EmbeddingError(
          `The hub answered ${response.status} for \`${name}\` of the model`,
        );
      }
      makeFolder(dirname(path));
      await pipeline(response.body, createWriteStream(partial, { flush: true }));
    } finally {
      response.discard();
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
 * Requests a file and follows redirects, since the hub serves large files from other hosts. The
 * request contains no secrets.
 */
async function follow(
  url: string,
  client: OutboundClient,
  signal: AbortSignal | undefined,
): Promise<OutboundStream> {
  let at = url;
  for (let hops = 0; hops <= REDIRECTS_MAX; hops++) {
    const response = await client.stream({
      method: 'GET',
      url: at,
      signal,
      timeoutMs: HEAD_TIMEOUT_MS,
    });
    const { location } = response.headers;
    if (response.status < 300 || response.status >= 400 || typeof location !== 'string')
      return response;
    response.discard();
    at = new URL(location, at).href;
  }
  throw new EmbeddingError('The hub redirects without end');
}

/** How the embeddings of tokens are combined, from `1_Pooling/config.json`. */
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
