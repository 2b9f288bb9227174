import { err, ok } from '../../base/result.ts';
import { templateFault } from '../../templates/liquid.ts';
import {
  DEFAULT_DOCUMENT_TEMPLATE,
  DEFAULT_TEMPLATE_BYTES_MAX,
} from '../../templates/document-template.ts';
import {
  integer,
  nullable,
  number,
  object,
  oneOf,
  optional,
  optionals,
  string,
  type Static,
} from '../declare.ts';
import { ApiError } from '../errors.ts';
import { MATCHING_STRATEGIES } from '../matching-strategies.ts';
import { SEARCH_DEFAULTS } from '../search.ts';
import {
  FLAG,
  fieldsOf,
  inOrder,
  isGiven,
  isObject,
  mergeFields,
  setting,
  TEXTS,
  type Complete,
} from './setting.ts';

const CODE = 'invalid_settings_index_chat';

const SEARCH_PARAMETERS = nullable(
  object(
    optionals({
      hybrid: nullable(
        object({
          semanticRatio: optional(
            nullable(
              number({ minimum: 0, maximum: 1, default: SEARCH_DEFAULTS.hybrid.semanticRatio }),
            ),
          ),
          embedder: string(),
        }),
      ),
      limit: nullable(integer({ minimum: 0 })),
      sort: TEXTS,
      distinct: nullable(string()),
      matchingStrategy: nullable(oneOf(MATCHING_STRATEGIES)),
      attributesToSearchOn: TEXTS,
      rankingScoreThreshold: nullable(number({ minimum: 0, maximum: 1 })),
      useNetwork: FLAG,
    }),
  ),
);

const SCHEMA = nullable(
  object(
    optionals({
      description: nullable(string()),
      documentTemplate: nullable(string()),
      documentTemplateMaxBytes: nullable(integer({ minimum: 0 })),
      searchParameters: SEARCH_PARAMETERS,
    }),
  ),
);
export type ChatSettings = Omit<
  Complete<NonNullable<Static<typeof SCHEMA>>>,
  'searchParameters'
> & { searchParameters: NonNullable<Static<typeof SEARCH_PARAMETERS>> };

function initial(): ChatSettings {
  return {
    description: '',
    documentTemplate: DEFAULT_DOCUMENT_TEMPLATE,
    documentTemplateMaxBytes: DEFAULT_TEMPLATE_BYTES_MAX,
    searchParameters: {},
  };
}

export const chat = setting({
  name: 'chat',
  group: 'Meaning',
  explanation: 'What chat models know about this index, and how they search it.',
  methods: ['PATCH'],
  code: CODE,
  schema: SCHEMA,
  touches: [],
  initial,
  feature: 'chatCompletions',
  canonical(sent: Record<string, unknown>) {
    const ordered = inOrder(sent, fieldsOf(SCHEMA));
    if (isObject(ordered.searchParameters)) {
      const parameters = inOrder(ordered.searchParameters, fieldsOf(SEARCH_PARAMETERS));
      if (isObject(parameters.hybrid)) {
        const { semanticRatio, embedder } = parameters.hybrid;
        parameters.hybrid = {
          semanticRatio: semanticRatio ?? SEARCH_DEFAULTS.hybrid.semanticRatio,
          embedder,
        };
      }
      ordered.searchParameters = parameters;
    }
    return ordered;
  },
  merge(current: ChatSettings, change: Partial<ChatSettings>) {
    const merged = mergeFields(current, change, initial());
    if (isObject(change.searchParameters)) {
      const parameters: Record<string, unknown> = {
        ...current.searchParameters,
        ...change.searchParameters,
      };
      merged.searchParameters = inOrder(
        parameters,
        fieldsOf(SEARCH_PARAMETERS).filter((name) => isGiven(parameters[name])),
      );
    }
    const reason = templateFault(merged.documentTemplate);
    if (reason !== null) {
      return err(
        new ApiError(
          'invalid_chat_setting_document_template',
          `\`.chat.documentTemplate\`: the template does not parse: ${reason}.`,
        ),
      );
    }
    if (merged.documentTemplateMaxBytes === 0) {
      return err(
        new ApiError(
          CODE,
          '`.chat.documentTemplateMaxBytes`: a zero was found, at least 1 is required.',
        ),
      );
    }
    return ok(merged);
  },
});
