import { useState } from 'preact/hooks';
import type { Compared } from '../../compared-search.ts';
import { Choice } from '../../parts/choice.tsx';
import { Field } from '../../parts/field.tsx';
import { useIndexes } from '../../shell/indexes-context.tsx';
import type { Controls } from './controls.ts';
import { Meaning, orders } from './refine.tsx';

interface Props {
  title: string;
  side: Compared;
  controls: Controls;
  /** The index of the view, if another one can be chosen; null: it cannot. */
  index: string | null;
  onChange(part: Partial<Compared>): void;
}

const STRATEGIES = [
  ['', 'as in the settings'],
  ['last', 'last: drop words from the end'],
  ['all', 'all: every word must match'],
  ['frequency', 'frequency: drop frequent words'],
  ['natural', 'natural: any word may match, as in questions'],
] as const;

const FUSIONS = [
  ['', 'as the strategy needs'],
  ['score', 'by their scores'],
  ['rrf', 'by their ranks'],
] as const;

/** What the formula begins with. */
const FORMULA = '_rankingScore:desc';

/** The parameters of one side. */
export function ComparedForm({ title, side, controls, index, onChange }: Props): JSX.Element {
  return (
    <fieldset>
      <legend class="unseen">{title}</legend>
      {index === null ? null : <OtherIndex side={side} index={index} onChange={onChange} />}
      <Choice
        label="Words that may be missing"
        value={side.matchingStrategy}
        options={STRATEGIES}
        onChoose={(matchingStrategy) => onChange({ matchingStrategy })}
      />
      <Order sort={side.sort} controls={controls} onChange={onChange} />
      {controls.embedders.length === 0 ? null : (
        <Meaning state={side} embedders={controls.embedders} onChange={onChange} />
      )}
      {side.embedder === '' ? null : (
        <>
          <Choice
            label="Words and meaning are merged"
            value={side.fusion}
            options={FUSIONS}
            onChoose={(fusion) => onChange({ fusion })}
          />
          <CommittedField
            label="Least similarity, from 0 to 1"
            hint="Empty: as in the settings."
            value={side.minScore}
            onCommit={(minScore) => onChange({ minScore })}
          />
        </>
      )}
    </fieldset>
  );
}

function OtherIndex(props: {
  side: Compared;
  index: string;
  onChange(part: Partial<Compared>): void;
}): JSX.Element | null {
  const { side, index, onChange } = props;
  const { list } = useIndexes();
  const others = list.filter(({ uid }) => uid !== index);
  if (others.length === 0) return null;
  return (
    <Choice
      label="In the index"
      value={side.index}
      options={[['', index], ...others.map(({ uid }) => [uid, uid] as const)]}
      onChoose={(uid) => onChange({ index: uid, sort: '', embedder: '' })}
    />
  );
}

interface OrderProps {
  sort: string;
  controls: Controls;
  onChange(part: { sort: string }): void;
}

function Order({ sort, controls, onChange }: OrderProps): JSX.Element {
  const options = orders(controls);
  const isFormula = options.every(([value]) => value !== sort);
  return (
    <>
      <Choice
        label="Order"
        value={isFormula ? 'formula' : sort}
        options={[...options, ['formula', 'by a formula']]}
        onChoose={(value) => onChange({ sort: value === 'formula' ? FORMULA : value })}
      />
      {isFormula ? (
        <CommittedField
          label="Formula and direction"
          hint="For example log(1 + sales) * decay(released, now, 30d):desc"
          value={sort}
          onCommit={(value) => onChange({ sort: value })}
        />
      ) : null}
    </>
  );
}

interface CommittedProps {
  label: string;
  hint: string;
  value: string;
  onCommit(value: string): void;
}

/** A text that counts when the field is left or Enter is pressed: half a formula is an error. */
function CommittedField({ label, hint, value, onCommit }: CommittedProps): JSX.Element {
  /** Kept, because results that arrive meanwhile render the field again; null: nothing is typed. */
  const [typed, setTyped] = useState<string | null>(null);
  return (
    <Field label={label} hint={hint}>
      {(id, hintId) => (
        <input
          id={id}
          type="text"
          aria-describedby={hintId}
          autocomplete="off"
          spellcheck={false}
          value={typed ?? value}
          onInput={(event) => setTyped(event.currentTarget.value)}
          onChange={(event) => {
            setTyped(null);
            onCommit(event.currentTarget.value.trim());
          }}
        />
      )}
    </Field>
  );
}
