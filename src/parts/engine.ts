/** The engine: its threads, its memory, and the buffers of its responses. */
import { availableParallelism } from 'node:os';
import { BufferPool } from '../base/buffer-pool.ts';
import { memoryBytes } from '../base/machine.ts';
import {
  bad,
  BadOption,
  type Environment,
  type GivenOptions,
  type Options,
} from '../base/options.ts';
import { loadAddon } from '../engine/addon.ts';
import type { EngineOptions, NativeAddon } from '../engine/native.ts';
import { type EngineTuning, parseTuning } from '../engine/tuning.ts';

export const OPTIONS = {
  'max-indexing-memory': {
    kind: 'size',
    otherwise: () => Math.floor((memoryBytes() * 2) / 3),
    shown: '2/3 of the memory',
    help: 'Memory that indexing tries not to exceed.',
  },
  'max-indexing-threads': {
    kind: 'text',
    read: indexingThreads,
    otherwise: halfOfTheCores,
    shown: 'half of the cores',
    help: 'Threads for indexing.',
  },
  'experimental-reduce-indexing-memory-usage': {
    kind: 'flag',
    help: 'Halve max-indexing-memory.',
  },
} as const satisfies Options;

export type EngineConfig = ReturnType<typeof configure>;

export function configure({ values }: GivenOptions<typeof OPTIONS>, env: Environment) {
  return {
    /** Budget of the indexer, bytes. */
    indexingMemoryBytes: indexingMemory(
      values['max-indexing-memory'],
      values['experimental-reduce-indexing-memory-usage'],
    ),
    indexingThreads: values['max-indexing-threads'],
    tuning: tuningOf(env),
  };
}

/** There is nothing to close: the process ends with the addon. */
export function open(config: EngineConfig): {
  native: NativeAddon;
  responseBuffers: BufferPool;
} {
  const native = loadAddon();
  const responseBuffers = new BufferPool();
  native.configure({
    ...engineOptions(config),
    takeBuffer: (bytes) => responseBuffers.take(bytes),
  });
  return { native, responseBuffers };
}

export function engineOptions({
  indexingThreads,
  indexingMemoryBytes,
  tuning,
}: EngineConfig): Omit<EngineOptions, 'takeBuffer'> {
  return { searchThreads: availableParallelism(), indexingThreads, indexingMemoryBytes, tuning };
}

function indexingMemory(bytes: number, isReduced: boolean): number {
  if (!isReduced) return bytes;
  if (process.platform === 'win32') {
    throw new BadOption('experimental-reduce-indexing-memory-usage is not available on Windows.');
  }
  return Math.floor(bytes / 2);
}

function halfOfTheCores(): number {
  return Math.max(1, Math.floor(availableParallelism() / 2));
}

function indexingThreads(text: string, name: string): number {
  if (text === '' || text.toLowerCase() === 'unlimited') return halfOfTheCores();
  return /^[1-9]\d*$/.test(text) ? Number(text) : bad(name, text, 'a number');
}

/** Thresholds of the engine that tests move. */
function tuningOf(env: Environment): EngineTuning {
  const text = env.GANNET_TUNING;
  if (text === undefined) return {};
  return parseTuning(text) ?? bad('GANNET_TUNING', text, 'a JSON object of known thresholds');
}
