import type { TargetedKeyboardEvent } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import {
  cellsToMend,
  convert,
  mendedText,
  wrongCell,
  type BadRow,
  type Column,
  type Mapping,
} from '../../import/columns.ts';
import { cellsOf } from '../../import/csv-cells.ts';
import { Field } from '../../parts/field.tsx';
import { FIELDS_MAX } from './import-columns.tsx';

interface Props {
  row: BadRow;
  mapping: Mapping;
  /** How the row is mended; undefined: it is as in the file. */
  before: string | undefined;
  /** @param text undefined: as in the file */
  onMend(text: string | undefined): void;
}

/** A bad row, which can be mended. Each change counts at once; Escape takes all of them back. */
export function RowMender({ row, mapping, before, onMend }: Props): JSX.Element {
  const { line, reason, text } = row;
  const [opened, setOpened] = useState<{ readonly before: string | undefined } | null>(null);
  const button = useRef<HTMLButtonElement>(null);
  const close = (): void => {
    setOpened(null);
    button.current!.focus();
  };
  const pressed = (event: TargetedKeyboardEvent<HTMLDivElement>): void => {
    if (event.key === 'Escape') {
      onMend(opened!.before);
      close();
    } else if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      // What is shown counts, also if nothing was typed: values that were missing are empty.
      const shown = mapping.type === 'csv' ? mendedText(cellsToMend(text, mapping), mapping) : text;
      if (reason !== null && shown !== text) onMend(shown);
      if ('document' in convert({ line, text: shown }, mapping)) close();
    }
  };
  return (
    <li>
      Line {line}: <span role="status">{reason ?? 'Mended: it can be sent.'}</span>{' '}
      <code class="clip">{text.slice(0, 200)}</code>{' '}
      <button
        ref={button}
        type="button"
        class="quiet"
        aria-expanded={opened !== null}
        onClick={() => setOpened(opened === null ? { before } : null)}
      >
        Mend line {line}
      </button>
      {opened === null ? null : (
        <div role="group" aria-label={`Line ${line}`} class="mender" onKeyDown={pressed}>
          <RowFields text={text} mapping={mapping} onMend={onMend} />
          <small class="hint">
            Enter closes a row that can be sent. Escape takes the changes back.
          </small>
        </div>
      )}
    </li>
  );
}

interface FieldsProps {
  text: string;
  mapping: Mapping;
  onMend(text: string): void;
}

/** The cells of CSV, or the whole text. */
function RowFields({ text, mapping, onMend }: FieldsProps): JSX.Element {
  const { type, delimiter, columns } = mapping;
  // Kept apart from the text, so that a quote that is typed changes no other cell.
  const [cells, setCells] = useState(() => (type === 'csv' ? cellsToMend(text, mapping) : []));
  const fields = useRef<HTMLDivElement>(null);
  const isCells = type === 'csv' && cells.length <= FIELDS_MAX;
  useLayoutEffect(() => {
    const all = fields.current!.querySelectorAll('textarea');
    const first = isCells ? wrongCell(cellsOf(text, delimiter), mapping) : 0;
    (all[first] ?? all[0])!.focus();
  }, []);
  const change = (at: number, cell: string): void => {
    const next = cells.with(at, cell);
    setCells(next);
    onMend(mendedText(next, mapping));
  };
  return (
    <div ref={fields} class={isCells ? 'row' : 'row long'}>
      {isCells ? (
        cells.map((cell, at) => (
          <TextOf
            key={at}
            label={labelOf(columns[at], at)}
            text={cell}
            isCell
            onType={(next) => change(at, next)}
          />
        ))
      ) : (
        <TextOf label="Text of the row" text={text} isCell={false} onType={onMend} />
      )}
    </div>
  );
}

function labelOf(column: Column | undefined, at: number): string {
  const name = column?.kept === true ? column.name : column?.source;
  return name === undefined || name === '' ? `Value ${at + 1}` : name;
}

interface TextProps {
  label: string;
  text: string;
  isCell: boolean;
  onType(text: string): void;
}

function TextOf({ label, text, isCell, onType }: TextProps): JSX.Element {
  return (
    <Field label={label}>
      {(id) => (
        <textarea
          id={id}
          rows={Math.min(12, text.split('\n').length)}
          spellcheck={false}
          value={text}
          onFocus={(event) => isCell && event.currentTarget.select()}
          onInput={(event) => onType(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
