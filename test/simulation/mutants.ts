/**
 * Deliberate faults of the core. Each is a change of its source that makes one promise of
 * docs/internals/cluster.md untrue, and the simulation must notice: a test that cannot fail proves
 * nothing.
 */
export interface Mutant {
  /** What the fault does. */
  readonly name: string;
  /** Below `src/cluster/`. */
  readonly file: string;
  /** Occurs once. */
  readonly from: string;
  readonly to: string;
  /** What the simulation finds. */
  readonly finds: RegExp;
}

const TWICE = /is in the log twice/;
const LOST = /is acknowledged, and not in the log/;
const PREFIX = /not a prefix of the log/;
const LEADERS = /and \w+ is the leader/;
const SESSION = /A session that has seen/;
const EQUAL = /differs from a single server|lacks the file/;
const OBJECTS = /which is missing or damaged|lacks the object|checkpoint was removed/;
const ALIVE = /After all faults have ended/;

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'takes an append without a response for one that failed',
    file: 'appender.ts',
    from: '      isUnknown = true;\n',
    to: "      throw new WritesRefusedError('The log does not answer');\n",
    finds: TWICE,
  },
  {
    name: 'takes an append without a response for one that succeeded',
    file: 'appender.ts',
    from: '      isUnknown = true;\n',
    to: '      return true;\n',
    finds: new RegExp(`${LOST.source}|${PREFIX.source}`),
  },
  {
    name: 'believes that an append that is not in the log yet never will be',
    file: 'appender.ts',
    from: "      if (found !== 'absent') return found === 'present';\n",
    to: "      if (found !== 'absent') return found === 'present';\n      if (isUnknown) throw new WritesRefusedError('The append was lost');\n",
    finds: TWICE,
  },
  {
    name: 'takes a refusal for the end of the attempts before',
    file: 'appender.ts',
    from: "result.kind === 'refused' && !isUnknown",
    to: "result.kind === 'refused'",
    finds: TWICE,
  },
  {
    name: 'takes any entry at its position for its own',
    file: 'appender.ts',
    from: "  return found.body.equals(entry.body) ? 'present' : 'other';\n",
    to: "  return 'present';\n",
    // A node that misses an entry may also stop catching up first.
    finds: new RegExp(`${LOST.source}|${PREFIX.source}|${ALIVE.source}`),
  },
  {
    name: 'applies whatever entry comes',
    file: 'follower.ts',
    from: '      if (entry.sequence !== this.applied + 1) {\n',
    to: '      if (entry.sequence < 0) {\n',
    finds: PREFIX,
  },
  {
    name: 'applies an entry again',
    file: 'follower.ts',
    from: '      if (entry.sequence <= this.applied) return;\n      if (entry.sequence !== this.applied + 1) {\n',
    to: '      if (entry.sequence > this.applied + 1) {\n',
    // A node that refuses what it has applied already may also stop catching up first.
    finds: /not a prefix of the log|do not take writes and catch up/,
  },
  {
    name: 'adds entries by the epoch of whoever leads',
    file: 'appender.ts',
    from: 'log.append(entry, epoch)',
    to: 'log.append(entry, (await log.state()).leader?.epoch ?? epoch)',
    finds: LEADERS,
  },
  {
    name: 'answers a read whose time to wait has passed',
    file: 'node.ts',
    from: '    end.abort();\n    return this.applied >= sequence;\n',
    to: '    end.abort();\n    return true;\n',
    finds: SESSION,
  },
  {
    name: 'does not check the content of objects',
    file: 'transfers.ts',
    from: 'bytes === size && hash.digest().equals(sum)',
    to: 'bytes === size',
    // A damaged record that passes for whole is not mended, so nodes may also stop catching up.
    finds: new RegExp(`${EQUAL.source}|${PREFIX.source}|${ALIVE.source}`),
  },
  {
    name: 'applies a record before its files are there',
    file: 'follower.ts',
    from: '      await transfers.fetchFiles(record.database, record.files);\n',
    to: '',
    finds: EQUAL,
  },
  {
    name: 'installs a checkpoint before its files are there',
    file: 'checkpoints.ts',
    from: 'fetchFiles(name, [...copies, ...files])',
    to: 'fetchFiles(name, copies)',
    finds: EQUAL,
  },
  {
    name: 'names a record before its object is stored',
    file: 'transfers.ts',
    from: '    const blob = await this.upload(piecesSource(source), epoch);\n',
    to: '    const blob = `files/${hex(epoch)}-early-${++this.#named}`;\n    void this.#blobs.put(blob, piecesSource(source)).catch(() => {});\n',
    finds: OBJECTS,
  },
  {
    name: 'removes objects that a commit is about to name',
    file: 'checkpoints.ts',
    from: 'new Set<BlobName>(transfers.pending)',
    to: 'new Set<BlobName>()',
    finds: OBJECTS,
  },
  {
    name: 'removes objects that only the log names',
    file: 'checkpoints.ts',
    from: '      for (const name of passed) needed.add(name);\n',
    to: '      void passed;\n',
    finds: OBJECTS,
  },
  {
    name: 'writes records that other members cannot read',
    file: 'node.ts',
    from: 'Math.min(this.#options.formatMax ?? FORMAT_MAX, ...formats.values())',
    to: '(void formats, this.#options.formatMax ?? FORMAT_MAX)',
    finds: /upgrade it/,
  },
  {
    name: 'trusts a watch that brings nothing',
    file: 'follower.ts',
    from: '    this.#missingSince = null;\n    this.#watch.abort();\n',
    to: '    this.#missingSince = null;\n',
    finds: ALIVE,
  },
  {
    name: 'reports no damaged object',
    file: 'node.ts',
    from: '    if (isOfCluster) this.#parts.log',
    to: '    if (isOfCluster && object === null) this.#parts.log',
    finds: ALIVE,
  },
  {
    name: 'stores no damaged object again that only early entries name',
    file: 'checkpoints.ts',
    from: 'const passed = isMending ? ',
    to: 'const passed = isMending && floor < 0 ? ',
    finds: ALIVE,
  },
  {
    name: 'takes reading a damaged object again for progress',
    file: 'transfers.ts',
    from: '      if (!isWhole) this.#bytesFetched -= bytes;\n',
    to: '',
    finds: ALIVE,
  },
];
