import { useState } from 'preact/hooks';
import { counted } from '../format.ts';
import { excerpt, splitMarks, type Marks } from '../marks.ts';

/** Characters of a text and members of a list that are shown before a click on "All". */
const CHARACTERS_MAX = 1000;
const MEMBERS_MAX = 50;

interface Shown {
  /** Describes everything there is, such as `50 values`. */
  rest: string;
  onMore(): void;
}

function More({ rest, onMore }: Shown): JSX.Element {
  return (
    <button type="button" class="quiet" onClick={onMore}>
      All {rest}
    </button>
  );
}

/** Text with matches highlighted. A long text is shown in part. */
function LongText({ text, marks }: { text: string; marks: Marks | undefined }): JSX.Element {
  const [whole, setWhole] = useState(false);
  const parts = marks === undefined ? [{ text, marked: false }] : splitMarks(text, marks);
  const length = parts.reduce((sum, part) => sum + part.text.length, 0);
  const cut = !whole && length > CHARACTERS_MAX;
  const shown = cut ? excerpt(parts, CHARACTERS_MAX) : parts;
  return (
    <>
      {shown.map((part) => (part.marked ? <mark>{part.text}</mark> : part.text))}
      {cut ? (
        <>
          {' … '}
          <More rest={counted(length, 'character')} onMore={() => setWhole(true)} />
        </>
      ) : null}
    </>
  );
}

/**
 * A JSON value as nested lists that can be folded. Web addresses become links; nothing is loaded
 * from them.
 */
export function JsonValue({ value, marks }: { value: unknown; marks?: Marks }): JSX.Element {
  if (typeof value === 'string') {
    const marked = marks !== undefined && value.includes(marks.begin);
    if (!marked && /^https?:\/\/\S+$/.test(value)) {
      return (
        <a href={value} target="_blank" rel="noopener noreferrer">
          {value}
        </a>
      );
    }
    if (!marked && /^data:image\/(?:png|jpeg|gif|webp);base64,[\w+/=]+$/.test(value)) {
      return <img src={value} alt="Image stored in the document" />;
    }
    return <LongText text={value} marks={marks} />;
  }
  if (typeof value !== 'object' || value === null) {
    return <span class="scalar">{String(value)}</span>;
  }
  return <Members value={value} {...(marks && { marks })} />;
}

/** Members of a list or an object. Nested members are rendered when they are unfolded. */
function Members({ value, marks }: { value: object; marks?: Marks }): JSX.Element {
  const [open, setOpen] = useState(false);
  const [all, setAll] = useState(false);
  const members = Array.isArray(value)
    ? value.map((member, position) => [String(position + 1), member] as const)
    : Object.entries(value);
  const shown = all ? members : members.slice(0, MEMBERS_MAX);
  const flat = members.every(([, member]) => typeof member !== 'object' || member === null);
  const kind = counted(members.length, Array.isArray(value) ? 'value' : 'field');
  const more =
    shown.length === members.length ? null : <More rest={kind} onMore={() => setAll(true)} />;
  if (Array.isArray(value) && flat) {
    return (
      <>
        <ul class="values">
          {shown.map(([name, member]) => (
            <li key={name}>
              <JsonValue value={member} {...(marks && { marks })} />
            </li>
          ))}
        </ul>
        {more}
      </>
    );
  }
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{kind}</summary>
      {open ? (
        <dl>
          {shown.map(([name, member]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <JsonValue value={member} {...(marks && { marks })} />
              </dd>
            </div>
          ))}
        </dl>
      ) : null}
      {more}
    </details>
  );
}
