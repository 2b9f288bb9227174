import { CodeSample } from '../../parts/code-sample.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { plainSearch, type SearchState } from '../../search-request.ts';

interface Props {
  uid: string;
  state: SearchState;
  onClose(): void;
}

/** The search as a program, and a link to it. */
export function RequestDialog({ uid, state, onClose }: Props): JSX.Element {
  return (
    <Dialog title="This search as a request" onClose={onClose}>
      <CodeSample uid={uid} body={plainSearch(state)}>
        <CopyButton text={location.href} label="Copy a link to this search" />
      </CodeSample>
      <p class="note">
        The environment variable GANNET_KEY holds a key. Whoever opens the link needs one, too.
      </p>
    </Dialog>
  );
}
