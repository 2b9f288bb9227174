/**
 * Templates that turn a document into the text that is embedded, and fragments, which are JSON with
 * templates in it.
 */
import { err, ok, type Result } from '../base/result.ts';
import { type LiquidTemplate, parseTemplate, type RenderFault } from './liquid.ts';
import { cutText, textOf, withTexts } from './value-text.ts';

export const DEFAULT_DOCUMENT_TEMPLATE =
  '{% for field in fields %}{% if field.is_searchable and field.value != nil %}' +
  '{{ field.name }}: {{ field.value }}\n{% endif %}{% endfor %}';

/** Of the text that a template makes, unless a setting says otherwise. */
export const DEFAULT_TEMPLATE_BYTES_MAX = 400;

/** Parts of a document that no template sees. */
const HIDDEN = ['_vectors', '_geo', '_geojson'];

/** null: every attribute. */
export type SearchableAttributes = ReadonlySet<string> | null;

/** The attributes whose `is_searchable` is true, from the setting `searchableAttributes`. */
export function searchableAttributes(
  setting: readonly string[] | null | undefined,
): SearchableAttributes {
  return setting === null || setting === undefined || setting.includes('*')
    ? null
    : new Set(setting);
}

/** A document as templates see it. What it is made from belongs to it from then on. */
export class TemplateDocument {
  readonly #document: Record<string, unknown>;
  readonly #searchable: SearchableAttributes;
  #scope: { doc: unknown; fields: unknown } | null = null;

  constructor(document: Record<string, unknown>, searchable: SearchableAttributes) {
    for (const name of HIDDEN) delete document[name];
    this.#document = document;
    this.#searchable = searchable;
  }

  get fieldNames(): string[] {
    return Object.keys(this.#document);
  }

  /** What the default template renders to, without the library: it takes a tenth of the time. */
  defaultText(bytesMax: number): string {
    let text = '';
    for (const [name, value] of Object.entries(this.#document)) {
      if (value === null || value === false || this.#searchable?.has(name) === false) continue;
      text += `${name}: ${textOf(value)}\n`;
      // Every unit of a text has at least one byte.
      if (text.length >= bytesMax) break;
    }
    return cutText(text, bytesMax);
  }

  scope(): object {
    if (this.#scope === null) {
      withTexts(this.#document);
      const fields = Object.entries(this.#document).map(([name, value]) =>
        withTexts({ name, value, is_searchable: this.#searchable?.has(name) !== false }),
      );
      this.#scope = { doc: this.#document, fields };
    }
    return this.#scope;
  }

  /** For fragments, which see `doc` alone. */
  documentScope(): object {
    return { doc: (this.scope() as { doc: unknown }).doc };
  }
}

export interface DocumentTemplate {
  /** Cut to `bytesMax` bytes. */
  render(document: TemplateDocument, bytesMax: number): Result<string, RenderFault>;
}

export function parseDocumentTemplate(text: string): Result<DocumentTemplate, string> {
  if (text === DEFAULT_DOCUMENT_TEMPLATE) {
    return ok({ render: (document, bytesMax) => ok(document.defaultText(bytesMax)) });
  }
  const parsed = parseTemplate(text);
  if (!parsed.ok) return parsed;
  return ok({
    render(document, bytesMax) {
      const rendered = parsed.value.render(document.scope());
      return rendered.ok ? ok(cutText(rendered.value, bytesMax)) : rendered;
    },
  });
}

export interface Fragment {
  /** @param scope the variables; see `LiquidTemplate.render` */
  render(scope: object): Result<unknown, RenderFault>;
}

/** @param value any JSON; each string in it, except keys, is a template */
export function parseFragment(value: unknown): Result<Fragment, string> {
  const templates = new Map<string, LiquidTemplate>();
  const fault = collectTemplates(value, '', templates);
  if (fault !== null) return err(fault);
  return ok({
    render(scope) {
      const texts = new Map<string, string>();
      for (const [text, template] of templates) {
        const rendered = template.render(scope);
        if (!rendered.ok) return rendered;
        texts.set(text, rendered.value);
      }
      return ok(replaceTexts(value, texts));
    },
  });
}

/**
 * Parses every string of `value`.
 * @returns what is wrong with the first that is no template, with its place
 */
function collectTemplates(
  value: unknown,
  path: string,
  templates: Map<string, LiquidTemplate>,
): string | null {
  if (typeof value === 'string') {
    const parsed = parseTemplate(value);
    if (!parsed.ok)
      return `the template${path === '' ? '' : ` at \`${path}\``} does not parse: ${parsed.error}`;
    templates.set(value, parsed.value);
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  for (const [key, member] of Object.entries(value)) {
    const place = Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`;
    const fault = collectTemplates(member, place, templates);
    if (fault !== null) return fault;
  }
  return null;
}

function replaceTexts(value: unknown, texts: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return texts.get(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => replaceTexts(item, texts));
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, replaceTexts(member, texts)]),
  );
}

/** Integers beyond this many digits may not fit a number of JavaScript. */
const LONG_NUMBER = /\d{16}/;

/**
 * A JSON text as templates need it: a whole number that JavaScript cannot hold exactly becomes a
 * string.
 */
export function parseTemplateJson(text: string): unknown {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text);
  // Outside strings only: a string ends at the first quote that no backslash stands before.
  const exact = text.replace(
    /"(?:[^"\\]|\\.)*"|(-?\d{16,})(?![\d.eE])/g,
    (token: string, integer: string | undefined) =>
      integer === undefined || Number.isSafeInteger(Number(integer)) ? token : `"${integer}"`,
  );
  return JSON.parse(exact);
}
