import { attributeNames } from '../../contract/settings/searchable-attributes.ts';
import { RENDERED } from '../../contract/responses.ts';
import { ApiError, indexNotFound } from '../../contract/errors.ts';
import {
  inputFault,
  RENDER,
  type RenderInput,
  type RenderRequest,
  type RenderTemplate,
  templateFault,
  withoutNulls,
} from '../../contract/render.ts';
import type { RequestInput, RequestTemplate } from '../../embedding/render-request.ts';
import type { Dependencies } from '../dependencies.ts';
import { needFeature } from '../need-feature.ts';
import {
  bodyOf,
  json,
  requesterOf,
  route,
  type RouteResponse,
  type RequestContext,
  type Route,
} from '../route.ts';

type Json = Record<string, unknown>;

export const RENDER_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/render-template',
    action: 'settings.get',
    alsoNeeds: 'documents.get',
    summary: 'Renders a template without asking an embedder.',
    body: bodyOf(RENDER),
    success: 200,
    errors: ['index_not_found', 'render_document_not_found'],
    response: RENDERED,
    handle: renderTemplate,
  }),
];

async function renderTemplate(
  context: RequestContext<unknown, RenderRequest>,
  server: Dependencies,
): Promise<RouteResponse> {
  const { features, indexes } = server.services;
  const body = withoutNulls(context.body);
  needFeature(server, 'renderRoute', 'Rendering templates');
  checkAccess(context, body);
  const fault = templateFault(body, features.get());
  if (fault !== null) throw fault;
  const template = templateOf(body.template, indexes);
  // Its faults are reported before those of the input.
  await rendered(server, context, template, null);
  const wrongInput = inputFault(body, features.get());
  if (wrongInput !== null) throw wrongInput;
  const { input } = body;
  const given = input === undefined || input === null ? null : await inputOf(input, indexes);
  return json(200, {
    template: template.kind === 'text' ? template.text : template.value,
    rendered: given === null ? null : await rendered(server, context, template, given),
  });
}

type Indexes = Dependencies['services']['indexes'];

/** The key must have access to every index that is named. */
function checkAccess({ access }: RequestContext, { template, input }: RenderRequest): void {
  for (const uid of [template.indexUid, input?.indexUid]) {
    if (uid !== undefined && !access.mayAccess(uid)) throw access.refusal(uid);
  }
}

function embedderOf({ indexUid, embedder }: RenderTemplate, indexes: Indexes): Json {
  const settings = indexes.settings(indexUid!);
  if (settings === undefined) throw indexNotFound(indexUid!);
  const found = Object.hasOwn(settings.embedders, embedder!)
    ? settings.embedders[embedder!]
    : undefined;
  if (found !== undefined) return found as Json;
  throw badTemplate(`the index \`${indexUid}\` has no embedder \`${embedder}\``);
}

function templateOf(template: RenderTemplate, indexes: Indexes): RequestTemplate {
  const { kind, indexUid, fragment, documentTemplateMaxBytes: bytesMax } = template;
  switch (kind) {
    case 'documentTemplate': {
      const { documentTemplate, documentTemplateMaxBytes } = embedderOf(template, indexes);
      if (typeof documentTemplate !== 'string')
        throw badTemplate('the embedder has no document template');
      return text(documentTemplate, bytesMax ?? (documentTemplateMaxBytes as number));
    }
    case 'chatDocumentTemplate': {
      const settings = indexes.settings(indexUid!);
      if (settings === undefined) throw indexNotFound(indexUid!);
      const { documentTemplate, documentTemplateMaxBytes } = settings.chat;
      return text(documentTemplate, bytesMax ?? documentTemplateMaxBytes);
    }
    case 'inlineDocumentTemplate':
      return text(template.inline as string, bytesMax ?? Infinity);
    case 'inlineFragment':
      return { kind: 'fragment', value: template.inline };
    default: {
      const embedder = embedderOf(template, indexes);
      const fragments = (embedder[`${kind}s`] ?? {}) as Record<string, { value: unknown }>;
      if (!Object.hasOwn(fragments, fragment!))
        throw badTemplate(`the embedder has no fragment \`${fragment}\``);
      return { kind: 'fragment', value: fragments[fragment!]!.value };
    }
  }
}

async function inputOf(input: RenderInput, indexes: Indexes): Promise<RequestInput> {
  if (input.kind === 'inlineSearch') {
    const { q, media } = input.inline as { q?: unknown; media?: unknown };
    return { kind: 'search', q, media };
  }
  if (input.kind === 'inlineDocument') {
    return { kind: 'inlineDocument', document: input.inline! };
  }
  const { indexUid, id } = input as { indexUid: string; id: string };
  const settings = indexes.settings(indexUid);
  if (settings === undefined) throw indexNotFound(indexUid);
  const all = { fields: null, retrieveVectors: false };
  const json = await indexes.documents.getDocument(indexUid, id, all);
  if (json === null) {
    throw new ApiError(
      'render_document_not_found',
      `The index \`${indexUid}\` has no document \`${id}\`.`,
    );
  }
  return {
    kind: 'document',
    json: json.toString(),
    searchable: attributeNames(settings.searchableAttributes),
  };
}

/** @param input null: the template is only parsed */
async function rendered(
  { renders }: Dependencies,
  context: RequestContext,
  template: RequestTemplate,
  input: RequestInput | null,
): Promise<unknown> {
  const requester = requesterOf(context);
  const outcome = await renders.forRequest(requester, template, input, context.connection);
  switch (outcome.kind) {
    case 'rendered':
      return outcome.value;
    case 'unparsable': {
      const what = template.kind === 'text' ? 'template' : 'fragment';
      throw new ApiError(
        'template_parsing_error',
        `The ${what} does not parse: ${outcome.reason}.`,
      );
    }
    case 'failed':
      throw new ApiError(
        'template_rendering_error',
        `The template cannot be rendered: ${outcome.reason}.`,
      );
  }
}

function text(template: string, bytesMax: number): RequestTemplate {
  return { kind: 'text', text: template, bytesMax };
}

function badTemplate(reason: string): ApiError {
  return new ApiError('invalid_render_template', `Invalid value at \`.template\`: ${reason}.`);
}
