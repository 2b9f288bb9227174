/**
 * Templates, which render a document to the text to embed, and fragments, which are JSON with
 * templates in it.
 */
import { err, ok, type Result } from '../base/result.ts';
import { type LiquidTemplate, parseTemplate, type RenderFault } from './liquid.ts';
import { cutText, textOf, withTexts } from './value-text.ts';

export const DEFAULT_DOCUMENT_TEMPLATE =
  '{% for field in fields %}{% if field.is_searchable and field.value != nil %}' +
  '{{ field.name }}: {{ field.value }}\n{% endif %}{% endfor %}';

/** Default maximum size of a rendered text in bytes. */
export const DEFAULT_TEMPLATE_BYTES_MAX = 400;

/** Fields of a document that are hidden from templates. */
const HIDDEN = ['_vectors', '_geo', '_geojson'];

/** null: all attributes. */
export type SearchableAttributes = ReadonlySet<string> | null;

/**
 * The attributes whose `is_searchable` is true, derived from the setting `searchableAttributes`.
 */
export function searchableAttributes(
  setting: readonly string[] | null | undefined,
): SearchableAttributes {
  return setting === null || setting === undefined || setting.includes('*')
    ? null
    : new Set(setting);
}

/** A document as templates see it. It takes ownership of the value it is made from. */
export class TemplateDocument {
  readonly #document: Record<string, unknown>;
  readonly #searchable: SearchableAttributes;
  #scope: { doc: unknown; fields: { value: unknown }[] } | null = null;

  constructor(document: Record<string, unknown>, searchable: SearchableAttributes) {
    for (const name of HIDDEN) delete document[name];
    this.#document = document;
    this.#searchable = searchable;
  }

  get fieldNames(): string[] {
    return Object.keys(this.#document);
  }

  /**
   * The text at a path of names with dots between them, and how to put another in its place; null:
   * there is no text. A name with dots is found too.
   */
  textAt(path: string): { text: string; replace: (text: string) => void } | null {
    const found = textField(this.#document, path);
    if (found === null) return null;
    const { owner, name, text } = found;
    const field = owner === this.#document ? Object.keys(owner).indexOf(name) : -1;
    return {
      text,
      replace: (other) => {
        owner[name] = other;
        if (field >= 0 && this.#scope !== null) this.#scope.fields[field]!.value = other;
      },
    };
  }

  /** Renders the default template without the library, in a tenth of the time. */
  defaultText(bytesMax: number): string {
    let text = '';
    for (const [name, value] of Object.entries(this.#document)) {
      if (value === null || value === false || this.#searchable?.has(name) === false) continue;
      text += `${name}: ${textOf(value)}\n`;
      // Every code unit takes at least one byte.
      if (text.length >= bytesMax) break;
    }
    return cutText(text, bytesMax);
  }

  scope(): object {
    if (this.#scope === null) {
      withTexts(this.#document);
      const fields = Object.entries(this.#document).map(([name, value]) =>
        withTexts({ name, value, is_searchable: this.#searchable?.has(name) !== false }),
      ) as { value: unknown }[];
      this.#scope = { doc: this.#document, fields };
    }
    return this.#scope;
  }

  /** The scope of fragments, which contains only `doc`. */
  documentScope(): object {
    return { doc: (this.scope() as { doc: unknown }).doc };
  }
}

/** The text at a path of names with dots between them, and the object that has it. */
export function textField(
  owner: object,
  path: string,
): { owner: Record<string, unknown>; name: string; text: string } | null {
  for (const [name, value] of Object.entries(owner)) {
    if (name === path) {
      return typeof value === 'string'
        ? { owner: owner as Record<string, unknown>, name, text: value }
        : null;
    }
    if (!path.startsWith(`${name}.`) || typeof value !== 'object' || value === null) continue;
    if (Array.isArray(value)) continue;
    const found = textField(value as object, path.slice(name.length + 1));
    if (found !== null) return found;
  }
  return null;
}

export interface DocumentTemplate {
  /** Renders to a text that is cut to `bytesMax` bytes. */
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

/** @param value any JSON value; each string in it, except keys, is a template */
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
 * @returns the fault of the first invalid template, with its path
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
    const memberPath = Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`;
    const fault = collectTemplates(member, memberPath, templates);
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

/** Integers with this many digits may exceed the exact range of a JavaScript number. */
const LONG_NUMBER = /\d{16}/;

/**
 * Parses JSON for templates: a whole number that JavaScript cannot represent exactly becomes a
 * string.
 */
export function parseTemplateJson(text: string): unknown {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text);
  // Only outside strings, and no part of a fraction. A string ends at the first quote without a
  // preceding backslash.
  const exact = text.replace(
    /"(?:[^"\\]|\\.)*"|(?<![\d.eE+-])(-?\d{16,})(?![\d.eE])/g,
    (token: string, integer: string | undefined) =>
      integer === undefined || Number.isSafeInteger(Number(integer)) ? token : `"${integer}"`,
  );
  return JSON.parse(exact);
}
