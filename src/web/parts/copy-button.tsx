import { notify } from '../notices.ts';
import { Icon } from './icon.tsx';

/** Copies a text. Nothing is shown where the browser does not allow it, as without TLS. */
export function CopyButton({ text, label }: { text: string; label: string }): JSX.Element | null {
  if (!isSecureContext) return null;
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      notify({ kind: 'done', text: 'Copied.' });
    } catch {
      notify({ kind: 'failed', text: 'The browser does not allow copying.' });
    }
  };
  return (
    <button type="button" onClick={() => void copy()}>
      <Icon name="copy" /> {label}
    </button>
  );
}
