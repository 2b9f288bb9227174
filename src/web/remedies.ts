/** What removes the cause of an error: one table, by what errors say. Pure functions. */
import { CODES } from './import/columns.ts';
import type { Right } from './rights.ts';

/** What a button does, or where a link leads. */
export type Deed =
  | { readonly kind: 'append'; uid: string; setting: string; value: string }
  | { readonly kind: 'replace'; uid: string; setting: string; value: unknown }
  | { readonly kind: 'primaryKey'; uid: string; name: string }
  | { readonly kind: 'index'; uid: string }
  | { readonly kind: 'feature'; feature: string }
  | { readonly kind: 'otherKey' }
  | { readonly kind: 'repeat' }
  | { readonly kind: 'view'; view: string; argument: string | null; query?: { find: string } };

export interface Offer {
  readonly label: string;
  /** null: everybody may. */
  readonly needs: Right | null;
  readonly deed: Deed;
}

interface Entry {
  /** Absent: errors of all codes. */
  readonly codes?: readonly string[];
  /** Absent: all messages. */
  readonly message?: RegExp;
  /**
   * @param names what the groups of `message` matched
   * @param uid of the index that the error is about, as far as it is known
   */
  offers(names: readonly (string | undefined)[], uid: string | null): readonly Offer[];
}

/** Offers about an index: none where it is not known. */
function about(
  offers: (uid: string, names: readonly string[]) => readonly Offer[],
): Entry['offers'] {
  return (names, uid) => (uid === null ? [] : offers(uid, names as readonly string[]));
}

function made(uid: string, value: string, quality: string): Offer[] {
  const deed = { kind: 'append', uid, setting: `${quality}-attributes`, value } as const;
  return [{ label: `Make ${value} ${quality}`, needs: 'settings', deed }];
}

function primaryKeys(uid: string, names: readonly string[]): Offer[] {
  return names.map((name) => ({
    label: `Make ${name} the primary key`,
    needs: 'creates',
    deed: { kind: 'primaryKey', uid, name },
  }));
}

function link(label: string, needs: Right, view: string, argument: string | null = null): Offer {
  return { label, needs, deed: { kind: 'view', view, argument } };
}

/** Fields of a shortened document. */
const FIELD = /"([^"\\]+)":/g;
const KEYS_MAX = 3;

/** Those that may identify a document. */
function likelyKeys(document: string, key: string): string[] {
  const names = [...document.matchAll(FIELD)].map(([, name]) => name!);
  const likely = names.filter((name) => name !== key && CODES.test(name));
  return [...new Set(likely)].slice(0, KEYS_MAX);
}

const LACKS =
  /attribute `([^`]+)`(?: of `\w+`)? is not (filterable|sortable|searchable)(?: in the index `([^`]+)`)?/i;

export const REMEDIES: readonly Entry[] = [
  {
    message: LACKS,
    offers: ([attribute, quality, of], uid) =>
      of === undefined && uid === null ? [] : made(of ?? uid!, attribute!, quality!),
  },
  {
    message:
      /(?:facet|attribute) `([^`]+)`(?:: it is not filterable| is not facet-searchable: no)/i,
    offers: about((uid, [attribute]) => made(uid, attribute!, 'filterable')),
  },
  {
    codes: ['facet_search_disabled'],
    offers: about((uid) => [
      {
        label: 'Enable the facet search',
        needs: 'settings',
        deed: { kind: 'replace', uid, setting: 'facet-search', value: true },
      },
    ]),
  },
  {
    codes: ['feature_not_enabled'],
    message: /experimental feature `(\w+)`/,
    offers: ([feature]) => [
      {
        label: `Enable ${feature}`,
        needs: 'features',
        deed: { kind: 'feature', feature: feature! },
      },
    ],
  },
  {
    codes: ['index_primary_key_multiple_candidates_found'],
    message: /such as `([^`]+)` and `([^`]+)`/,
    offers: about(primaryKeys),
  },
  {
    codes: ['missing_document_id'],
    message: /primary key `([^`]+)`: ([^]*)/,
    offers: about((uid, [key, document]) => primaryKeys(uid, likelyKeys(document!, key!))),
  },
  {
    codes: ['index_primary_key_already_exists'],
    offers: about((uid) => [link(`Documents of ${uid}`, 'indexes', 'documents', uid)]),
  },
  {
    codes: ['index_not_found'],
    message: /Index `([^`]+)` not found/,
    offers: ([uid]) => [
      { label: `Create ${uid}`, needs: 'creates', deed: { kind: 'index', uid: uid! } },
    ],
  },
  {
    codes: ['index_already_exists'],
    message: /`([^`]+)`(?:, which)? already exists/,
    offers: ([uid]) => [link(`Documents of ${uid}`, 'indexes', 'documents', uid!)],
  },
  {
    codes: ['bad_request'],
    message: /`([^`]+)` has \d+ branches/,
    offers: ([uid]) => [link(`Drafts of ${uid}`, 'indexes', 'settings', uid!)],
  },
  {
    codes: [
      'invalid_search_embedder',
      'embedder_not_found',
      'vector_embedding_error',
      'invalid_vector_dimensions',
      'template_parsing_error',
      'template_rendering_error',
    ],
    offers: about((uid) => [
      {
        label: `Embedders of ${uid}`,
        needs: 'indexes',
        deed: { kind: 'view', view: 'settings', argument: uid, query: { find: 'embedders' } },
      },
    ]),
  },
  {
    codes: ['no_space_left_on_device', 'database_size_limit_reached'],
    offers: () => [
      link('See what takes the space', 'stats', 'statistics'),
      link('Delete finished tasks', 'tasks', 'tasks'),
    ],
  },
  {
    codes: ['invalid_api_key'],
    offers: () => [{ label: 'Use another key', needs: null, deed: { kind: 'otherKey' } }],
  },
  {
    codes: ['too_many_search_requests', 'too_many_requests', 'no_leader', 'cluster_unavailable'],
    offers: () => [{ label: 'Try again', needs: null, deed: { kind: 'repeat' } }],
  },
];

/** What helps against an error; none: nothing is known. */
export function offersFor(
  { code, message }: { readonly code: string; readonly message: string },
  uid: string | null,
): readonly Offer[] {
  for (const { codes, message: said = /^/, offers } of REMEDIES) {
    if (codes?.includes(code) === false) continue;
    const found = said.exec(message);
    if (found !== null) return offers(found.slice(1), uid);
  }
  return [];
}
