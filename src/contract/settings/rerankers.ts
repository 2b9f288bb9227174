/**
 * Models that order the first documents of a search again (docs/behaviour/reranking.md). A request
 * describes a whole reranker; the fields that embedders have too mean the same.
 */
import {
  masked,
  maskedHeaders,
  maskedMembers,
  maskedUrl,
  unmasked,
  unmaskedHeaders,
  unmaskedMembers,
  unmaskedUrl,
} from '../../base/secrets.ts';
import { err, ok, type Result } from '../../base/result.ts';
import {
  DEFAULT_DOCUMENT_TEMPLATE,
  DEFAULT_TEMPLATE_BYTES_MAX,
} from '../../templates/document-template.ts';
import { TAGS_MAX, tagsOf, templateFault } from '../../templates/liquid.ts';
import { headersFault } from '../formats.ts';
import { isUrl } from '../embedders/check.ts';
import { each, map, nullable, object, oneOf, optionals } from '../declare.ts';
import { FIELD_SCHEMAS, type EmbedderFields } from '../embedders/fields.ts';
import {
  POSITION,
  QUERY,
  scanTemplate,
  SCORE,
  ScoresTemplate,
  TEXT,
} from '../embedders/rest-template.ts';
import { ApiError } from '../errors.ts';
import { isGiven, setting, sortedKeys } from './setting.ts';

const RERANKERS_MAX = 20;

const COMMON = ['documentTemplate', 'documentTemplateMaxBytes'] as const;
const NAMES = [
  'model',
  'revision',
  'url',
  'apiKey',
  'request',
  'response',
  'headers',
  ...COMMON,
] as const;
type Fields = Pick<EmbedderFields, (typeof NAMES)[number]>;

/** The fields of each source, and whether they are required. */
const SOURCES: Readonly<Record<string, Partial<Record<keyof Fields, boolean>>>> = {
  rest: { url: true, apiKey: false, request: true, response: true, headers: false },
  huggingFace: { model: true, revision: false },
};

/** In stored form. */
export type Reranker = { source: 'rest' | 'huggingFace' } & Partial<Fields> &
  Pick<Fields, (typeof COMMON)[number]>;

type GivenReranker = { source?: string | null } & { [Name in keyof Fields]?: Fields[Name] | null };
type GivenRerankers = Record<string, GivenReranker | null>;

export const rerankers = setting({
  name: 'rerankers',
  group: 'Ranking',
  explanation:
    'Models that order the first documents of a search again, for searches with `rerank`. Each is a service that a request and a response describe, or a model that runs on this machine.',
  methods: ['PATCH'],
  code: 'invalid_settings_rerankers',
  schema: nullable(
    map(
      nullable(
        object({
          source: oneOf(Object.keys(SOURCES)),
          ...optionals(each(NAMES, (name) => FIELD_SCHEMAS[name])),
        }),
      ),
      { maxProperties: RERANKERS_MAX },
    ),
  ),
  touches: [],
  initial: (): Record<string, Reranker> => ({}),
  addition: true,
  canonical: (sent: unknown) => sortedKeys(sent as GivenRerankers),
  check: (given: unknown) => checkRerankers(given as GivenRerankers),
  merge: (current: Record<string, Reranker>, change) =>
    mergeRerankers(current, change as GivenRerankers | null),
  render: (value: unknown) => shown(value as GivenRerankers),
});

function fault(path: string, reason: string): ApiError {
  return new ApiError('invalid_settings_rerankers', `\`.rerankers.${path}\`: ${reason}.`);
}

function checkRerankers(given: GivenRerankers): ApiError | null {
  let tags = 0;
  for (const [name, reranker] of Object.entries(given)) {
    if (reranker === null) continue;
    tags += tagsOf(reranker.documentTemplate ?? '').tags;
    if (tags > TAGS_MAX) {
      return fault(name, `the templates have more than ${TAGS_MAX} tags and outputs together`);
    }
    const found = checkReranker(name, reranker);
    if (found !== null) return found;
  }
  return null;
}

function checkReranker(name: string, given: GivenReranker): ApiError | null {
  const fields = SOURCES[given.source!]!;
  for (const field of NAMES) {
    const isCommon = (COMMON as readonly string[]).includes(field);
    if (isGiven(given[field]) && !isCommon && fields[field] === undefined) {
      return fault(name, `the source \`${given.source}\` has no field \`${field}\``);
    }
    if (fields[field] === true && !isGiven(given[field])) {
      return fault(name, `the source \`${given.source}\` needs the field \`${field}\``);
    }
  }
  const { url, headers, documentTemplate, documentTemplateMaxBytes } = given;
  if (isGiven(url) && !isUrl(url)) {
    return fault(`${name}.url`, `\`${maskedUrl(url)}\` is not an absolute URL`);
  }
  const badHeaders = isGiven(headers) ? headersFault(headers) : null;
  if (badHeaders !== null) return fault(`${name}.headers`, badHeaders);
  const wrong = isGiven(documentTemplate) ? templateFault(documentTemplate) : null;
  if (wrong !== null) {
    return fault(`${name}.documentTemplate`, `the template does not parse: ${wrong}`);
  }
  if (documentTemplateMaxBytes === 0) {
    return fault(`${name}.documentTemplateMaxBytes`, 'a zero was found, at least 1 is required');
  }
  return given.source === 'rest' ? checkTemplates(name, given) : null;
}

function checkTemplates(name: string, { request, response }: GivenReranker): ApiError | null {
  for (const [field, template, placeholder] of [
    ['request', request, TEXT],
    ['response', response, SCORE],
  ] as const) {
    const scan = scanTemplate(template, [placeholder]);
    if (!scan.ok) return fault(`${name}.${field}`, scan.error);
    if (!scan.value.repeats) return fault(`${name}.${field}`, 'no item is repeated by `"{{..}}"`');
  }
  if (count(request, QUERY) !== 1) {
    return fault(`${name}.request`, `the placeholder \`"${QUERY}"\` must occur once`);
  }
  if (count(response, POSITION) > 1) {
    return fault(`${name}.response`, `the placeholder \`"${POSITION}"\` occurs more than once`);
  }
  if (count(response, POSITION) === 1 && !new ScoresTemplate(response).readsPositions) {
    return fault(
      `${name}.response`,
      `the placeholder \`"${POSITION}"\` stands outside of the item before \`"{{..}}"\``,
    );
  }
  return null;
}

/** How often a placeholder occurs. */
function count(template: unknown, placeholder: string): number {
  if (template === placeholder) return 1;
  if (typeof template !== 'object' || template === null) return 0;
  return Object.values(template).reduce<number>((sum, value) => sum + count(value, placeholder), 0);
}

function mergeRerankers(
  current: Record<string, Reranker>,
  change: GivenRerankers | null,
): Result<Record<string, Reranker>, ApiError> {
  if (change === null) return ok({});
  const merged = new Map(Object.entries(current));
  for (const [name, given] of Object.entries(change)) {
    if (given === null) merged.delete(name);
    else merged.set(name, stored(given, merged.get(name)));
  }
  if (merged.size > RERANKERS_MAX) {
    return err(
      new ApiError(
        'invalid_settings_rerankers',
        `\`.rerankers\`: at most ${RERANKERS_MAX} rerankers are possible, but there are ${merged.size}.`,
      ),
    );
  }
  return ok(sortedKeys(Object.fromEntries(merged)));
}

/** Masked secrets are those of the reranker that is replaced. */
function stored(given: GivenReranker, before: Reranker | undefined): Reranker {
  const reranker: Record<string, unknown> = {
    source: given.source,
    documentTemplate: DEFAULT_DOCUMENT_TEMPLATE,
    documentTemplateMaxBytes: DEFAULT_TEMPLATE_BYTES_MAX,
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => isGiven(value))),
  };
  const { url, apiKey, request, headers } = given;
  if (isGiven(apiKey)) reranker.apiKey = unmasked(apiKey, before?.apiKey);
  if (isGiven(url)) reranker.url = unmaskedUrl(url, before?.url);
  if (isGiven(request)) reranker.request = unmaskedMembers(request, before?.request);
  if (isGiven(headers)) reranker.headers = unmaskedHeaders(headers, before?.headers ?? {});
  const order = ['source', ...NAMES].filter((name) => Object.hasOwn(reranker, name));
  return Object.fromEntries(order.map((name) => [name, reranker[name]])) as unknown as Reranker;
}

/** Without credentials. */
function shown(given: GivenRerankers): GivenRerankers {
  const entries = Object.entries(given).map(([name, one]): [string, GivenReranker | null] => {
    if (one === null) return [name, null];
    const { url, apiKey, request, headers } = one;
    return [
      name,
      {
        ...one,
        ...(isGiven(url) && { url: maskedUrl(url) }),
        ...(isGiven(apiKey) && { apiKey: masked(apiKey) }),
        ...(isGiven(request) && { request: maskedMembers(request) }),
        ...(isGiven(headers) && { headers: maskedHeaders(headers) }),
      },
    ];
  });
  return Object.fromEntries(entries);
}
