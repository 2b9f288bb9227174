import { useState } from 'preact/hooks';
import { counted } from '../../format.ts';
import { TextField } from '../../parts/text-field.tsx';
import { typosAllowed, typosBetween, type TypoSettings } from '../../typo-match.ts';

/** Says whether a typed word would match a stored one, by the settings as they are typed. */
export function TypoBox({ settings }: { settings: TypoSettings }): JSX.Element {
  const [typed, setTyped] = useState('');
  const [stored, setStored] = useState('');
  const allowed = typosAllowed(typed, settings);
  const typos = typosBetween(typed, stored);
  return (
    <fieldset>
      <legend>Does this match?</legend>
      <div class="row">
        <TextField label="Somebody types" value={typed} onInput={setTyped} />
        <TextField label="A document holds" value={stored} onInput={setStored} />
      </div>
      <p role="status">
        {typed === '' || stored === '' ? (
          'Type two words.'
        ) : (
          <>
            <span class={typos <= allowed ? 'state succeeded' : 'state failed'}>
              {typos <= allowed ? 'matches' : 'does not match'}
            </span>{' '}
            {counted(typos, 'typo')}; a word of {counted([...typed].length, 'letter')} may have{' '}
            {allowed}.
          </>
        )}
      </p>
    </fieldset>
  );
}
