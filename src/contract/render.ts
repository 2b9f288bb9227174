/**
 * `POST /render-template`: templates, inputs, and the fields that each kind requires and forbids.
 */
import { ApiError, featureNotEnabled, type ErrorCode } from './errors.ts';
import type { Feature, FeatureSet } from './features.ts';
import {
  declared,
  indexUid,
  integer,
  nullable,
  object,
  oneOf,
  optional,
  optionals,
  string,
  type Static,
  type TProperties,
} from './declare.ts';

type Json = Record<string, unknown>;

interface Kind {
  needs: readonly string[];
  forbids: readonly string[];
  feature?: Feature;
}

const TEMPLATE_KINDS: Record<string, Kind> = {
  documentTemplate: { needs: ['indexUid', 'embedder'], forbids: ['fragment', 'inline'] },
  chatDocumentTemplate: {
    needs: ['indexUid'],
    forbids: ['embedder', 'fragment', 'inline'],
    feature: 'chatCompletions',
  },
  indexingFragment: {
    needs: ['indexUid', 'embedder', 'fragment'],
    forbids: ['inline', 'documentTemplateMaxBytes'],
    feature: 'multimodal',
  },
  searchFragment: {
    needs: ['indexUid', 'embedder', 'fragment'],
    forbids: ['inline', 'documentTemplateMaxBytes'],
    feature: 'multimodal',
  },
  inlineDocumentTemplate: { needs: ['inline'], forbids: ['indexUid', 'embedder', 'fragment'] },
  inlineFragment: {
    needs: ['inline'],
    forbids: ['indexUid', 'embedder', 'fragment', 'documentTemplateMaxBytes'],
    feature: 'multimodal',
  },
};

const INPUT_KINDS: Record<string, Kind> = {
  indexDocument: { needs: ['indexUid', 'id'], forbids: ['inline'] },
  inlineDocument: { needs: ['inline'], forbids: ['indexUid', 'id'] },
  inlineSearch: { needs: ['inline'], forbids: ['indexUid', 'id'], feature: 'multimodal' },
};

/** A kind, and the fields of all kinds. */
function part<P extends TProperties>(
  code: ErrorCode,
  kinds: Readonly<Record<string, Kind>>,
  members: P,
) {
  const coded = Object.entries(members).map(([name, schema]) => [
    name,
    { ...schema, 'x-code': code },
  ]);
  return object(
    {
      kind: oneOf(Object.keys(kinds), { 'x-code': code, 'x-missing-code': code }),
      ...optionals(Object.fromEntries(coded) as P),
    },
    { 'x-code': code, 'x-key-code': code },
  );
}

const OPTIONAL_INDEX_UID = nullable(indexUid());
const OPTIONAL_TEXT = nullable(string());

const TEMPLATE = part('invalid_render_template', TEMPLATE_KINDS, {
  indexUid: OPTIONAL_INDEX_UID,
  embedder: OPTIONAL_TEXT,
  fragment: OPTIONAL_TEXT,
  inline: declared<unknown>({}),
  documentTemplateMaxBytes: nullable(integer({ minimum: 1 })),
});
const INPUT = part('invalid_render_input', INPUT_KINDS, {
  indexUid: OPTIONAL_INDEX_UID,
  id: OPTIONAL_TEXT,
  inline: declared<Json>({}),
});

type Given<T> = { [Name in keyof T]: Exclude<T[Name], null> };
export type RenderTemplate = Given<Static<typeof TEMPLATE>>;
export type RenderInput = Given<Static<typeof INPUT>>;
export interface RenderRequest {
  template: RenderTemplate;
  input?: RenderInput | null;
}

/** Its type is that of the request {@link withoutNulls}, whose kinds decide which fields it has. */
export const RENDER = declared<RenderRequest>(
  object({ template: TEMPLATE, input: optional(nullable(INPUT)) }),
);

/** The request without the fields whose value is null. Clients send every field that they know. */
export function withoutNulls({ template, input }: RenderRequest): RenderRequest {
  return {
    template: givenFields(template),
    ...(input === undefined || input === null ? {} : { input: givenFields(input) }),
  };
}

function givenFields<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as T;
}

/** Checks the parameters of the template, then those of the input. */
export function templateFault({ template }: RenderRequest, features: FeatureSet): ApiError | null {
  const code = 'invalid_render_template';
  const fault = parameterFault(
    'template',
    template,
    TEMPLATE_KINDS[template.kind]!,
    code,
    features,
  );
  if (fault !== null) return fault;
  if (template.kind === 'inlineDocumentTemplate' && typeof template.inline !== 'string') {
    return new ApiError(code, '`.template.inline`: an inline document template is a text.');
  }
  return null;
}

export function inputFault({ input }: RenderRequest, features: FeatureSet): ApiError | null {
  if (input === undefined || input === null) return null;
  const code = 'invalid_render_input';
  const fault = parameterFault('input', input, INPUT_KINDS[input.kind]!, code, features);
  if (fault !== null) return fault;
  const { inline } = input;
  if (inline === undefined) return null;
  if (typeof inline !== 'object' || inline === null || Array.isArray(inline)) {
    return new ApiError(code, '`.input.inline` is an object.');
  }
  const { q } = inline;
  if (input.kind === 'inlineSearch' && q !== undefined && q !== null && typeof q !== 'string') {
    return new ApiError(code, '`.input.inline.q` is a text.');
  }
  return null;
}

function parameterFault(
  name: string,
  given: RenderTemplate | RenderInput,
  { needs, forbids, feature }: Kind,
  code: ErrorCode,
  features: FeatureSet,
): ApiError | null {
  if (feature !== undefined && !features[feature]) {
    return featureNotEnabled(`Using \`.${name}.kind: ${given.kind}\``, feature);
  }
  const has = (field: string): boolean => (given as unknown as Json)[field] !== undefined;
  const surplus = forbids.find(has);
  if (surplus !== undefined) {
    return new ApiError(
      code,
      `\`.${name}.${surplus}\` is not available with the kind \`${given.kind}\`.`,
    );
  }
  const missing = needs.find((field) => !has(field));
  if (missing !== undefined) {
    return new ApiError(
      code,
      `\`.${name}.${missing}\` is missing; the kind \`${given.kind}\` needs it.`,
    );
  }
  return null;
}
