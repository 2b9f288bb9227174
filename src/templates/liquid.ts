/**
 * Liquid for templates of documents and queries. Templates are user input: they cannot reach files
 * or prototypes, and their work and memory are limited, also inside filters (`work-limit.ts`). If
 * one is stuck, the thread that renders it is ended (`embedding/render-pool.ts`).
 */
import {
  CaseTag,
  Context,
  defaultOperators,
  type Emitter,
  evalToken,
  IfTag,
  Liquid,
  Tag,
  type TagToken,
  type Template,
  type TopLevelToken,
  toValue,
  TypeGuards,
  UnlessTag,
  type Value,
} from 'liquidjs';
import { err, ok, type Result } from '../base/result.ts';
import { textOf } from './value-text.ts';
import { chargeComparison, limitFilters, WorkLimit } from './work-limit.ts';

/** Maximum characters of a template. */
const TEMPLATE_LENGTH_MAX = 1_000_000;
/**
 * Maximum number of tags and outputs, and of characters between their braces. They determine the
 * cost of parsing.
 */
export const TAGS_MAX = 1000;
const TAG_CHARACTERS_MAX = 16 * 1024;
/** Maximum nesting of blocks. */
const DEPTH_MAX = 100;
/** Maximum number of items and characters that tags and filters may produce. */
const RENDER_MEMORY_MAX = 10_000_000;

const FILTERS = new Set(
  (
    'abs append at_least at_most capitalize ceil compact concat date default divided_by downcase ' +
    'escape escape_once first floor join last lstrip map minus modulo newline_to_br plus prepend ' +
    'remove remove_first replace replace_first reverse round rstrip size slice sort sort_natural ' +
    'split strip strip_html strip_newlines times truncate truncatewords uniq upcase url_decode ' +
    'url_encode where'
  ).split(' '),
);
const TAGS = new Set(
  (
    'assign break capture case comment continue cycle decrement for if ifchanged increment raw ' +
    'tablerow unless'
  ).split(' '),
);
const BLOCKS = 'capture|case|comment|for|if|ifchanged|raw|tablerow|unless';

type Branches = { value: Value }[];

/**
 * Makes a condition that is only a variable check whether the variable exists. In a comparison an
 * unknown variable is an error, as everywhere else.
 */
function askForPresence(branches: Branches): void {
  for (const { value } of branches) {
    const { postfix } = value.initial;
    const compared = comparedOperands(postfix);
    value.initial.evaluate = function* (ctx: Context) {
      const operands: unknown[] = [];
      for (const [at, token] of postfix.entries()) {
        if (!TypeGuards.isOperatorToken(token)) {
          operands.push(yield evalToken(token, ctx, !compared.has(at)));
          continue;
        }
        const operator = ctx.opts.operators[token.operator]!;
        const right = operands.pop();
        if (operator.length === 2 && token.operator === 'not') {
          operands.push(yield (operator as (value: unknown, ctx: Context) => unknown)(right, ctx));
        } else {
          const left = operands.pop();
          operands.push(
            yield (operator as (l: unknown, r: unknown, ctx: Context) => unknown)(left, right, ctx),
          );
        }
      }
      return operands[0];
    };
  }
}

/** The positions in `postfix` of the direct operands of comparisons. */
function comparedOperands(postfix: Value['initial']['postfix']): Set<number> {
  const compared = new Set<number>();
  /** Positions of the operands on the stack; null for the result of an operator. */
  const stack: (number | null)[] = [];
  for (const [at, token] of postfix.entries()) {
    if (!TypeGuards.isOperatorToken(token)) {
      stack.push(at);
      continue;
    }
    const operands = [stack.pop(), ...(token.operator === 'not' ? [] : [stack.pop()])];
    if (!['and', 'or', 'not'].includes(token.operator)) {
      for (const operand of operands) if (typeof operand === 'number') compared.add(operand);
    }
    stack.push(null);
  }
  return compared;
}

class PresenceIfTag extends IfTag {
  constructor(...args: ConstructorParameters<typeof IfTag>) {
    super(...args);
    askForPresence(this.branches);
  }
}

class PresenceUnlessTag extends UnlessTag {
  constructor(...args: ConstructorParameters<typeof UnlessTag>) {
    super(...args);
    askForPresence(this.branches);
  }
}

/** Charges the comparisons of its value with those of all branches before it makes them. */
class LimitedCaseTag extends CaseTag {
  constructor(...args: ConstructorParameters<typeof CaseTag>) {
    super(...args);
    const { branches, value } = this;
    const evaluate = value.value.bind(value);
    value.value = function* (ctx: Context, lenient?: boolean) {
      const target = yield* evaluate(ctx, lenient);
      for (const { values } of branches) {
        for (let i = 0; i < values.length; i++) workOf(ctx).chargeText(toValue(target));
      }
      return target;
    };
  }
}

/** The tag `ifchanged`: writes its content if it differs from the last time. */
class IfChangedTag extends Tag {
  readonly #templates: Template[] = [];

  constructor(
    token: TagToken,
    remaining: TopLevelToken[],
    liquid: Liquid,
    parser: ConstructorParameters<typeof IfTag>[3],
  ) {
    super(token, remaining, liquid);
    const stream = parser.parseStream(remaining);
    stream
      .on('tag:endifchanged', () => stream.stop())
      .on('template', (template: Template) => void this.#templates.push(template))
      .on('end', () => {
        throw new Error('tag ifchanged not closed');
      });
    stream.start();
  }

  *render(ctx: Context, emitter: Emitter): Generator<unknown, void, unknown> {
    const text = (yield this.liquid.renderer.renderTemplates(this.#templates, ctx)) as string;
    if (ctx.getRegister('ifchanged') === text) return;
    ctx.setRegister('ifchanged', text);
    emitter.write(text);
  }
}

/** A context in which texts, numbers and null have no properties, and which limits work. */
class ValueContext extends Context {
  readonly work: WorkLimit;

  constructor(variables: object, liquid: Liquid) {
    const work = new WorkLimit();
    // The library checks its limit of time before each part that it renders.
    const parts = { use: () => {}, check: (now: number) => work.chargePart(now) };
    const renderLimit = parts as unknown as Context['renderLimit'];
    super(variables, liquid.options, { sync: true }, { liquid, renderLimit });
    this.work = work;
  }

  /** Creates the context for an item that a filter reads. */
  override spawn(scope?: object): Context {
    this.work.chargeStep();
    return super.spawn(scope);
  }

  override readProperty(object: never, key: never): unknown {
    this.work.chargeStep();
    return typeof object === 'object' && object !== null
      ? super.readProperty(object, key)
      : undefined;
  }
}

/** Whether both are `nil` or `false`, which are equal in a comparison. */
function bothFalse(left: unknown, right: unknown): boolean {
  const isFalse = (value: unknown): boolean => [null, undefined, false].includes(value as null);
  return isFalse(toValue(left)) && isFalse(toValue(right));
}

type Comparison = (left: unknown, right: unknown, context: Context) => Generator<unknown, boolean>;

function comparison(operator: string, isEqual?: boolean): Comparison {
  const compare = defaultOperators[operator] as Comparison;
  return function* (left, right, context) {
    if (isEqual !== undefined && bothFalse(left, right)) return isEqual;
    chargeComparison(workOf(context), operator, toValue(left), toValue(right));
    return (yield compare(left, right, context)) as boolean;
  };
}

const OPERATORS = {
  ...defaultOperators,
  '==': comparison('==', true),
  '!=': comparison('!=', false),
  '>': comparison('>'),
  '<': comparison('<'),
  '>=': comparison('>='),
  '<=': comparison('<='),
  contains: comparison('contains'),
} as typeof defaultOperators;

function workOf(context: unknown): WorkLimit {
  return (context as ValueContext).work;
}

/** The output of a template, which counts towards `RENDER_MEMORY_MAX`. */
class LimitedEmitter implements Emitter {
  buffer = '';
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  write(html: unknown): void {
    const text = textOf(toValue(html));
    this.#context.memoryLimit.use(text.length);
    this.buffer += text;
  }
}

let shared: Liquid | null = null;

function engine(): Liquid {
  if (shared !== null) return shared;
  const liquid = new Liquid({
    // Partials are looked up in this empty object instead of the file system.
    templates: {},
    dynamicPartials: false,
    ownPropertyOnly: true,
    strictVariables: true,
    strictFilters: true,
    operators: OPERATORS,
    outputEscape(this: { context: unknown }, value: unknown) {
      workOf(this.context).chargeText(value);
      return textOf(value);
    },
    parseLimit: TEMPLATE_LENGTH_MAX,
    memoryLimit: RENDER_MEMORY_MAX,
    timezoneOffset: 0,
    locale: 'en',
  });
  for (const name of Object.keys(liquid.tags)) if (!TAGS.has(name)) delete liquid.tags[name];
  for (const name of Object.keys(liquid.filters)) {
    if (!FILTERS.has(name)) liquid.unregisterFilter(name);
  }
  limitFilters(liquid, workOf);
  const { renderer } = liquid;
  const renderTemplates = renderer.renderTemplates.bind(renderer);
  renderer.renderTemplates = (templates, context, emitter = new LimitedEmitter(context)) =>
    renderTemplates(templates, context, emitter);
  liquid.registerTag('if', PresenceIfTag);
  liquid.registerTag('unless', PresenceUnlessTag);
  liquid.registerTag('case', LimitedCaseTag);
  liquid.registerTag('ifchanged', IfChangedTag);
  shared = liquid;
  return liquid;
}

/** Called when rendering begins and when it ends. Set by the thread that renders. */
let onRendering: (isRendering: boolean) => void = () => {};

export function watchRendering(listener: typeof onRendering): void {
  onRendering = listener;
}

/** Why a template could not be rendered. */
export interface RenderFault {
  /** The message, without a full stop. */
  message: string;
  /** Whether the cause is an undefined variable. */
  missing: boolean;
}

/** A parsed template. */
export interface LiquidTemplate {
  readonly text: string;
  /** @param scope its own properties are the variables; nested objects are made by `withTexts` */
  render(scope: object): Result<string, RenderFault>;
}

/** @returns the template, or why the text is not a template */
export function parseTemplate(text: string): Result<LiquidTemplate, string> {
  if (text.length > TEMPLATE_LENGTH_MAX) {
    return err(`it has more than ${TEMPLATE_LENGTH_MAX} characters`);
  }
  const { tags, characters } = tagsOf(text);
  if (tags > TAGS_MAX) return err(`it has more than ${TAGS_MAX} tags and outputs`);
  if (characters > TAG_CHARACTERS_MAX) {
    return err(`its tags and outputs have more than ${TAG_CHARACTERS_MAX} characters`);
  }
  if (depthOf(text) > DEPTH_MAX)
    return err(`more than ${DEPTH_MAX} blocks stand inside each other`);
  let parsed: Template[];
  try {
    parsed = engine().parse(text);
  } catch (error) {
    return err(messageOf(error));
  }
  return ok({
    text,
    render(scope) {
      const variables = Object.assign(Object.create(null) as object, scope);
      onRendering(true);
      try {
        const liquid = engine();
        return ok(String(liquid.renderSync(parsed, new ValueContext(variables, liquid))));
      } catch (error) {
        const missing = error instanceof Error && error.name === 'UndefinedVariableError';
        return err({ message: messageOf(error), missing });
      } finally {
        onRendering(false);
      }
    },
  });
}

/** Why `text` is not a template, or null. Variables are not looked up. */
export function templateFault(text: string): string | null {
  const parsed = parseTemplate(text);
  return parsed.ok ? null : parsed.error;
}

/** Counts the tags and outputs of a template, and the characters between their braces. */
export function tagsOf(text: string): { tags: number; characters: number } {
  let tags = 0;
  let characters = 0;
  for (let at = text.indexOf('{'); at >= 0; at = text.indexOf('{', at)) {
    const close = text[at + 1] === '{' ? '}}' : text[at + 1] === '%' ? '%}' : null;
    at++;
    if (close === null) continue;
    const end = text.indexOf(close, at + 1);
    tags++;
    characters += (end < 0 ? text.length : end) - at - 1;
    at = end < 0 ? text.length : end + close.length;
  }
  return { tags, characters };
}

/** An upper bound of the nesting of blocks. */
function depthOf(text: string): number {
  let depth = 0;
  let greatest = 0;
  for (const match of text.matchAll(new RegExp(`\\{%-?\\s*(end)?(?:${BLOCKS})\\b`, 'g'))) {
    depth += match[1] === undefined ? 1 : -1;
    greatest = Math.max(greatest, depth);
  }
  return greatest;
}

/** The first line of a message, without the position and the excerpt that the library adds. */
function messageOf(error: unknown): string {
  const { message } = error as Error;
  return (message.split('\n', 1)[0] ?? '').replace(/, file:.*?(?=, line:|$)/, '');
}
