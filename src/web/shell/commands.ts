/** What the command palette offers, and how it is found. Pure functions. */
import type { IconName } from '../parts/icon-paths.ts';

export interface Command {
  readonly title: string;
  readonly group: string;
  readonly icon: IconName;
  readonly href: string;
}

interface Target {
  readonly name: string;
  readonly title: string;
  readonly group: string;
  readonly icon: IconName;
}

/** Commands shown at once. */
export const COMMANDS_MAX = 50;

/**
 * The views, and the views of each index.
 * @param isIndexView whether the argument of a view is an index
 */
export function commandsFor(
  views: readonly Target[],
  uids: readonly string[],
  isIndexView: (view: string) => boolean,
  hrefOf: (view: string, uid?: string) => string,
): Command[] {
  const ofIndexes = views.filter(({ name }) => isIndexView(name));
  return [
    ...views.map(({ name, title, group, icon }) => ({
      title,
      group,
      icon,
      href: hrefOf(name),
    })),
    ...uids.flatMap((uid) =>
      ofIndexes.map(({ name, title, icon }) => ({
        title: `${uid}: ${title}`,
        group: 'Index',
        icon,
        href: hrefOf(name, uid),
      })),
    ),
  ];
}

/** The commands that contain every word, those that begin with the text first. */
export function matching(commands: readonly Command[], text: string): Command[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = commands.filter(({ title, group }) => {
    const all = `${title} ${group}`.toLowerCase();
    return words.every((word) => all.includes(word));
  });
  const begins = ({ title }: Command): number =>
    Number(!title.toLowerCase().startsWith(text.trim().toLowerCase()));
  return found.sort((a, b) => begins(a) - begins(b)).slice(0, COMMANDS_MAX);
}
