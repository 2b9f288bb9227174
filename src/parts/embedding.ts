/** Embeddings, reranking, local models, and the rendering of templates. */
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { bad, type Environment, type GivenOptions, type Options } from '../base/options.ts';
import { variable } from '../base/variables.ts';
import { EmbeddingService } from '../embedding/embedding-service.ts';
import { LocalModels } from '../embedding/local-model.ts';
import { RenderPool } from '../embedding/render-pool.ts';
import { RerankerService } from '../embedding/reranker-service.ts';
import type { OutboundClient } from '../outbound/outbound-client.ts';
import type { EngineConfig } from './engine.ts';
import type { Part } from './part.ts';
import { seconds } from './values.ts';

export const OPTIONS = {
  'experimental-embedding-cache-entries': {
    kind: 'count',
    initial: '0',
    help: 'Cached query embeddings per embedder.',
  },
} as const satisfies Options;

export const VARIABLES = [
  'EXPERIMENTAL_CONFIG_EMBEDDER_FAILURE_MODES',
  'EXPERIMENTAL_REST_EMBEDDER_TIMEOUT_SECONDS',
  'EXPERIMENTAL_REST_EMBEDDER_MAX_RETRY_DURATION_SECONDS',
  'OPENAI_API_KEY',
  'OLLAMA_URL',
] as const;

const FAILURE_MODES = ['ignore_document_template_failures', 'ignore_embedder_failures'] as const;

export type EmbeddingConfig = ReturnType<typeof configure>;

export function configure({ values }: GivenOptions<typeof OPTIONS>, env: Environment) {
  const [failureModes, timeout, longestWait, openAiKey, ollamaUrl] = VARIABLES;
  const ignored = ignoredFailures(env, failureModes);
  return {
    embeddingCacheEntries: values['experimental-embedding-cache-entries'],
    embedding: {
      openAiKey: variable(env, openAiKey) ?? env.OPENAI_API_KEY ?? null,
      ollamaUrl: variable(env, ollamaUrl),
      timeoutMs: seconds(env, timeout, 30),
      /** The longest wait before a retry. */
      waitMsMax: seconds(env, longestWait, 60),
      /** What cannot be rendered, or embedded, has no embedding instead of failing its batch. */
      ignoreTemplateFailures: ignored.includes(FAILURE_MODES[0]),
      ignoreEmbedderFailures: ignored.includes(FAILURE_MODES[1]),
    },
    models: modelsOf(env),
  };
}

export function open(
  config: EmbeddingConfig & EngineConfig,
  { outbound: client }: { outbound: OutboundClient },
): Part & {
  embedding: EmbeddingService;
  rerankers: RerankerService;
  renders: RenderPool;
} {
  const models = new LocalModels({ client, threads: config.indexingThreads, ...config.models });
  const embedding = new EmbeddingService(
    client,
    { ...config.embedding, cacheEntries: config.embeddingCacheEntries },
    (embedder) => models.open(embedder),
  );
  const rerankers = new RerankerService(client, config.embedding, models);
  const renders = new RenderPool();
  return {
    embedding,
    rerankers,
    renders,
    async close() {
      for (const one of [renders, embedding, rerankers, models]) await one.close();
    },
  };
}

function ignoredFailures(env: Environment, name: string): readonly string[] {
  const modes = (variable(env, name) ?? '').split(',').map((mode) => mode.trim());
  const named = modes.filter((mode) => mode !== '');
  const unknown = named.find((mode) => FAILURE_MODES.every((known) => known !== mode));
  if (unknown !== undefined) bad(name, unknown, `some of ${FAILURE_MODES.join(', ')}`);
  return named;
}

/** Where models come from, and where they are kept. */
function modelsOf(env: Environment): { cacheDir: string; hubUrl: string } {
  const cache = env.XDG_CACHE_HOME ?? join(homeFolder(), '.cache');
  return {
    cacheDir: env.GANNET_MODELS_DIR ?? join(cache, 'gannet', 'models'),
    hubUrl: (env.HF_ENDPOINT ?? 'https://huggingface.co').replace(/\/+$/, ''),
  };
}

/** The home folder of the user; that of temporary files in a container without users and HOME. */
function homeFolder(): string {
  try {
    return homedir();
  } catch {
    return tmpdir();
  }
}
