import { useEffect } from 'preact/hooks';
import { notify, useNotice } from '../notices.ts';
import { Icon } from '../parts/icon.tsx';

/** How long an outcome stays at least. Then the next key or click removes it. */
const STAY_MS = 4000;

/** The progress and the outcome of the last action, in a corner of the screen. */
export function Toasts(): JSX.Element {
  const notice = useNotice();
  useEffect(() => {
    if (notice === null || notice.kind === 'working') return;
    const hide = (): void => notify(null);
    const timer = setTimeout(() => {
      addEventListener('pointerdown', hide);
      addEventListener('keydown', hide);
    }, STAY_MS);
    return () => {
      clearTimeout(timer);
      removeEventListener('pointerdown', hide);
      removeEventListener('keydown', hide);
    };
  }, [notice]);
  return (
    <div class="toasts" role="status">
      {notice === null ? null : (
        <div class={`card toast ${notice.kind}`}>
          {notice.kind === 'working' ? (
            <i class="spinner" />
          ) : (
            <Icon name={notice.kind === 'done' ? 'check' : 'alert'} />
          )}
          <span class="grow">{notice.text}</span>
          {notice.kind === 'working' ? null : (
            <button type="button" class="quiet" aria-label="Dismiss" onClick={() => notify(null)}>
              <Icon name="close" />
            </button>
          )}
        </div>
      )}
    </div>
  );
}
