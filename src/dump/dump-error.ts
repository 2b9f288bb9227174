/** A dump cannot be imported. The message is for the person who starts the program. */
export class DumpError extends Error {
  override readonly name = 'DumpError';
}
