/**
 * Reads queries and judgements. A file of JSON lines begins with `{`; otherwise queries are
 * `id TAB text`, and judgements are those of TREC (`query 0 document grade`) or of BEIR (the same
 * without the 0, after a header).
 */
import { exactText, JsonNumber, parseJson, plainNumbers } from '../../base/json.ts';
import { isObject } from '../../contract/settings/setting.ts';
import { FileError } from '../command.ts';
import { counted } from '../progress.ts';
import { readLines, type TextLine } from './text-lines.ts';
import { isTaken } from './ways.ts';

/** Maximum number of queries, since each is searched for, and resampled often. */
const QUERIES_MAX = 10_000;
/** How many examples a note names. */
const NAMED = 5;
/** The first line of judgements of BEIR. */
const HEADER = /^query-id\s+corpus-id\s+score$/;

export interface JudgedQuery {
  readonly id: string;
  readonly q: string;
  /** Further parameters of its search. */
  readonly search: Readonly<Members>;
  readonly grades: ReadonlyMap<string, number>;
}

export interface JudgedQueries {
  /** At least one, each with a grade above 0. */
  readonly queries: readonly JudgedQuery[];
  /** What was left out, for the person who reads the figures. */
  readonly notes: readonly string[];
  /** Where each judged document was first named. */
  readonly documents: ReadonlyMap<string, string>;
}

interface Query extends Omit<JudgedQuery, 'grades'> {
  readonly line: TextLine;
}

interface Judgement {
  readonly grade: number;
  readonly line: TextLine;
}

type Members = Record<string, unknown>;

/** Judgements by query and by document. */
type Judgements = Map<string, Map<string, Judgement>>;

/**
 * Throws `FileError`.
 * @param lines of judgements; at least one
 * @param queriesPath null: the judgements have the texts of their queries
 */
export function readJudgedQueries(
  queriesPath: string | null,
  lines: readonly TextLine[],
): JudgedQueries {
  const { file } = lines[0]!;
  const judgements = isJson(lines) ? jsonJudgements(lines) : tableJudgements(lines);
  if (queriesPath === null && !isJson(lines)) {
    throw new FileError(`${file} has no texts of queries: name them with --queries.`);
  }
  const queries = queriesOf(queriesPath === null ? lines : readLines(queriesPath));
  return joined(queries, judgements, file);
}

function joined(
  queries: ReadonlyMap<string, Query>,
  judgements: Judgements,
  judgementsPath: string,
): JudgedQueries {
  const judged: JudgedQuery[] = [];
  const [unjudged, irrelevant]: [Query[], Query[]] = [[], []];
  for (const query of queries.values()) {
    const { id, q, search } = query;
    const its = judgements.get(id);
    const grades = new Map([...(its ?? [])].map(([document, { grade }]) => [document, grade]));
    if (its === undefined) unjudged.push(query);
    else if ([...grades.values()].every((grade) => grade === 0)) irrelevant.push(query);
    else judged.push({ id, q, search, grades });
  }
  if (judged.length === 0) {
    throw new FileError(
      `No query has a document that ${judgementsPath} judges relevant: queries and judgements must have the same ids.`,
    );
  }
  if (judged.length > QUERIES_MAX) {
    throw new FileError(`${judged.length} queries are too many: at most ${QUERIES_MAX} are taken.`);
  }
  const unknown = [...judgements].filter(([id]) => !queries.has(id));
  const documents = new Map<string, string>();
  for (const { id } of judged) {
    for (const [document, { line }] of judgements.get(id)!) {
      if (!documents.has(document)) documents.set(document, line.address);
    }
  }
  const nameOf = ({ id, line }: Query): string => `${id} (${line.address})`;
  const notes = [
    note('without judgements left out', unjudged.map(nameOf)),
    note('without a relevant document left out', irrelevant.map(nameOf)),
    note(
      'judged that no file of queries has',
      unknown.map(([id, its]) => `${id} (${[...its.values()][0]!.line.address})`),
    ),
  ].flatMap((one) => one ?? []);
  return { queries: judged, notes, documents };
}

function note(what: string, names: readonly string[]): string | null {
  if (names.length === 0) return null;
  return `${counted(names.length, 'query', 'queries')} ${what}: ${examples(names)}`;
}

/** The first names of a list, and how many others there are. */
export function examples(names: readonly string[]): string {
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : '';
  return `${names.slice(0, NAMED).join(', ')}${more}`;
}

function isJson([first]: readonly TextLine[]): boolean {
  return first!.text.trimStart().startsWith('{');
}

function queriesOf(lines: readonly TextLine[]): Map<string, Query> {
  const queries = new Map<string, Query>();
  for (const query of (isJson(lines) ? jsonQueries : tableQueries)(lines)) {
    const earlier = queries.get(query.id);
    // Lines of one judgement each may repeat the text of the query.
    if (earlier?.q === query.q && isOneJudgement(objectOf(query.line))) continue;
    if (earlier !== undefined) {
      throw query.line.fault(`the query ${query.id} is also in line ${earlier.line.number}`);
    }
    queries.set(query.id, query);
  }
  return queries;
}

function tableQueries(lines: readonly TextLine[]): Query[] {
  return lines.map((line) => {
    const [id = '', ...texts] = line.text.split('\t');
    const q = texts.join(' ').trim();
    if (id.trim() === '' || q === '') throw line.fault('expected an id, a tab and a query');
    return { id: id.trim(), q, search: {}, line };
  });
}

function jsonQueries(lines: readonly TextLine[]): Query[] {
  return lines.map((line) => {
    const object = objectOf(line);
    const { q, search = {} } = object;
    if (typeof q !== 'string' || q.trim() === '') throw line.fault('expected a text `q`');
    if (!isObject(search)) throw line.fault('`search` must be an object of search parameters');
    const taken = Object.keys(search).find(isTaken);
    if (taken !== undefined) throw line.fault(`\`search\` may not set \`${taken}\``);
    return { id: queryIdOf(object, line), q, search: plainNumbers(search) as Members, line };
  });
}

function tableJudgements(lines: readonly TextLine[]): Judgements {
  const judgements: Judgements = new Map();
  for (const line of HEADER.test(lines[0]!.text.trim()) ? lines.slice(1) : lines) {
    const fields = line.text.trim().split(/\s+/);
    if (fields.length !== 3 && fields.length !== 4) {
      throw line.fault('expected `query 0 document grade`');
    }
    const [document = '', grade = ''] = fields.slice(-2);
    judge(judgements, fields[0]!, document, Number(grade), line);
  }
  return judgements;
}

function jsonJudgements(lines: readonly TextLine[]): Judgements {
  const judgements: Judgements = new Map();
  for (const line of lines) {
    const object = objectOf(line);
    const id = queryIdOf(object, line);
    for (const [document, grade] of gradesOf(object, line)) {
      judge(judgements, id, document, grade, line);
    }
  }
  return judgements;
}

/** The documents and grades of a line of JSON. */
function gradesOf(object: Members, line: TextLine): [string, unknown][] {
  const { judgements, relevant, document, grade } = object;
  if (isObject(judgements)) return Object.entries(judgements);
  // As the page stores them.
  if (Array.isArray(judgements)) {
    return judgements.map((one: unknown) => {
      if (!isObject(one)) throw line.fault('`judgements` must have objects');
      return [idOf(one.document, 'document', line), one.grade];
    });
  }
  if (Array.isArray(relevant)) return relevant.map((id) => [idOf(id, 'relevant', line), 1]);
  if (isOneJudgement(object)) return [[idOf(document, 'document', line), grade ?? 1]];
  throw line.fault('expected `judgements`, `relevant` or `document`');
}

const isOneJudgement = ({ document }: Members): boolean => document !== undefined;

function judge(
  judgements: Judgements,
  query: string,
  document: string,
  given: unknown,
  line: TextLine,
): void {
  const grade = plainNumbers(given);
  if (typeof grade !== 'number' || !Number.isFinite(grade)) {
    throw line.fault(`the grade of the document ${document} is not a number`);
  }
  if (grade < 0) {
    throw line.fault(`the grade ${grade} is below 0; 0 means that a document is not relevant`);
  }
  const its = judgements.get(query) ?? new Map<string, Judgement>();
  const earlier = its.get(document);
  if (earlier !== undefined) {
    throw line.fault(
      `the document ${document} is judged twice for the query ${query}, first in line ${earlier.line.number}`,
    );
  }
  judgements.set(query, its.set(document, { grade, line }));
}

/** `id` or `query`; a query without either is named by its text. */
function queryIdOf({ id, query, q }: Members, line: TextLine): string {
  return idOf(id ?? query ?? q, 'id', line);
}

function idOf(value: unknown, name: string, line: TextLine): string {
  if (typeof value === 'string' && value.trim() !== '') return value.trim();
  if (typeof value === 'number' || value instanceof JsonNumber) return exactText(value);
  throw line.fault(`\`${name}\` must be a text or a number`);
}

function objectOf(line: TextLine): Members {
  const value = parseJson(Buffer.from(line.text), { exact: true });
  if (value.ok && isObject(value.value)) return value.value;
  throw line.fault('this is not a JSON object');
}
