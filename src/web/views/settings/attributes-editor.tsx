import { OrderedList } from './ordered-list.tsx';

interface Weighted {
  readonly attribute: string;
  readonly weight: number;
}

/** A name, or an object: one with a weight, or a rule for several fields. */
type Entry = string | Weighted | object;

interface Props {
  label: string;
  value: readonly Entry[];
  /** Whether an entry may have a weight. */
  weighted: boolean;
  fields: readonly string[];
  onChange(value: readonly Entry[]): void;
}

function isWeighted(entry: Entry): entry is Weighted {
  return typeof entry === 'object' && 'weight' in entry;
}

function nameOf(entry: Entry): string {
  if (typeof entry === 'string') return entry;
  return isWeighted(entry) ? entry.attribute : JSON.stringify(entry);
}

/** A name, or an object if the text is one. */
function make(text: string): Entry {
  if (!text.startsWith('{')) return text;
  try {
    return JSON.parse(text) as object;
  } catch {
    return text;
  }
}

/** Fields in order; for searchable fields, with their weights. */
export function AttributesEditor(props: Props): JSX.Element {
  const { label, value, weighted, fields, onChange } = props;
  return (
    <OrderedList
      label={label}
      items={value}
      nameOf={nameOf}
      make={make}
      offered={['*', ...fields]}
      onChange={onChange}
    >
      {(entry, change) =>
        weighted && (typeof entry === 'string' || isWeighted(entry)) ? (
          <input
            class="weight"
            type="number"
            min="0.01"
            max="1000"
            step="any"
            placeholder="weight"
            aria-label={`Weight of ${nameOf(entry)}`}
            value={isWeighted(entry) ? entry.weight : ''}
            onInput={({ currentTarget: { value: typed } }) =>
              change(
                typed === '' ? nameOf(entry) : { attribute: nameOf(entry), weight: Number(typed) },
              )
            }
          />
        ) : null
      }
    </OrderedList>
  );
}
