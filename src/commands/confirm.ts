/** Asks the person at the terminal before something is deleted. */
import { createInterface } from 'node:readline/promises';
import { CommandFailure, type Terminal } from './command.ts';

/**
 * Returns whether the person types yes. The end of the input means no.
 * @param question ends with a question mark
 * @param unattended the advice for a program that has no terminal to ask at, which is an error
 */
export async function confirm(
  { input, complaints, signal }: Terminal,
  question: string,
  unattended: string,
): Promise<boolean> {
  if (input.isTTY !== true) throw new CommandFailure(unattended);
  const asking = createInterface({ input, output: complaints });
  try {
    const ended = new Promise<string>((resolve) => asking.once('close', () => resolve('')));
    const line = await Promise.race([
      asking.question(`${question} Type yes to go on: `, { signal }),
      ended,
    ]);
    return /^y(?:es)?$/i.test(line.trim());
  } finally {
    asking.close();
  }
}
