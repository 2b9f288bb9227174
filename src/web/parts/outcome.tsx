import type { Action } from '../hooks.ts';
import { Problem } from './problem.tsx';

/** What went wrong with an action. Its progress and its success are shown by the shell. */
export function Outcome({ action }: { action: Action }): JSX.Element {
  return <Problem error={action.error} />;
}
