/** What removes the cause of an error. */

export interface Remedy {
  readonly attribute: string;
  readonly quality: 'filterable' | 'sortable' | 'searchable';
  /** The setting that the attribute is added to, as in paths. */
  readonly setting: string;
}

/** @param message of an error of the server; null: nothing is known to help */
export function remedyOf(message: string): Remedy | null {
  const found = /attribute `([^`]+)`(?: of `\w+`)? is not (filterable|sortable|searchable)/i.exec(
    message,
  );
  if (found === null) return null;
  const [, attribute, quality] = found as unknown as [string, string, Remedy['quality']];
  return { attribute, quality, setting: `${quality}-attributes` };
}
