import type { Action } from '../hooks.ts';
import { Problem } from './problem.tsx';

/** What went wrong with an action. Its progress and its success are shown by the shell. */
export function Outcome(props: { action: Action; uid?: string }): JSX.Element {
  const { action, uid = null } = props;
  return <Problem error={action.error} uid={uid} />;
}
