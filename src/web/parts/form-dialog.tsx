import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Dialog } from './dialog.tsx';
import { Problem } from './problem.tsx';

interface Props {
  title: string;
  /** On the button. */
  verb: string;
  /** Whether the button destroys something. */
  isDangerous?: boolean;
  disabled?: boolean;
  /** Whether something was typed that closing would lose. */
  dirty?: boolean;
  children: ComponentChildren;
  /** Closes the dialog, unless it throws. */
  onSubmit(): void;
  onClose(): void;
}

/** A dialog with one form and the button that sends it. */
export function FormDialog(props: Props): JSX.Element {
  const { title, verb, isDangerous = false, disabled = false, dirty = false } = props;
  const [problem, setProblem] = useState<Error | null>(null);
  const submit = (event: Event): void => {
    event.preventDefault();
    try {
      props.onSubmit();
      props.onClose();
    } catch (error) {
      setProblem(error as Error);
    }
  };
  return (
    <Dialog title={title} dirty={dirty} onClose={props.onClose}>
      <form onSubmit={submit}>
        <Problem error={problem} />
        {props.children}
        <p class="buttons">
          <button type="submit" class={isDangerous ? 'danger' : ''} disabled={disabled}>
            {verb}
          </button>
        </p>
      </form>
    </Dialog>
  );
}
