import { err, ok } from '../../base/result.ts';
import { templateFault } from '../../templates/liquid.ts';
import {
  DEFAULT_DOCUMENT_TEMPLATE,
  DEFAULT_TEMPLATE_BYTES_MAX,
} from '../../templates/document-template.ts';
import { nullable, number } from '../declare.ts';
import { ApiError } from '../errors.ts';
import { MATCHING_STRATEGIES } from '../matching-strategies.ts';
import type { Schema } from '../schema.ts';
import { SEARCH_DEFAULTS } from '../search.ts';
import { fieldsOf, inOrder, isGiven, isObject, mergeFields, setting, TEXTS } from './setting.ts';

export interface ChatSettings {
  description: string;
  documentTemplate: string;
  documentTemplateMaxBytes: number;
  searchParameters: Record<string, unknown>;
}

const CODE = 'invalid_settings_index_chat';

const SEARCH_PARAMETERS: Schema = {
  type: ['object', 'null'],
  properties: {
    hybrid: {
      type: ['object', 'null'],
      properties: {
        semanticRatio: nullable(
          number({ minimum: 0, maximum: 1, default: SEARCH_DEFAULTS.hybrid.semanticRatio }),
        ),
        embedder: { type: 'string' },
      },
      required: ['embedder'],
      additionalProperties: false,
    },
    limit: { type: ['integer', 'null'], minimum: 0 },
    sort: TEXTS,
    distinct: { type: ['string', 'null'] },
    matchingStrategy: { type: ['string', 'null'], enum: [...MATCHING_STRATEGIES] },
    attributesToSearchOn: TEXTS,
    rankingScoreThreshold: { type: ['number', 'null'], minimum: 0, maximum: 1 },
    useNetwork: { type: ['boolean', 'null'] },
  },
  additionalProperties: false,
};

const SCHEMA: Schema = {
  type: ['object', 'null'],
  properties: {
    description: { type: ['string', 'null'] },
    documentTemplate: { type: ['string', 'null'] },
    documentTemplateMaxBytes: { type: ['integer', 'null'], minimum: 0 },
    searchParameters: SEARCH_PARAMETERS,
  },
  additionalProperties: false,
};

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
      const parameters = { ...current.searchParameters, ...change.searchParameters };
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
