import { useEffect, useState } from 'preact/hooks';
import { goTo, useAddress } from '../address.ts';
import { allSettings, type LoadedSettings } from '../all-settings.ts';
import { pathOf, type Client } from '../client.ts';
import { draftHref, MAKES_DRAFTS, useOrigin } from '../draft-hooks.ts';
import { makeDraft } from '../drafts.ts';
import { counted, durationMs, milliseconds } from '../format.ts';
import { useAction, useLoaded, type Action, type Loaded } from '../hooks.ts';
import type { IndexEntry } from '../indexes.ts';
import { Coded } from '../parts/coded.tsx';
import { Empty } from '../parts/empty.tsx';
import { Outcome } from '../parts/outcome.tsx';
import { Problem } from '../parts/problem.tsx';
import { Skeleton } from '../parts/skeleton.tsx';
import { TextField } from '../parts/text-field.tsx';
import type { Schema } from '../schema.ts';
import { useSession } from '../session.ts';
import {
  changesOf,
  costOf,
  estimateMs,
  patchOf,
  type Change,
  type Cost,
  type PastBatch,
  type Schemas,
  type Values,
} from '../settings-draft.ts';
import { useIndexes } from '../shell/indexes-context.tsx';
import { spaced } from '../spaced.ts';
import type { Batch, TaskPage } from '../task.ts';
import { finish } from '../tasks.ts';
import { useUnsaved } from '../unsaved.ts';
import { OfIndex } from './index-picker.tsx';
import { CopySettings } from './settings/copy-settings.tsx';
import { Drafts } from './settings/drafts.tsx';
import { Editor } from './settings/editor.tsx';
import { Review } from './settings/review.tsx';

export function SettingsView({ uid }: { uid: string | null }): JSX.Element {
  return (
    <OfIndex view="settings" uid={uid}>
      {(index) => <AllSettings index={index} />}
    </OfIndex>
  );
}

/** What a change rebuilds, in a word or two and in a sentence. */
const COST_WORDS: Readonly<Record<Cost, readonly [string, string]>> = {
  instant: ['instant', 'A change takes effect with the next search.'],
  columns: [
    'reads filter values again',
    'A change reads the filter and sort values of all documents again, in the background.',
  ],
  text: ['reindexes', 'A change indexes all documents again, in the background.'],
  vectors: [
    'may embed again',
    'A change may compute the embeddings of all documents again, which takes time and, with a paid provider, money.',
  ],
};

interface Drafted {
  readonly loaded: Loaded<LoadedSettings>;
  readonly values: Values;
  readonly schemas: Schemas;
  readonly draft: Values;
  readonly changes: readonly Change[];
  readonly action: Action;
  change(name: string, value: unknown): void;
  save(): void;
  /** Gives a draft the changes, and shows its results. */
  tryOut(): void;
  discard(): void;
  /** null: nothing was saved, or it had a secret, which the server does not show. */
  readonly undo: (() => void) | null;
}

function useDraft(uid: string, origin: string | null): Drafted {
  const { client } = useSession();
  const known = useIndexes().list;
  const [draft, setDraft] = useState<Values>({});
  /** The settings after the last save. */
  const [saved, setSaved] = useState<Values | null>(null);
  const [reverse, setReverse] = useState<Values | null>(null);
  /** Where the draft is shown that has the changes. */
  const [tried, setTried] = useState<string | null>(null);
  const action = useAction();
  const loaded = useLoaded((signal) => allSettings(client, uid, signal), [client, uid]);
  const { schemas = {} } = loaded.value ?? {};
  const values = saved ?? loaded.value?.values ?? {};
  const changes = changesOf(values, draft);
  useUnsaved(changes.length > 0, true);
  // Nothing is unsaved any more.
  useEffect(() => {
    if (tried !== null && changes.length === 0) goTo(tried);
  }, [tried, changes.length]);
  const tryOut = (): void =>
    action.run(async () => {
      const settings = patchOf(changes, schemas);
      let draftUid = uid;
      if (origin === null) {
        const uids = known.map((one) => one.uid);
        draftUid = await makeDraft(client, { origin: uid, known: uids, settings });
      } else await finish(client, 'PATCH', pathOf(['indexes', uid, 'settings']), settings);
      setDraft({});
      setTried(draftHref(origin ?? uid, draftUid));
      return `${draftUid} has these settings.`;
    });
  const send = (body: Values, next: Values | null): void =>
    action.run(async () => {
      const outcome = await finish(client, 'PATCH', pathOf(['indexes', uid, 'settings']), body);
      setSaved((await allSettings(client, uid)).values);
      setDraft({});
      setReverse(next);
      return outcome;
    });
  const before = (): Values | null =>
    changes.some(({ name }) => name === 'embedders')
      ? null
      : Object.fromEntries(changes.map((one) => [one.name, one.before]));
  return {
    loaded,
    values,
    schemas,
    draft,
    changes,
    action,
    change: (name, value) => setDraft((old) => ({ ...old, [name]: value })),
    tryOut,
    save: () => send(patchOf(changes, schemas), before()),
    discard: () => setDraft({}),
    undo: reverse === null ? null : () => send(reverse, null),
  };
}

function AllSettings({ index }: { index: IndexEntry }): JSX.Element {
  const { uid } = index;
  const { query } = useAddress();
  const [sought, setSought] = useState(
    query.synonym === undefined ? (query.find ?? '') : 'synonyms',
  );
  const origin = useOrigin(uid);
  const drafted = useDraft(uid, origin);
  const { loaded, values, schemas, draft, changes } = drafted;
  const shown = groupsOf(loaded.value?.groups ?? [], Object.keys(values), schemas, sought);
  return (
    <>
      <Problem error={loaded.error} />
      <Drafts uid={uid} origin={origin} />
      <TextField label="Find a setting" type="search" value={sought} onInput={setSought} />
      {loaded.value === undefined && loaded.error === null ? <Skeleton rows={8} /> : null}
      {loaded.value !== undefined && shown.length === 0 ? (
        <Empty icon="settings" title={`No setting contains “${sought}”`}>
          <p>Type fewer letters, or empty the field to see all settings.</p>
        </Empty>
      ) : null}
      <div class="with-contents">
        <div>
          {shown.map(([group, names]) => (
            <section key={group} id={`group-${group}`} class="settings" aria-label={group}>
              <h2>{group}</h2>
              {names.map((name) => (
                <Setting
                  key={name}
                  uid={uid}
                  name={name}
                  schema={schemas[name]}
                  value={name in draft ? draft[name] : values[name]}
                  saved={values[name]}
                  changed={changes.some((one) => one.name === name)}
                  onChange={(value) => drafted.change(name, value)}
                />
              ))}
            </section>
          ))}
        </div>
        {shown.length < 2 ? null : <Contents groups={shown} />}
      </div>
      <SaveBar uid={uid} drafted={drafted} />
    </>
  );
}

type Groups = readonly (readonly [string, readonly string[]])[];

/** Buttons, and no links: the fragment of the address selects the view. */
function Contents({ groups }: { groups: Groups }): JSX.Element {
  const show = (id: string): void => document.getElementById(id)?.scrollIntoView();
  return (
    <nav class="contents" aria-label="Contents">
      {groups.map(([group, names]) => (
        <div key={group}>
          <button type="button" class="quiet" onClick={() => show(`group-${group}`)}>
            {group}
          </button>
          <ul class="links">
            {names.map((name) => (
              <li key={name}>
                <button type="button" class="quiet" onClick={() => show(`setting-${name}`)}>
                  {spaced(name)}
                </button>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

/** The settings that contain the sought text, by group. */
function groupsOf(
  groups: readonly string[],
  names: readonly string[],
  schemas: Schemas,
  sought: string,
): Groups {
  const found = names.filter((name) =>
    `${spaced(name)} ${name} ${schemas[name]?.description ?? ''}`
      .toLowerCase()
      .includes(sought.toLowerCase()),
  );
  return groups
    .map((group) => [group, found.filter((name) => schemas[name]?.['x-group'] === group)] as const)
    .filter(([, members]) => members.length > 0);
}

interface SettingProps {
  uid: string;
  name: string;
  schema: Schema | undefined;
  value: unknown;
  saved: unknown;
  changed: boolean;
  onChange(value: unknown): void;
}

function Setting(props: SettingProps): JSX.Element {
  const { uid, name, schema, value, saved, changed, onChange } = props;
  const { stats } = useIndexes();
  const fields = Object.keys(stats?.indexes[uid]?.fieldDistribution ?? {});
  const [short, sentence] = COST_WORDS[costOf([name], { [name]: schema ?? {} })];
  return (
    <section id={`setting-${name}`} class="card panel setting" aria-label={spaced(name)}>
      <div class="about">
        <h3>
          {spaced(name)} {changed ? <span class="state processing">changed</span> : null}
        </h3>
        <p>
          <Coded text={schema?.description ?? ''} />
        </p>
        <p class="count" title={sentence}>
          {short === 'instant' ? null : <span class="state">{short}</span>}
          <span class="unseen">{sentence}</span>
        </p>
        <button
          type="button"
          class="quiet"
          disabled={value === null}
          onClick={() => onChange(null)}
        >
          Restore the default<span class="unseen"> of {spaced(name).toLowerCase()}</span>
        </button>
      </div>
      <div>
        {value === null && changed && schema?.enum === undefined && takesContainer(schema) ? (
          <p class="note">The default, after a save.</p>
        ) : (
          <Editor
            uid={uid}
            name={name}
            schema={schema}
            value={value}
            saved={saved}
            fields={fields}
            onChange={onChange}
          />
        )}
      </div>
    </section>
  );
}

/** Whether the value is a list or an object, of which null is only the default. */
function takesContainer(schema: Schema | undefined): boolean {
  const types = schema?.type;
  return Array.isArray(types) && (types.includes('array') || types.includes('object'));
}

interface BarProps {
  uid: string;
  drafted: Drafted;
}

/** What is not saved yet, what saving it costs, and what else can be done with the settings. */
function SaveBar({ uid, drafted }: BarProps): JSX.Element {
  const { values, schemas, changes, action, undo } = drafted;
  const { client, rights } = useSession();
  const [open, setOpen] = useState<'review' | 'copy' | null>(null);
  const cost = costOf(
    changes.map(({ name }) => name),
    schemas,
  );
  const words = useCostWords(uid, cost);
  const copy = (to: string): void => {
    const { embedders: _, ...others } = values;
    action.run(() => finish(client, 'PATCH', pathOf(['indexes', to, 'settings']), others));
  };
  return (
    <div class="card save-bar" role="region" aria-label="Changes">
      <Outcome action={action} uid={uid} />
      <p class="buttons">
        <span class="what">
          {changes.length === 0 ? 'No changes.' : `${counted(changes.length, 'change')}. ${words}`}
        </span>
        {undo === null || changes.length > 0 ? null : (
          <button type="button" disabled={action.running} onClick={undo}>
            Undo the last save
          </button>
        )}
        {changes.length === 0 ? (
          <button type="button" class="quiet" onClick={() => setOpen('copy')}>
            Copy to another index
          </button>
        ) : (
          <button type="button" class="quiet" onClick={drafted.discard}>
            Discard
          </button>
        )}
        {changes.length === 0 || !MAKES_DRAFTS.every((right) => rights.has(right)) ? null : (
          <button type="button" disabled={action.running} onClick={drafted.tryOut}>
            Try next to the live index
          </button>
        )}
        <button
          type="button"
          class="primary"
          disabled={changes.length === 0 || action.running}
          onClick={() => setOpen('review')}
        >
          Review and save
        </button>
      </p>
      {open === 'review' ? (
        <Review
          title="Save these changes?"
          verb="Save"
          changes={changes}
          cost={words}
          onSave={drafted.save}
          onClose={() => setOpen(null)}
        />
      ) : null}
      {open === 'copy' ? (
        <CopySettings uid={uid} onCopy={copy} onClose={() => setOpen(null)} />
      ) : null}
    </div>
  );
}

/** Batches by which the time of a save is estimated. */
const BATCHES = 20;

async function pastBatches(client: Client, uid: string, signal: AbortSignal): Promise<PastBatch[]> {
  const path = pathOf(['batches'], { indexUids: uid, statuses: 'succeeded', limit: BATCHES });
  const { results } = await client.send<TaskPage<Batch>>('GET', path, { signal });
  return results.map(({ details, duration }) => ({
    documents: Number(details.indexedDocuments ?? 0),
    ms: durationMs(duration) ?? 0,
  }));
}

/** What a save costs, in sentences. */
function useCostWords(uid: string, cost: Cost): string {
  const { client, rights } = useSession();
  const { stats } = useIndexes();
  const documents = stats?.indexes[uid]?.numberOfDocuments ?? 0;
  const asks = cost !== 'instant' && rights.has('tasks');
  const past = useLoaded(
    (signal) => (asks ? pastBatches(client, uid, signal) : Promise.resolve([])),
    [client, uid, asks],
  );
  if (cost === 'instant') return 'It takes effect with the next search.';
  const [, sentence] = COST_WORDS[cost];
  const about = cost === 'vectors' ? null : estimateMs(documents, past.value ?? []);
  const size = documents === 0 ? '' : ` ${counted(documents, 'document')}`;
  return `${sentence}${size}${about === null ? size && '.' : `, about ${milliseconds(about)}.`}`;
}
