import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { codeSample, LANGUAGES, type Language } from '../code-samples.ts';
import { Choice } from './choice.tsx';
import { CopyButton } from './copy-button.tsx';

interface Props {
  uid: string;
  /** That of the request. */
  body: Readonly<Record<string, unknown>>;
  /** Absent: the program reads it from its environment. */
  apiKey?: string;
  /** Further buttons. */
  children?: ComponentChildren;
}

/** A search as a program, in the chosen language. */
export function CodeSample({ uid, body, apiKey, children }: Props): JSX.Element {
  const [language, setLanguage] = useState<Language>('curl');
  const server = new URL('.', location.href.replace(/[?#].*$/, '')).href.replace(/\/$/, '');
  const code = codeSample(language, server, uid, body, apiKey ?? null);
  return (
    <>
      <Choice
        label="Language"
        value={language}
        options={LANGUAGES.map((name) => [name, name])}
        onChoose={(name) => setLanguage(name as Language)}
      />
      <pre tabIndex={0}>{code}</pre>
      <p class="buttons">
        <CopyButton text={code} label="Copy the code" />
        {children}
      </p>
    </>
  );
}
