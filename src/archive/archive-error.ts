/** An archive cannot be read. The message names the archive and the position of the fault. */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError';
}
