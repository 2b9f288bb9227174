import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { pathOf } from '../client.ts';
import { counted, moment } from '../format.ts';
import { type Action, type Loaded, useAction, useLoaded } from '../hooks.ts';
import { CheckBox } from '../parts/check-box.tsx';
import { Choice } from '../parts/choice.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Empty } from '../parts/empty.tsx';
import { LinesField } from '../parts/lines-field.tsx';
import { Outcome } from '../parts/outcome.tsx';
import { Pages } from '../parts/pages.tsx';
import { Problem } from '../parts/problem.tsx';
import { Skeleton } from '../parts/skeleton.tsx';
import { TextField } from '../parts/text-field.tsx';
import { viewHref, replaceAddress, useAddress } from '../address.ts';
import {
  conditionWords,
  draftOf,
  NEW_PIN,
  ruleChange,
  type PinDraft,
  type Rule,
  type RuleDraft,
} from '../rules.ts';
import { useSession } from '../session.ts';
import { finish } from '../tasks.ts';
import { isOff, SwitchedOff } from './feature.tsx';
import { useIndexUids } from './index-picker.tsx';

const PER_PAGE = 20;

interface RulePage {
  readonly results: readonly Rule[];
  readonly total: number;
}

type Open =
  | { readonly kind: 'edit'; readonly rule: Rule | null }
  | { readonly kind: 'delete'; readonly rule: Rule };

interface Shown {
  q: string;
  active: string;
  page: number;
}

/** @param done another value after each change */
function useRules({ q, active, page }: Shown, done: string | null): Loaded<RulePage> {
  const { client } = useSession();
  return useLoaded(
    (signal) => {
      const filter = {
        query: q === '' ? null : q,
        active: active === '' ? null : active === 'true',
      };
      const body = { offset: (page - 1) * PER_PAGE, limit: PER_PAGE, filter };
      return client.send<RulePage>('POST', '/dynamic-search-rules', { body, signal });
    },
    [client, q, active, page, done],
  );
}

export function RulesView(): JSX.Element {
  const { query } = useAddress();
  const { q = '', active = '' } = query;
  const page = Math.max(1, Math.trunc(Number(query.page)) || 1);
  const action = useAction();
  const [open, setOpen] = useState<Open | null>(null);
  const loaded = useRules({ q, active, page }, action.done);
  const change = (part: Record<string, string>): void =>
    replaceAddress(viewHref('rules', null, { q, active, ...part }));
  if (isOff(loaded.error)) {
    return (
      <SwitchedOff
        feature="dynamicSearchRules"
        purpose="A rule puts chosen documents at fixed positions in the results of matching searches."
        onSwitchedOn={loaded.reload}
      />
    );
  }
  const rules = loaded.value;
  const filtered = q !== '' || active !== '';
  return (
    <>
      <p>
        A rule puts chosen documents at fixed positions in the results of matching searches. If two
        rules conflict, the rule with the lower precedence wins.
      </p>
      <p class="buttons">
        <button type="button" class="primary" onClick={() => setOpen({ kind: 'edit', rule: null })}>
          Create a rule
        </button>
      </p>
      <Outcome action={action} />
      <Problem error={loaded.error} />
      <RuleFilter q={q} active={active} onChange={change} />
      <p class="note" role="status">
        {rules === undefined || rules.total === 0 ? '' : counted(rules.total, 'rule')}
      </p>
      {rules === undefined && loaded.error === null ? <Skeleton rows={3} /> : null}
      {rules?.total === 0 ? (
        <Empty icon="rules" title={filtered ? 'No rule matches' : 'There is no rule yet'}>
          <p>
            {filtered
              ? 'Change the words above, or show all rules.'
              : 'Results are ordered by relevance only. Create a rule to pin documents.'}
          </p>
        </Empty>
      ) : null}
      <ul class="grid" aria-label="Rules">
        {rules?.results.map((rule) => (
          <li key={rule.uid}>
            <RuleCard rule={rule} onOpen={setOpen} />
          </li>
        ))}
      </ul>
      <Pages
        page={page}
        pages={Math.ceil((rules?.total ?? 0) / PER_PAGE)}
        onPage={(chosen) => change({ page: String(chosen) })}
      />
      {open === null ? null : (
        <OpenRule open={open} action={action} onClose={() => setOpen(null)} />
      )}
    </>
  );
}

interface RuleFilterProps {
  q: string;
  active: string;
  onChange(part: Record<string, string>): void;
}

function RuleFilter({ q, active, onChange }: RuleFilterProps): JSX.Element {
  return (
    <div class="row">
      <TextField
        label="Find a rule"
        hint="Words in the description or the condition of a rule."
        type="search"
        value={q}
        onInput={(text) => onChange({ q: text })}
      />
      <Choice
        label="Shown"
        value={active}
        options={[
          ['', 'all'],
          ['true', 'active'],
          ['false', 'not active'],
        ]}
        onChoose={(chosen) => onChange({ active: chosen })}
      />
    </div>
  );
}

interface OpenRuleProps {
  open: Open;
  action: Action;
  onClose(): void;
}

/** The dialog of a rule that is written or deleted. */
function OpenRule({ open, action, onClose }: OpenRuleProps): JSX.Element {
  const { client } = useSession();
  const send = (method: string, uid: string, body?: unknown): void =>
    action.run(() => finish(client, method, pathOf(['dynamic-search-rules', uid]), body));
  if (open.kind === 'edit') {
    return (
      <RuleDialog
        rule={open.rule}
        onClose={onClose}
        onSave={(uid, body) => send('PATCH', uid, body)}
      />
    );
  }
  const { uid } = open.rule;
  return (
    <Confirm
      title={`Delete the rule ${uid}`}
      warning="This deletes the rule. The documents that it pins are kept."
      name={uid}
      verb="Delete the rule"
      onClose={onClose}
      onConfirm={() => send('DELETE', uid)}
    />
  );
}

function RuleCard({ rule, onOpen }: { rule: Rule; onOpen(open: Open): void }): JSX.Element {
  const { uid, description, precedence, active, actions } = rule;
  const conditions = conditionWords(rule, moment);
  return (
    <article class="panel">
      <h2>{uid}</h2>
      {description === undefined ? null : <p>{description}</p>}
      <dl>
        <div>
          <dt>State</dt>
          <dd>{active ? 'active' : 'not active'}</dd>
        </div>
        {precedence === undefined ? null : (
          <div>
            <dt>Precedence</dt>
            <dd>{precedence}</dd>
          </div>
        )}
        <div>
          <dt>Applies when</dt>
          <dd>
            {conditions.length === 0
              ? 'Always.'
              : conditions.map((words) => <div key={words}>{words}</div>)}
          </dd>
        </div>
        <div>
          <dt>Pins</dt>
          <dd>
            {actions.length === 0 ? 'none' : null}
            {actions.map(({ selector, action }, position) => (
              <div key={position}>
                {action.position}: document {selector.id} of {selector.indexUid ?? 'any index'}
              </div>
            ))}
          </dd>
        </div>
      </dl>
      <p class="buttons">
        <button type="button" class="quiet" onClick={() => onOpen({ kind: 'edit', rule })}>
          Edit<span class="unseen"> {uid}</span>
        </button>
        <button type="button" class="danger" onClick={() => onOpen({ kind: 'delete', rule })}>
          Delete<span class="unseen"> {uid}</span>
        </button>
      </p>
    </article>
  );
}

interface RuleProps {
  /** null: a new rule. */
  rule: Rule | null;
  onClose(): void;
  onSave(uid: string, body: unknown): void;
}

function RuleDialog({ rule, onClose, onSave }: RuleProps): JSX.Element {
  const uids = useIndexUids();
  const [draft, setDraft] = useState(() => draftOf(rule));
  const [fault, setFault] = useState<string | null>(null);
  const change = (part: Partial<RuleDraft>): void => setDraft({ ...draft, ...part });
  return (
    <Dialog title={rule === null ? 'Create a rule' : `Edit ${rule.uid}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          try {
            onSave(draft.uid, ruleChange(rule, draft));
            onClose();
          } catch (error) {
            setFault((error as Error).message);
          }
        }}
      >
        {rule === null ? (
          <TextField
            label="Uid"
            hint="Letters, digits, - and _."
            required
            value={draft.uid}
            onInput={(uid) => change({ uid })}
          />
        ) : null}
        <TextField
          label="Description"
          value={draft.description}
          onInput={(description) => change({ description })}
        />
        <TextField
          label="Precedence"
          hint="A whole number. Lower numbers take precedence; empty comes last."
          type="number"
          value={draft.precedence}
          onInput={(precedence) => change({ precedence })}
        />
        <CheckBox label="Active" checked={draft.active} onChange={(active) => change({ active })} />
        <Conditions draft={draft} onChange={change} />
        <Pins pins={draft.pins} uids={uids} onChange={(pins) => change({ pins })} />
        {fault === null ? null : (
          <p class="problem" role="alert">
            {fault}
          </p>
        )}
        <button type="submit">{rule === null ? 'Create' : 'Save'}</button>
      </form>
    </Dialog>
  );
}

interface ConditionsProps {
  draft: RuleDraft;
  onChange(part: Partial<RuleDraft>): void;
}

function Conditions({ draft, onChange }: ConditionsProps): JSX.Element {
  return (
    <fieldset>
      <legend>Applies when</legend>
      <p class="note">All conditions must be met. Empty conditions are ignored.</p>
      <TextField
        label="From"
        type="datetime-local"
        value={draft.start}
        onInput={(start) => onChange({ start })}
      />
      <TextField
        label="Until"
        type="datetime-local"
        value={draft.end}
        onInput={(end) => onChange({ end })}
      />
      <Choice
        label="The query"
        value={draft.query}
        options={[
          ['', 'can be anything'],
          ['empty', 'is empty'],
          ['given', 'is not empty'],
        ]}
        onChoose={(query) => onChange({ query: query as RuleDraft['query'] })}
      />
      <TextField
        label="Words of the query"
        hint="The query must contain each of these as whole words, in any order."
        value={draft.words}
        onInput={(words) => onChange({ words })}
      />
      <LinesField
        label="Values that must pass the filter"
        hint={'As JSON, by field, for example {"genre": "shoes"}.'}
        rows={2}
        spellcheck={false}
        value={draft.values}
        onInput={(values) => onChange({ values })}
      />
    </fieldset>
  );
}

interface PinsProps {
  pins: readonly PinDraft[];
  /** Indexes to choose from; empty for a key that may not list them, whose user types the uid. */
  uids: readonly string[];
  onChange(pins: readonly PinDraft[]): void;
}

function Pins({ pins, uids, onChange }: PinsProps): JSX.Element {
  const change = (position: number, part: Partial<PinDraft>): void =>
    onChange(pins.map((pin, at) => (at === position ? { ...pin, ...part } : pin)));
  return (
    <fieldset>
      <legend>Pinned documents</legend>
      {pins.map((pin, position) => (
        <div key={position} class="row" role="group" aria-label={`Document ${position + 1}`}>
          {uids.length === 0 ? (
            <TextField
              label="Index"
              hint="Empty: any index."
              value={pin.indexUid}
              onInput={(indexUid) => change(position, { indexUid })}
            />
          ) : (
            <Choice
              label="Index"
              value={pin.indexUid}
              options={[
                ['', 'any index'],
                ...[...new Set([...uids, pin.indexUid])]
                  .filter((uid) => uid !== '')
                  .map((uid) => [uid, uid] as const),
              ]}
              onChoose={(indexUid) => change(position, { indexUid })}
            />
          )}
          <TextField
            label="Document id"
            required
            value={pin.id}
            onInput={(id) => change(position, { id })}
          />
          <TextField
            label="Position"
            hint="0 is the first position."
            type="number"
            required
            value={pin.position}
            onInput={(typed) => change(position, { position: typed })}
          />
          <button
            type="button"
            class="quiet"
            onClick={() => onChange(pins.filter((_, at) => at !== position))}
          >
            Remove<span class="unseen"> document {position + 1}</span>
          </button>
        </div>
      ))}
      <button type="button" onClick={() => onChange([...pins, NEW_PIN])}>
        Add a document
      </button>
    </fieldset>
  );
}
