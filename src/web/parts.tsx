/** Components that several views use. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { counted } from './format.ts';
import type { Action } from './hooks.ts';
import { excerpt, splitMarks, type Marks } from './marks.ts';

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

/** Text with code between backticks. */
export function Coded({ text }: { text: string }): JSX.Element {
  return (
    <>
      {text.split('`').map((part, position) => (position % 2 === 1 ? <code>{part}</code> : part))}
    </>
  );
}

export function Problem({ error }: { error: Error | null }): JSX.Element | null {
  return error === null ? null : (
    <p class="problem" role="alert">
      <Coded text={error.message} />
    </p>
  );
}

/** The outcome of an action. */
export function Outcome({ action }: { action: Action }): JSX.Element {
  return (
    <>
      <Problem error={action.error} />
      <p class="outcome" role="status">
        {action.running ? 'Working …' : (action.done ?? '')}
      </p>
    </>
  );
}

interface FieldProps {
  label: string;
  hint?: string;
  children(id: string, hintId: string | undefined): ComponentChildren;
}

/** A control with its label and a hint. */
export function Field({ label, hint, children }: FieldProps): JSX.Element {
  const id = useId();
  const hintId = hint === undefined ? undefined : `${id}-hint`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id, hintId)}
      {hint === undefined ? null : (
        <small id={hintId} class="hint">
          {hint}
        </small>
      )}
    </div>
  );
}

interface TextFieldProps {
  label: string;
  hint?: string;
  value: string;
  type?: 'text' | 'password' | 'number' | 'url' | 'search' | 'datetime-local';
  list?: string;
  required?: boolean;
  step?: string;
  onInput(value: string): void;
}

export function TextField(props: TextFieldProps): JSX.Element {
  const { label, hint, value, type = 'text', list, required = false, step, onInput } = props;
  return (
    <Field label={label} {...(hint !== undefined && { hint })}>
      {(id, hintId) => (
        <input
          id={id}
          // The attributes used here are valid for all these types.
          type={type as 'text'}
          value={value}
          list={list}
          required={required}
          step={step}
          aria-describedby={hintId}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface LinesFieldProps {
  label: string;
  hint?: string;
  value: string;
  /** Visible lines; absent: the default of the browser. */
  rows?: number;
  /** Whether the browser checks the spelling; absent: the default of the browser. */
  spellcheck?: boolean;
  onInput(value: string): void;
  onKeyDown?(event: KeyboardEvent): void;
}

/** A text field with several lines. */
export function LinesField(props: LinesFieldProps): JSX.Element {
  const { label, hint, value, rows, spellcheck, onInput, onKeyDown } = props;
  return (
    <Field label={label} {...(hint !== undefined && { hint })}>
      {(id, hintId) => (
        <textarea
          id={id}
          class="lines"
          rows={rows}
          aria-describedby={hintId}
          spellcheck={spellcheck}
          value={value}
          onInput={(event) => onInput(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
      )}
    </Field>
  );
}

interface CheckBoxProps {
  label: string;
  checked: boolean;
  onChange(checked: boolean): void;
}

export function CheckBox({ label, checked, onChange }: CheckBoxProps): JSX.Element {
  return (
    <p class="facet">
      <label>
        <input
          type="checkbox"
          checked={checked}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
        <span>{label}</span>
      </label>
    </p>
  );
}

interface CheckListProps {
  values: readonly string[];
  chosen: readonly string[];
  onChoose(values: readonly string[]): void;
  /** The label of a value. */
  text(value: string): JSX.Element;
}

/** A list of check boxes: any number of the values can be chosen. */
export function CheckList({ values, chosen, onChoose, text }: CheckListProps): JSX.Element {
  const check = (value: string, on: boolean): void =>
    onChoose(on ? [...chosen, value] : chosen.filter((one) => one !== value));
  return (
    <ul>
      {values.map((value) => (
        <li key={value}>
          <label>
            <input
              type="checkbox"
              checked={chosen.includes(value)}
              onChange={(event) => check(value, event.currentTarget.checked)}
            />
            {text(value)}
          </label>
        </li>
      ))}
    </ul>
  );
}

interface ChoiceProps {
  label: string;
  hint?: string;
  value: string;
  /** Values with their labels. */
  options: readonly (readonly [value: string, shown: string])[];
  onChoose(value: string): void;
}

export function Choice({ label, hint, value, options, onChoose }: ChoiceProps): JSX.Element {
  return (
    <Field label={label} {...(hint !== undefined && { hint })}>
      {(id, hintId) => (
        <select
          id={id}
          aria-describedby={hintId}
          value={value}
          onChange={(event) => onChoose(event.currentTarget.value)}
        >
          {options.map(([option, shown]) => (
            <option key={option} value={option} selected={option === value}>
              {shown}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface PagesProps {
  page: number;
  pages: number;
  onPage(page: number): void;
}

/** Links to the first page, the last page and the pages around the current one. */
export function Pages({ page, pages, onPage }: PagesProps): JSX.Element | null {
  if (pages <= 1) return null;
  const near = [1, page - 2, page - 1, page, page + 1, page + 2, pages];
  const shown = [...new Set(near.filter((one) => one >= 1 && one <= pages))].sort((a, b) => a - b);
  return (
    <nav class="pages" aria-label="Pages of results">
      <button type="button" disabled={page <= 1} onClick={() => onPage(page - 1)}>
        Previous
      </button>
      {shown.map((one, position) => (
        <span key={one}>
          {position > 0 && shown[position - 1] !== one - 1 ? <span class="gap">…</span> : null}
          <button
            type="button"
            aria-current={one === page ? 'page' : undefined}
            aria-label={`Page ${one}`}
            onClick={() => onPage(one)}
          >
            {one}
          </button>
        </span>
      ))}
      <button type="button" disabled={page >= pages} onClick={() => onPage(page + 1)}>
        Next
      </button>
    </nav>
  );
}

interface DialogProps {
  title: string;
  onClose(): void;
  children: ComponentChildren;
}

/** A modal dialog. Escape closes it. */
export function Dialog({ title, onClose, children }: DialogProps): JSX.Element {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => element.current?.showModal(), []);
  return (
    <dialog ref={element} aria-labelledby={id} onClose={onClose}>
      <header>
        <h2 id={id}>{title}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick={onClose}>
          ✕
        </button>
      </header>
      {children}
    </dialog>
  );
}

interface ConfirmProps {
  title: string;
  /** Explains what is deleted. */
  warning: string;
  /** The text to type. */
  name: string;
  verb: string;
  onClose(): void;
  onConfirm(): void;
}

/** Confirms an action that cannot be undone: you must type the name. */
export function Confirm({
  title,
  warning,
  name,
  verb,
  onClose,
  onConfirm,
}: ConfirmProps): JSX.Element {
  const [typed, setTyped] = useState('');
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (typed !== name) return;
          onConfirm();
          onClose();
        }}
      >
        <p>{warning}</p>
        <TextField label={`Type ${name} to continue`} value={typed} onInput={setTyped} />
        <p class="buttons">
          <button type="submit" class="danger" disabled={typed !== name}>
            {verb}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </p>
      </form>
    </Dialog>
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
