/** Pins, hides and moves hits where they stand, and writes the rule for that. */
import { useRef, useState } from 'preact/hooks';
import type { FeatureSet } from '../../../contract/features.ts';
import type { SearchRule } from '../../../contract/search-rules.ts';
import { pathOf, type Client } from '../../client.ts';
import {
  curationBody,
  spotsOf,
  ruleFor,
  termsOf,
  termsOfRule,
  withSpot,
  type Spots,
  type RuleTerms,
} from '../../curation.ts';
import { useAction, useLoaded, type Action, type Loaded } from '../../hooks.ts';
import type { IndexEntry } from '../../indexes.ts';
import { Icon } from '../../parts/icon.tsx';
import { Menu } from '../../parts/menu.tsx';
import type { Hit, SearchState } from '../../search-request.ts';
import { useSession } from '../../session.ts';
import { finish } from '../../tasks.ts';
import { useUnsaved } from '../../unsaved.ts';
import { isOff, switchOn } from '../feature.tsx';

/** Rules that are read. */
const RULES_MAX = 1000;

interface Draft {
  readonly q: string;
  readonly spots: Spots;
  readonly terms: RuleTerms;
}

/** Hits that are arranged. */
export interface Curation {
  readonly draft: Draft;
  /** The rule that is changed; undefined: a new one. */
  readonly rule: SearchRule | undefined;
  readonly isChanged: boolean;
  /** Whether some rule arranges hits of the index. */
  readonly hasRules: boolean;
  /** Whether rules are switched on. */
  readonly isOn: boolean;
  readonly action: Action;
  idOf(hit: Hit): string | null;
  /** What a document is called; its id if its hit has not been seen. */
  nameOf(id: string): string;
  /** @param spot undefined: it is neither pinned nor hidden */
  put(id: string, name: string, spot: number | null | undefined): void;
  change(terms: Partial<RuleTerms>): void;
  discard(): void;
  save(): void;
}

/** The active rules; null: rules are off. Empty for a key that may not read them. */
function useRules(uid: string): Loaded<readonly SearchRule[] | null> {
  const { client, rights } = useSession();
  const mayRead = rights.has('rules');
  // Where rules are off, a request of the list would be an error.
  const asksFirst = rights.has('features');
  return useLoaded(
    async (signal) => {
      if (!mayRead) return [];
      if (asksFirst) {
        const features = await client.send<FeatureSet>('GET', '/experimental-features', { signal });
        if (!features.dynamicSearchRules) return null;
      }
      const body = { limit: RULES_MAX, filter: { active: true } };
      const options = { body, signal };
      return client
        .send<{ results: SearchRule[] }>('POST', '/dynamic-search-rules', options)
        .then(({ results }) => results)
        .catch((error: unknown) => {
          if (isOff(error as Error)) return null;
          throw error;
        });
    },
    [client, uid, mayRead, asksFirst],
  );
}

/** @returns null: this key may not change rules, or hits have no ids */
export function useCuration(
  { uid, primaryKey }: IndexEntry,
  state: SearchState,
  onSaved: () => void,
): Curation | null {
  const { client, rights } = useSession();
  const [kept, setKept] = useState<Draft | null>(null);
  const names = useRef(new Map<string, string>());
  const action = useAction();
  const rules = useRules(uid);
  const rule = ruleFor(rules.value ?? [], uid, state, Date.now());
  const saved: Draft = {
    q: state.q,
    spots: spotsOf(rule?.actions ?? []),
    terms: rule === undefined ? termsOf(state) : termsOfRule(rule),
  };
  const draft = kept?.q === state.q ? kept : saved;
  useUnsaved(kept !== null && draft === kept, true);
  if (!rights.has('rules') || primaryKey === null || rules.value === undefined) return null;
  const isOn = rules.value !== null;
  const save = async (): Promise<string> => {
    if (!isOn) await switchOn(client, 'dynamicSearchRules');
    const outcome = await saveRule(client, uid, rule, draft);
    setKept(null);
    rules.reload();
    onSaved();
    return outcome;
  };
  return {
    draft,
    rule,
    isOn,
    action,
    isChanged: draft === kept,
    hasRules: (rules.value ?? []).some(({ actions }) =>
      actions.some(({ selector }) => (selector.indexUid ?? uid) === uid),
    ),
    idOf: (hit) => (hit[primaryKey] === undefined ? null : String(hit[primaryKey])),
    nameOf: (id) => names.current.get(id) ?? id,
    put: (id, name, spot) => {
      names.current.set(id, name);
      setKept({ ...draft, spots: withSpot(draft.spots, id, spot) });
    },
    change: (terms) => setKept({ ...draft, terms: { ...draft.terms, ...terms } }),
    discard: () => setKept(null),
    save: () => action.run(save),
  };
}

/** A rule that neither pins nor hides anything is deleted. */
function saveRule(
  client: Client,
  uid: string,
  rule: SearchRule | undefined,
  { spots, terms }: Draft,
): Promise<string> {
  const path = pathOf(['dynamic-search-rules', rule?.uid ?? newUid(uid)]);
  if (spots.size === 0) return finish(client, 'DELETE', path);
  const description = rule?.description ?? `Results of “${terms.words}” in ${uid}`;
  return finish(client, 'PATCH', path, { description, ...curationBody(uid, spots, terms) });
}

function newUid(indexUid: string): string {
  return `${indexUid.slice(0, 400)}-${Date.now().toString(36)}`;
}

interface BadgeProps {
  curation: Curation | null | undefined;
  hit: Hit;
}

interface MenuProps extends BadgeProps {
  name: string;
  /** Position among all hits, from 0. */
  at: number;
}

/** Says that a hit is pinned. */
export function PinBadge({ curation, hit }: BadgeProps): JSX.Element | null {
  const id = curation?.idOf(hit) ?? null;
  const spot = id === null ? undefined : curation?.draft.spots.get(id);
  const stored = curation?.rule?.actions.find(({ selector }) => selector.id === id)?.action;
  if (spot !== undefined && spot !== null && spot !== stored?.position) {
    return <span class="state processing">pinned, not saved</span>;
  }
  // A pin that is taken away is still in force, and not shown any more.
  const isTaken = spot === undefined && stored !== undefined;
  const isPinned = spot !== undefined || hit._rankingScoreDetails?.pin !== undefined;
  return isPinned && !isTaken ? <span class="state succeeded">pinned</span> : null;
}

/** What can be done with a hit where it stands. */
export function HitMenu({ curation, hit, name, at }: MenuProps): JSX.Element | null {
  const element = useRef<HTMLSpanElement>(null);
  const id = curation?.idOf(hit) ?? null;
  if (curation === null || curation === undefined || id === null) return null;
  const isPinned = curation.draft.spots.has(id);
  const choices: [label: string, spot: number | null | undefined][] = [
    [`Pin here, at position ${at + 1}`, at],
    ...(at === 0 ? [] : ([['Pin to the top', 0]] as [string, number][])),
    ...(at === 0 ? [] : ([['Move up', at - 1]] as [string, number][])),
    ['Move down', at + 1],
    ['Hide', null],
    ...(isPinned ? ([['Unpin', undefined]] as [string, undefined][]) : []),
  ];
  const choose = (spot: number | null | undefined): void => {
    curation.put(id, name, spot);
    // An element that moves loses the focus.
    requestAnimationFrame(() => element.current?.querySelector('summary')?.focus());
  };
  return (
    <span ref={element} class="curate">
      <Menu
        chooses
        title={
          <span title="Pin, move or hide">
            <Icon name="rules" />
            <span class="unseen">Arrange {name}</span>
          </span>
        }
      >
        {choices.map(([label, spot]) => (
          <button key={label} type="button" class="quiet" onClick={() => choose(spot)}>
            {label}
          </button>
        ))}
      </Menu>
    </span>
  );
}
