import { ApiError, featureNotEnabled, indexNotFound } from '../../contract/errors.ts';
import {
  inputFault,
  RENDER,
  type RenderInput,
  renderKindFault,
  type RenderRequest,
  type RenderTemplate,
  templateFault,
} from '../../contract/render.ts';
import {
  parseDocumentTemplate,
  parseFragment,
  parseTemplateJson,
  searchableAttributes,
  TemplateDocument,
} from '../../templates/document-template.ts';
import { withTexts } from '../../templates/value-text.ts';
import type { Dependencies } from '../dependencies.ts';
import { bodyOf, json, route, type RequestContext, type Route } from '../route.ts';

type Json = Record<string, unknown>;

/** A template and how a scope of variables becomes text or JSON. */
interface Renderer {
  template: unknown;
  render(input: PreparedInput): unknown;
}

type PreparedInput =
  { kind: 'document'; document: TemplateDocument } | { kind: 'search'; scope: object };

export function renderRoutes({ services, authorizer }: Dependencies): Route[] {
  const { features, indexes } = services;

  /** The key needs a second right, and every index that is named. */
  function checkAccess(
    { access, exchange }: RequestContext,
    { template, input }: RenderRequest,
  ): void {
    const { authorization, legacyKey } = exchange.headers;
    const reading = authorizer.authorize({ authorization, legacyKey }, 'documents.get', null);
    if (!reading.ok) throw reading.error;
    for (const uid of [template.indexUid, input?.indexUid]) {
      if (uid !== undefined && !access.mayAccess(uid)) throw access.refusal(uid);
    }
  }

  function embedderOf({ indexUid, embedder }: RenderTemplate): Json {
    const settings = indexes.settings(indexUid!);
    if (settings === undefined) throw indexNotFound(indexUid!);
    const found = Object.hasOwn(settings.embedders, embedder!)
      ? settings.embedders[embedder!]
      : undefined;
    if (found !== undefined) return found as Json;
    throw badTemplate(`the index \`${indexUid}\` has no embedder \`${embedder}\``);
  }

  function rendererOf(template: RenderTemplate): Renderer {
    const { kind, indexUid, fragment, documentTemplateMaxBytes: bytesMax } = template;
    switch (kind) {
      case 'documentTemplate': {
        const { documentTemplate, documentTemplateMaxBytes } = embedderOf(template);
        if (typeof documentTemplate !== 'string')
          throw badTemplate('the embedder has no document template');
        return documentRenderer(documentTemplate, bytesMax ?? (documentTemplateMaxBytes as number));
      }
      case 'chatDocumentTemplate': {
        const settings = indexes.settings(indexUid!);
        if (settings === undefined) throw indexNotFound(indexUid!);
        const { documentTemplate, documentTemplateMaxBytes } = settings.chat;
        return documentRenderer(documentTemplate, bytesMax ?? documentTemplateMaxBytes);
      }
      case 'inlineDocumentTemplate':
        return documentRenderer(template.inline as string, bytesMax ?? Infinity);
      case 'inlineFragment':
        return fragmentRenderer(template.inline);
      default: {
        const embedder = embedderOf(template);
        const fragments = (embedder[`${kind}s`] ?? {}) as Record<string, { value: unknown }>;
        if (!Object.hasOwn(fragments, fragment!))
          throw badTemplate(`the embedder has no fragment \`${fragment}\``);
        return fragmentRenderer(fragments[fragment!]!.value);
      }
    }
  }

  async function preparedInput(input: RenderInput): Promise<PreparedInput> {
    if (input.kind === 'inlineSearch') {
      const { q, media } = input.inline as { q?: unknown; media?: unknown };
      const scope: Json = {};
      if (q !== undefined && q !== null) scope.q = q;
      if (media !== undefined && media !== null) scope.media = withTexts(structuredClone(media));
      return { kind: 'search', scope };
    }
    if (input.kind === 'inlineDocument') {
      return {
        kind: 'document',
        document: new TemplateDocument(structuredClone(input.inline!), null),
      };
    }
    const { indexUid, id } = input as { indexUid: string; id: string };
    const settings = indexes.settings(indexUid);
    if (settings === undefined) throw indexNotFound(indexUid);
    const all = { fields: null, retrieveVectors: false };
    const text = await indexes.documents.getDocument(indexUid, id, all);
    if (text === null) {
      throw new ApiError(
        'render_document_not_found',
        `The index \`${indexUid}\` has no document \`${id}\`.`,
      );
    }
    const searchable = searchableAttributes(settings.searchableAttributes);
    const document = parseTemplateJson(text.toString()) as Json;
    return { kind: 'document', document: new TemplateDocument(document, searchable) };
  }

  return [
    route<unknown, RenderRequest>({
      method: 'POST',
      path: '/render-template',
      action: 'settings.get',
      summary: 'Renders a template without asking an embedder.',
      body: bodyOf<RenderRequest>(RENDER),
      success: 200,
      handle: async (context) => {
        const { body } = context;
        const kinds = renderKindFault(body);
        if (kinds !== null) throw kinds;
        if (!features.get().renderRoute)
          throw featureNotEnabled('Rendering templates', 'renderRoute');
        checkAccess(context, body);
        const fault = templateFault(body, features.get());
        if (fault !== null) throw fault;
        const renderer = rendererOf(body.template);
        const wrongInput = inputFault(body, features.get());
        if (wrongInput !== null) throw wrongInput;
        const { input } = body;
        const rendered =
          input === undefined || input === null
            ? null
            : renderer.render(await preparedInput(input));
        return json(200, { template: renderer.template, rendered });
      },
    }),
  ];
}

function documentRenderer(text: string, bytesMax: number): Renderer {
  const parsed = parseDocumentTemplate(text);
  if (!parsed.ok)
    throw new ApiError('template_parsing_error', `The template does not parse: ${parsed.error}.`);
  return {
    template: text,
    render(input) {
      if (input.kind === 'search') throw renderingError('a search has no `doc`');
      const rendered = parsed.value.render(input.document, bytesMax);
      if (!rendered.ok) throw renderingError(rendered.error.message);
      return rendered.value;
    },
  };
}

function fragmentRenderer(value: unknown): Renderer {
  const parsed = parseFragment(value);
  if (!parsed.ok)
    throw new ApiError('template_parsing_error', `The fragment does not parse: ${parsed.error}.`);
  return {
    template: value,
    render(input) {
      const scope = input.kind === 'search' ? input.scope : input.document.documentScope();
      const rendered = parsed.value.render(scope);
      if (!rendered.ok) throw renderingError(rendered.error.message);
      return rendered.value;
    },
  };
}

function badTemplate(reason: string): ApiError {
  return new ApiError('invalid_render_template', `Invalid value at \`.template\`: ${reason}.`);
}

function renderingError(reason: string): ApiError {
  return new ApiError('template_rendering_error', `The template cannot be rendered: ${reason}.`);
}
