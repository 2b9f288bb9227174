/**
 * Where the build has put a file that runs as a thread or a process of its own: beside the program, and a program
 * that is run from its sources takes the same file.
 */
export function builtFile(name: string): URL {
  const folder = import.meta.url.endsWith('.ts') ? '../../dist/' : './';
  return new URL(folder + name, import.meta.url);
}
