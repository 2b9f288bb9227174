import type { FacetSearchResponse } from '../../contract/responses.ts';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { pathOf } from '../client.ts';
import {
  arity,
  condition,
  filterable,
  filterText,
  operatorsFor,
  parseFilter,
  type Condition,
  type Filter,
  type Filterable,
  type Group,
  type Operator,
} from '../filter.ts';
import { useLoaded } from '../hooks.ts';
import { settingsOf } from '../indexes.ts';
import { Icon } from '../parts/icon.tsx';
import type { SearchResult } from '../search-request.ts';
import { useSession } from '../session.ts';
import { useIndexes } from '../shell/indexes-context.tsx';

interface Props {
  uid: string;
  /** The filter. */
  text: string;
  onText(text: string): void;
}

/** A group with the filter in it, as the builder shows it; an error: it has no other form. */
function drawn(text: string): Group | Error {
  try {
    const filter = parseFilter(text);
    const isGroup = filter.kind === 'all' || filter.kind === 'any';
    return isGroup && !filter.not ? filter : { kind: 'all', not: false, parts: [filter] };
  } catch (error) {
    return error as Error;
  }
}

/** The conditions of a filter, each of which can be chosen. Its text changes with them. */
export function FilterBuilder({ uid, text, onText }: Props): JSX.Element {
  // Conditions that are not complete are in no text.
  const [own, setOwn] = useState<{ group: Group; text: string } | null>(null);
  const group = own !== null && own.text === text.trim() ? own.group : drawn(text);
  const attributes = useAttributes(uid);
  if (group instanceof Error) {
    return (
      <p class="note" role="status">
        This filter is edited as text: {group.message}.
      </p>
    );
  }
  if (attributes.length === 0 && group.parts.length === 0) {
    return <p class="note">No attribute of this index is filterable.</p>;
  }
  const change = (next: Group): void => {
    const written = filterText(next);
    setOwn({ group: next, text: written });
    onText(written);
  };
  return (
    <div class="builder" role="group" aria-label="Conditions">
      <GroupRows uid={uid} group={group} attributes={attributes} onChange={change} />
    </div>
  );
}

function useAttributes(uid: string): readonly Filterable[] {
  const { client } = useSession();
  const { stats } = useIndexes();
  const setting = useLoaded(
    async (signal) => (await settingsOf(client, uid, signal)).filterableAttributes,
    [client, uid],
  ).value as Parameters<typeof filterable>[0] | undefined;
  const fields = Object.keys(stats?.indexes[uid]?.fieldDistribution ?? {});
  // A key that may not read settings tries each field.
  return filterable(setting ?? fields, fields);
}

interface GroupProps {
  uid: string;
  group: Group;
  attributes: readonly Filterable[];
  onChange(group: Group): void;
}

/** `next`: the part of the list that gets the focus once it is shown; without it, `adder` does. */
function useNextFocus() {
  const list = useRef<HTMLUListElement>(null);
  const adder = useRef<HTMLButtonElement>(null);
  const next = useRef<number | null>(null);
  useLayoutEffect(() => {
    if (next.current === null) return;
    const part = list.current?.children[next.current];
    (part?.querySelector<HTMLElement>('select, button') ?? adder.current)?.focus();
    next.current = null;
  });
  return { list, adder, next };
}

function GroupRows({ uid, group, attributes, onChange }: GroupProps): JSX.Element {
  const { kind, parts } = group;
  const set = (next: readonly Filter[]): void => onChange({ ...group, parts: next });
  const replace = (at: number, next: Filter): void =>
    set(parts.map((part, position) => (position === at ? next : part)));
  const added = (): Condition => condition(attributes[0]?.attribute ?? '', firstOf(attributes[0]));
  const { list, adder, next } = useNextFocus();
  const add = (part: Filter): void => {
    next.current = parts.length;
    set([...parts, part]);
  };
  const remove = (at: number): void => {
    next.current = Math.min(at, parts.length - 2);
    set(parts.filter((_, position) => position !== at));
  };
  return (
    <>
      {parts.length > 1 ? (
        <div class="buttons" role="group" aria-label="How conditions combine">
          {(['all', 'any'] as const).map((one) => (
            <button
              key={one}
              type="button"
              class="quiet"
              aria-pressed={kind === one}
              onClick={() => onChange({ ...group, kind: one })}
            >
              {one === 'all' ? 'All of these (AND)' : 'Any of these (OR)'}
            </button>
          ))}
        </div>
      ) : null}
      <ul ref={list} class="conditions">
        {parts.map((part, at) => (
          <li key={at}>
            <Part
              uid={uid}
              part={part}
              attributes={attributes}
              onChange={(changed) => replace(at, changed)}
              onRemove={() => remove(at)}
            />
          </li>
        ))}
      </ul>
      <p class="buttons">
        <button ref={adder} type="button" class="quiet" onClick={() => add(added())}>
          <Icon name="plus" /> Condition
        </button>
        <button
          type="button"
          class="quiet"
          onClick={() =>
            add({ kind: kind === 'all' ? 'any' : 'all', not: false, parts: [added(), added()] })
          }
        >
          <Icon name="plus" /> Group
        </button>
      </p>
    </>
  );
}

function firstOf(attribute: Filterable | undefined): Operator {
  return attribute?.operators[0] ?? '=';
}

interface PartProps {
  uid: string;
  part: Filter;
  attributes: readonly Filterable[];
  onChange(part: Filter): void;
  onRemove(): void;
}

function Part({ uid, part, attributes, onChange, onRemove }: PartProps): JSX.Element {
  const buttons = (
    <>
      <button
        type="button"
        class="quiet"
        aria-pressed={part.not}
        onClick={() => onChange({ ...part, not: !part.not })}
      >
        NOT
      </button>
      <button type="button" class="quiet" aria-label="Remove" onClick={onRemove}>
        <Icon name="close" />
      </button>
    </>
  );
  if ('parts' in part) {
    return (
      <fieldset>
        <legend class="unseen">Group</legend>
        <GroupRows uid={uid} group={part} attributes={attributes} onChange={onChange} />
        <span class="buttons">{buttons}</span>
      </fieldset>
    );
  }
  return (
    <div class="condition buttons">
      {part.kind === 'text' ? (
        <code class="grow">{part.text}</code>
      ) : (
        <>
          <Choose
            label="Attribute"
            value={part.attribute}
            options={attributes.map((one) => one.attribute)}
            onChoose={(name) => {
              const other = attributes.find((one) => one.attribute === name);
              const isAllowed = other?.operators.includes(part.operator) === true;
              onChange(condition(name, isAllowed ? part.operator : firstOf(other)));
            }}
          />
          <ConditionFields
            // What is known of values belongs to the attribute.
            key={part.attribute}
            uid={uid}
            part={part}
            attributes={attributes}
            onChange={onChange}
          />
        </>
      )}
      {buttons}
    </div>
  );
}

/** Values of an attribute, most frequent first, and whether they are numbers. */
interface Values {
  readonly values: readonly string[];
  readonly isNumber: boolean;
}

function useValues(uid: string, of: Filterable | undefined): Values {
  const { client } = useSession();
  const attribute = of?.attribute;
  const found = useLoaded(
    async (signal) => {
      if (attribute === undefined) return undefined;
      const body = { q: '', limit: 0, facets: [attribute] };
      const path = pathOf(['indexes', uid, 'search']);
      return client.send<SearchResult>('POST', path, { body, signal, isTest: true });
    },
    [client, uid, attribute],
  );
  const counts = Object.entries(found.value?.facetDistribution?.[attribute ?? ''] ?? {});
  return {
    values: counts.toSorted(([, a], [, b]) => b - a).map(([value]) => value),
    isNumber: found.value?.facetStats?.[attribute ?? ''] !== undefined,
  };
}

/** The values that begin with what is typed; none where the attribute is not searched for them. */
function useFound(uid: string, of: Filterable | undefined, typed: string): readonly string[] {
  const { client } = useSession();
  const asks = of?.searchesValues === true && typed !== '';
  const found = useLoaded(
    async (signal) => {
      if (!asks) return [];
      const body = { facetName: of.attribute, facetQuery: typed };
      const path = pathOf(['indexes', uid, 'facet-search']);
      const { facetHits } = await client.send<FacetSearchResponse>('POST', path, { body, signal });
      return facetHits.map(({ value }) => value);
    },
    [client, uid, of?.attribute, asks, typed],
  );
  return found.value ?? [];
}

interface ConditionProps {
  uid: string;
  part: Condition;
  attributes: readonly Filterable[];
  onChange(part: Condition): void;
}

function ConditionFields({ uid, part, attributes, onChange }: ConditionProps): JSX.Element {
  const { attribute, operator, values } = part;
  const known = attributes.find((one) => one.attribute === attribute);
  const { values: frequent, isNumber } = useValues(uid, known);
  const [typed, setTyped] = useState('');
  const found = useFound(uid, known, typed);
  const list = useId();
  const operators = known === undefined ? [] : operatorsFor(known, isNumber);
  const count = arity(operator);
  // A list has a field more than values.
  const fields = Array.from({ length: count ?? values.length + 1 }, (_, at) => values[at] ?? '');
  return (
    <>
      <Choose
        label="Operator"
        value={operator}
        options={operators}
        onChoose={(next) => {
          const wanted = arity(next as Operator) ?? values.length;
          onChange({ ...part, operator: next as Operator, values: values.slice(0, wanted) });
        }}
      />
      {fields.map((value, at) => (
        <input
          key={at}
          type="text"
          class="grow"
          aria-label={fields.length === 1 ? 'Value' : `Value ${at + 1}`}
          list={list}
          value={value}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => {
            const next = event.currentTarget.value;
            setTyped(next);
            const all = fields.map((one, position) => (position === at ? next : one));
            onChange({ ...part, values: count === null ? all.filter((one) => one !== '') : all });
          }}
        />
      ))}
      <datalist id={list}>
        {[...new Set([...found, ...frequent])].map((value) => (
          <option key={value} value={value} />
        ))}
      </datalist>
    </>
  );
}

interface ChooseProps {
  label: string;
  value: string;
  options: readonly string[];
  onChoose(value: string): void;
}

/** @param options those of the setting; the value may be none of them */
function Choose({ label, value, options, onChoose }: ChooseProps): JSX.Element {
  const all = options.includes(value) ? options : [value, ...options];
  return (
    <select
      aria-label={label}
      value={value}
      onChange={(event) => onChoose(event.currentTarget.value)}
    >
      {all.map((one) => (
        <option key={one} value={one} selected={one === value}>
          {one}
        </option>
      ))}
    </select>
  );
}
