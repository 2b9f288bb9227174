import { useState } from 'preact/hooks';
import { codeSample, LANGUAGES, type Language } from '../../code-samples.ts';
import { Choice } from '../../parts/choice.tsx';
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
  const [language, setLanguage] = useState<Language>('curl');
  const server = new URL('.', location.href.replace(/[?#].*$/, '')).href.replace(/\/$/, '');
  const code = codeSample(language, server, uid, plainSearch(state));
  return (
    <Dialog title="This search as a request" onClose={onClose}>
      <Choice
        label="Language"
        value={language}
        options={LANGUAGES.map((name) => [name, name])}
        onChoose={(name) => setLanguage(name as Language)}
      />
      <pre tabIndex={0}>{code}</pre>
      <p class="buttons">
        <CopyButton text={code} label="Copy the code" />
        <CopyButton text={location.href} label="Copy a link to this search" />
      </p>
      <p class="note">
        The environment variable GANNET_KEY holds a key. Whoever opens the link needs one, too.
      </p>
    </Dialog>
  );
}
