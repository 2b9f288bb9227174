/**
 * Where the build puts a file that runs as a thread or process of its own: next to the program. A
 * program run from its sources uses the same file.
 */
export function builtFile(name: string): URL {
  const folder = import.meta.url.endsWith('.ts') ? '../../dist/' : './';
  return new URL(folder + name, import.meta.url);
}
