/** An archive that cannot be read; the message says which one, and where it is at fault. */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError';
}
