import type { ComponentChildren } from 'preact';
import type { IconName } from './icon-paths.ts';
import { Icon } from './icon.tsx';

interface Props {
  icon: IconName;
  title: string;
  children?: ComponentChildren;
}

/** Shown where there is nothing yet: says what belongs here and how it gets here. */
export function Empty({ icon, title, children }: Props): JSX.Element {
  return (
    <div class="card empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}
