/** Elements in which a slash is typed as text. */
const TYPED_INTO = 'input:not([type=checkbox], [type=range]), textarea, select, dialog';

/** Whether the slash was pressed as a command, and not as text. */
export function isSlash(event: KeyboardEvent): boolean {
  return isCommand(event, '/');
}

/**
 * Whether a key was pressed as a command, and not as text.
 * @param command a key, with `Ctrl ` before it if that or ⌘ is held
 */
export function isCommand(
  { key, target, ctrlKey, metaKey, altKey }: KeyboardEvent,
  command: string,
): boolean {
  const pressed = ctrlKey || metaKey ? `Ctrl ${key}` : key;
  if (pressed !== command || altKey) return false;
  return !(target instanceof Element) || target.closest(TYPED_INTO) === null;
}
