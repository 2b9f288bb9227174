import type { TargetedFocusEvent, TargetedKeyboardEvent } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { CELL_TYPES, editedType, jsonFrom, typedFrom, type CellType } from '../../cell-value.ts';
import { Problem } from '../../parts/problem.tsx';

interface Props {
  /** Names the field and the document for screen readers. */
  label: string;
  /** The value as JSON; undefined: the document does not have the field. */
  json: string | undefined;
  /** Values of other documents, which say what an empty cell may become. */
  column: readonly string[];
  /** Whether Tab reaches the cell; arrow keys reach the others. */
  reached: boolean;
  onSave(json: string): void;
}

/** A value, which becomes a field at a click or Enter. */
export function Cell({ label, json, column, reached, onSave }: Props): JSX.Element {
  const [editing, setEditing] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const returns = useRef(false);
  useLayoutEffect(() => {
    if (!editing && returns.current) button.current!.focus();
    returns.current = false;
  }, [editing]);
  if (!editing) {
    return (
      <button
        ref={button}
        type="button"
        class="quiet value"
        title={`Edit ${label}`}
        tabIndex={reached ? 0 : -1}
        onClick={() => setEditing(true)}
      >
        <Value json={json} />
      </button>
    );
  }
  return (
    <CellEditor
      label={label}
      json={json}
      type={editedType(json, column)}
      onClose={(saved, isLeft) => {
        returns.current = !isLeft;
        setEditing(false);
        if (saved !== null) onSave(saved);
      }}
    />
  );
}

interface EditorProps {
  label: string;
  json: string | undefined;
  type: CellType;
  /**
   * @param saved JSON; null: nothing has changed
   * @param isLeft whether the focus is elsewhere already
   */
  onClose(saved: string | null, isLeft: boolean): void;
}

/** Enter saves, Escape does not. What is left is saved if it is valid. */
function CellEditor({ label, json, type: first, onClose }: EditorProps): JSX.Element {
  const [type, setType] = useState(first);
  const [typed, setTyped] = useState(() => typedFrom(json));
  const [error, setError] = useState<Error | null>(null);
  const form = useRef<HTMLFormElement>(null);
  const isClosed = useRef(false);
  useLayoutEffect(() => form.current!.querySelector<HTMLElement>('.typed')!.focus(), []);
  const close = (saved: string | null, isLeft: boolean): void => {
    // An element that is taken away loses the focus, too.
    if (isClosed.current) return;
    isClosed.current = true;
    onClose(saved, isLeft);
  };
  const save = (isLeft: boolean): void => {
    try {
      const isSame = type === first && typed === typedFrom(json);
      close(isSame ? null : jsonFrom(typed, type), isLeft);
    } catch (fault) {
      setError(fault as Error);
    }
  };
  const pressed = (event: TargetedKeyboardEvent<HTMLFormElement>): void => {
    const isField = event.target instanceof HTMLTextAreaElement;
    if (event.key === 'Escape') close(null, false);
    else if (event.key === 'Enter' && isField && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      save(false);
    }
  };
  const left = (event: TargetedFocusEvent<HTMLFormElement>): void => {
    const isInside = event.currentTarget.contains(event.relatedTarget as Node | null);
    // Another window may have the focus now.
    if (!isInside && document.hasFocus()) save(true);
  };
  return (
    <form
      ref={form}
      class="cell-editor"
      onKeyDown={pressed}
      onFocusOut={left}
      onSubmit={(event) => {
        event.preventDefault();
        save(false);
      }}
    >
      <CellField
        label={label}
        type={type}
        typed={typed}
        onType={(text) => {
          setTyped(text);
          setError(null);
        }}
      />
      <Problem error={error} />
      <span class="buttons">
        <TypeChoice label={label} type={type} onChoose={setType} />
        <button type="submit">Save</button>
        <button type="button" class="quiet" onClick={() => close(null, false)}>
          Cancel
        </button>
      </span>
    </form>
  );
}

interface TypeProps {
  label: string;
  type: CellType;
  onChoose(type: CellType): void;
}

function TypeChoice({ label, type, onChoose }: TypeProps): JSX.Element {
  return (
    <select
      aria-label={`Type of ${label}`}
      value={type}
      onChange={(event) => onChoose(event.currentTarget.value as CellType)}
    >
      {CELL_TYPES.map(([value, name]) => (
        <option key={value} value={value} selected={value === type}>
          {name}
        </option>
      ))}
    </select>
  );
}

interface FieldProps {
  label: string;
  type: CellType;
  typed: string;
  onType(typed: string): void;
}

function CellField({ label, type, typed, onType }: FieldProps): JSX.Element | null {
  if (type === 'null') return null;
  if (type === 'boolean') {
    return (
      <select
        class="typed"
        aria-label={label}
        value={String(typed === 'true')}
        onChange={(event) => onType(event.currentTarget.value)}
      >
        <option value="true" selected={typed === 'true'}>
          true
        </option>
        <option value="false" selected={typed !== 'true'}>
          false
        </option>
      </select>
    );
  }
  return (
    <textarea
      class="typed"
      aria-label={label}
      rows={Math.min(12, typed.split('\n').length)}
      spellcheck={false}
      value={typed}
      {...(type === 'number' && { inputMode: 'decimal' as const })}
      onFocus={(event) => event.currentTarget.select()}
      onInput={(event) => onType(event.currentTarget.value)}
    />
  );
}

/** Maximum number of characters of a value; the style shows as many as fit. */
const CHARACTERS_MAX = 300;

export function Value({ json }: { json: string | undefined }): JSX.Element | null {
  if (json === undefined) return null;
  if (/^[-\d]/.test(json)) return <>{json}</>;
  const isText = json.startsWith('"');
  const text = isText ? (JSON.parse(json) as string) : listed(json);
  return <span class={isText ? 'clip' : 'clip other'}>{text.slice(0, CHARACTERS_MAX)}</span>;
}

/** A list of texts with commas; everything else as JSON. */
function listed(json: string): string {
  const value = JSON.parse(json) as unknown;
  const isPlain = Array.isArray(value) && value.every((one) => typeof one === 'string');
  return isPlain ? value.join(', ') : json;
}
