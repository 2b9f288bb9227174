import { hasPhrase, type RuleTerms } from '../../curation.ts';
import { localMoment, momentFrom } from '../../format.ts';
import { CheckBox } from '../../parts/check-box.tsx';
import { Choice } from '../../parts/choice.tsx';
import { Outcome } from '../../parts/outcome.tsx';
import { TextField } from '../../parts/text-field.tsx';
import { useSession } from '../../session.ts';
import type { Curation } from './curate.tsx';

interface Props {
  curation: Curation;
  /** Values by attribute that a filter can be made of, with their counts. */
  counts: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** What is pinned and hidden for the query, when that applies, and the button that saves it. */
export function CurationPanel({ curation, counts }: Props): JSX.Element | null {
  const { rights } = useSession();
  const { draft, isChanged, isOn, action } = curation;
  const maySwitch = isOn || rights.has('features');
  if (!isChanged && draft.spots.size === 0) return null;
  return (
    <section class="card save-bar curation" aria-label="Arranged results">
      <Arranged curation={curation} />
      <details>
        <summary>{whenWords(draft.terms)}</summary>
        <Terms terms={draft.terms} counts={counts} onChange={curation.change} />
      </details>
      {hasPhrase(draft.q) ? (
        <p class="note">
          Rules do not see words in quotes. The rule applies to searches with these words outside of
          quotes.
        </p>
      ) : null}
      {isOn ? null : (
        <p class="note">
          Rules are an experimental feature, <code>dynamicSearchRules</code>, which is off.{' '}
          {maySwitch
            ? 'Saving enables it.'
            : 'A key with the action experimental.update is needed to enable it.'}
        </p>
      )}
      <Outcome action={action} />
      {isChanged ? (
        <p class="buttons">
          <button
            type="button"
            class="primary"
            disabled={action.running || !maySwitch}
            onClick={curation.save}
          >
            Save the rule
          </button>
          <button type="button" disabled={action.running} onClick={curation.discard}>
            Discard
          </button>
        </p>
      ) : null}
    </section>
  );
}

/** The pins by position, then what is hidden, each with a button that takes it back. */
function Arranged({ curation }: { curation: Curation }): JSX.Element {
  const { draft, isChanged, nameOf, put } = curation;
  const all = [...draft.spots].toSorted(([, a], [, b]) => (a ?? Infinity) - (b ?? Infinity));
  return (
    <>
      <h2>{isChanged ? 'Arranged, not saved' : 'A rule arranges these results'}</h2>
      <ul class="chips" aria-label="Pinned and hidden">
        {all.map(([id, spot]) => (
          <li key={id}>
            <span>{spot === null ? 'hidden' : `${spot + 1}.`} </span>
            {nameOf(id)}{' '}
            <button type="button" class="quiet" onClick={() => put(id, nameOf(id), undefined)}>
              {spot === null ? 'Show again' : 'Unpin'}
              <span class="unseen"> {nameOf(id)}</span>
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

function whenWords({ words, values, start, end }: RuleTerms): string {
  const query = words === '' ? 'For searches without words' : `For searches with “${words}”`;
  const given = Object.entries(values).map(([field, value]) => `${field}: ${String(value)}`);
  const narrowed = given.length === 0 ? '' : `, narrowed to ${given.join(' and ')}`;
  return `${query}${narrowed}${start !== '' || end !== '' ? ', for a time' : ''}`;
}

interface TermsProps {
  terms: RuleTerms;
  counts: Props['counts'];
  onChange(terms: Partial<RuleTerms>): void;
}

function Terms({ terms, counts, onChange }: TermsProps): JSX.Element {
  const { words, values, start, end } = terms;
  const offered = Object.entries(counts).flatMap(([facet, found]) =>
    facet in values ? [] : Object.keys(found).map((value) => JSON.stringify([facet, value])),
  );
  return (
    <>
      <TextField
        label="Words of the query"
        hint="A search must have all of them. Empty: searches without words."
        value={words}
        onInput={(text) => onChange({ words: text })}
      />
      {Object.entries(values).map(([facet, value]) => (
        <CheckBox
          key={facet}
          label={`Only when narrowed to ${facet}: ${String(value)}`}
          checked
          onChange={() => {
            const { [facet]: _, ...others } = values;
            onChange({ values: others });
          }}
        />
      ))}
      {offered.length === 0 ? null : (
        <Choice
          label="Only when narrowed to"
          value=""
          options={[
            ['', 'anything'],
            ...offered.map((one) => [one, (JSON.parse(one) as string[]).join(': ')] as const),
          ]}
          onChoose={(chosen) => {
            if (chosen === '') return;
            const [facet, value] = JSON.parse(chosen) as [string, string];
            onChange({ values: { ...values, [facet]: value } });
          }}
        />
      )}
      <div class="row">
        <TextField
          label="From"
          hint="Empty: at once."
          type="datetime-local"
          value={localMoment(start)}
          onInput={(text) => onChange({ start: momentFrom(text) ?? '' })}
        />
        <TextField
          label="Until"
          hint="Empty: for ever."
          type="datetime-local"
          value={localMoment(end)}
          onInput={(text) => onChange({ end: momentFrom(text) ?? '' })}
        />
      </div>
    </>
  );
}
