import { humanSize } from '../base/size.ts';
import type { Terminal } from './command.ts';

const COLUMNS = 30;

/** A progress bar on a terminal; elsewhere nothing is shown. */
export interface Progress {
  /** @param done the part of the total that is done. @param note text after the bar */
  update(done: number, note: string): void;
  end(): void;
}

const NONE: Progress = { update: () => {}, end: () => {} };

/** @param total null: unknown, so only the note is shown */
export async function showProgress(
  { complaints }: Terminal,
  label: string,
  total: number | null,
  isQuiet: boolean,
): Promise<Progress> {
  if (isQuiet || complaints.isTTY !== true) return NONE;
  const { SingleBar } = await import('cli-progress');
  const bar = new SingleBar({
    format: total === null ? `${label} {note}` : `${label} [{bar}] {percentage} % {note}`,
    barCompleteChar: '#',
    barIncompleteChar: '-',
    barsize: COLUMNS,
    stream: complaints as NodeJS.WritableStream,
    hideCursor: true,
    clearOnComplete: true,
    gracefulExit: false,
  });
  bar.start(total ?? 1, 0, { note: '' });
  return {
    update: (done, note) => bar.update(total === null ? 0 : Math.min(done, total), { note }),
    end: () => bar.stop(),
  };
}

/** `3 documents`, `1 document`. */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`;
}

/** A note such as `12.00 MiB of 1.25 GiB`. */
export function sizeNote(done: number, total: number | null): string {
  return total === null ? humanSize(done) : `${humanSize(done)} of ${humanSize(total)}`;
}
