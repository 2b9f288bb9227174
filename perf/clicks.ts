/**
 * Would searches be better if they learned from clicks? Simulated users search judged questions and
 * click by their taste, which the judgements are; every day the first hits are ordered again by
 * clicks over expected clicks (COEC) of the days before.
 *
 *   node --import=tsx perf/clicks.ts --data documents.ndjson.gz --queries questions.ndjson \
 *     [--search '{"matchingStrategy":"last"}'] [--sessions 100,1000,10000] [--seeds 5] \
 *     [--deviations 0] [--days-of-a-user 1]
 *
 * Documents and questions are those of `perf/relevance.ts`. A new server ranks them; the hits that
 * rules before `clicks` rank equal are one bucket, within which clicks decide. With the strategy
 * `natural`, which has one score, every hit is in the same bucket.
 *
 * What is learned: by query and document, clicks over the clicks that the shown positions let
 * expect, with a prior of 20 expected clicks, halved every 30 days, of queries with at least 30
 * impressions by 5 users; a user counts once a day, or in `--days-of-a-user`. With
 * `--deviations N`, a document moves only if its clicks differ from the expected ones by N standard
 * deviations.
 */
import { parseArgs } from 'node:util';
import { metricsOf } from '../src/relevance/metrics.ts';
import { mulberry } from '../src/relevance/random.ts';
import { startBuiltServer } from '../test/support/built-server.ts';
import { bytesOf } from './searches.ts';

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    queries: { type: 'string' },
    search: { type: 'string', default: '{"matchingStrategy":"last"}' },
    sessions: { type: 'string', default: '100,1000,10000,100000' },
    seeds: { type: 'string', default: '5' },
    deviations: { type: 'string', default: '0' },
    'days-of-a-user': { type: 'string', default: '1' },
  },
});

/** Hits that clicks may order again, and those of a page. */
const RANKED = 100;
const PAGE = 10;
const DAYS = 60;
const HALF_LIFE_DAYS = 30;
const PRIOR = 20;
const IMPRESSIONS_MIN = 30;
const USERS_MIN = 5;
/** One question in this many is never searched by the simulated users. */
const UNSEEN_EVERY = 4;
/** The questions that are searched most, of those that are searched. */
const FREQUENT = 20;

interface Hit {
  id: string;
  bucket: string;
}

interface Question {
  base: readonly Hit[];
  grades: ReadonlyMap<string, number>;
}

type Random = () => number;
/** Which ranks of a page are clicked. */
type Clicks = (isGood: (rank: number) => boolean, random: Random) => number[];

const RANKS = Array.from({ length: PAGE }, (_, rank) => rank);
/** Chances of a click on a good and on a bad document that is looked at. */
const [GOOD, BAD] = [0.6, 0.1];

const USERS: Readonly<Record<string, Clicks>> = {
  // Looks at rank r with the chance 1/r.
  'by position': (isGood, random) =>
    RANKS.filter((rank) => random() < (isGood(rank) ? GOOD : BAD) / (rank + 1)),
  // Reads from the top, and mostly stops at a good document.
  cascade(isGood, random) {
    const clicked: number[] = [];
    for (const rank of RANKS) {
      if (random() < (isGood(rank) ? GOOD : BAD)) {
        clicked.push(rank);
        if (random() < (isGood(rank) ? 0.8 : 0.2)) break;
      }
      if (random() < 0.1) break;
    }
    return clicked;
  },
  // Looks by position, and clicks bad documents at the top because they are there.
  trusting: (isGood, random) =>
    RANKS.filter((rank) => {
      const trust = 0.65 / (rank + 1);
      return random() < (isGood(rank) ? 0.98 - 0.02 * rank : trust) / (rank + 1);
    }),
  'at random': (_, random) => RANKS.filter((rank) => random() < 0.2 / (rank + 1)),
};

/** What one question has learned. */
interface Memory {
  impressions: number;
  users: Set<number>;
  documents: Map<string, { clicks: number; expected: number }>;
}

/** The order of a question, from what was learned. */
function ordered(base: readonly Hit[], memory: Memory | undefined, deviations: number): Hit[] {
  if (memory === undefined) return [...base];
  if (memory.impressions < IMPRESSIONS_MIN || memory.users.size < USERS_MIN) return [...base];
  const ratio = (id: string): number => {
    const known = memory.documents.get(id);
    if (known === undefined) return 1;
    const { clicks, expected } = known;
    if (Math.abs(clicks - expected) < deviations * Math.sqrt(expected + 1)) return 1;
    return (clicks + PRIOR) / (expected + PRIOR);
  };
  const numbers = new Map<string, number>();
  for (const { bucket } of base) if (!numbers.has(bucket)) numbers.set(bucket, numbers.size);
  return base
    .map((hit, at) => ({ hit, at, of: numbers.get(hit.bucket)!, ratio: ratio(hit.id) }))
    .sort((a, b) => a.of - b.of || b.ratio - a.ratio || a.at - b.at)
    .map(({ hit }) => hit);
}

/** Changes of nDCG@10. */
type Outcome = Record<'all' | 'frequent' | 'unseen', number>;

interface Simulation {
  sessions: number;
  users: Clicks;
  /** One user of all questions, every day, who clicks the same bad document of each. */
  robot: boolean;
  seed: number;
  deviations: number;
  daysOfUser: number;
}

const ndcg = (hits: readonly Hit[], { grades }: Question): number =>
  metricsOf(
    hits.map(({ id }) => id),
    grades,
    { page: PAGE, recall: RANKED },
  ).ndcg;

function simulated(questions: readonly Question[], of: Simulation): Outcome {
  const random = mulberry(of.seed);
  const shuffled = questions.map((question) => ({ question, key: random() }));
  shuffled.sort((a, b) => a.key - b.key);
  const list = shuffled.map(({ question }) => question);
  const seen = list.filter((_, n) => n % UNSEEN_EVERY !== 0);
  const unseen = list.filter((_, n) => n % UNSEEN_EVERY === 0);
  // The r-th question is searched in proportion to 1/r.
  const sums: number[] = [];
  for (const n of seen.keys()) sums.push((sums.at(-1) ?? 0) + 1 / (n + 1));
  const pick = (): number => {
    const at = random() * sums.at(-1)!;
    return sums.findIndex((sum) => at < sum);
  };
  const memories = seen.map((): Memory => ({
    impressions: 0,
    users: new Set(),
    documents: new Map(),
  }));
  const shown = new Float64Array(PAGE);
  const clickedAt = new Float64Array(PAGE);
  const decay = 0.5 ** (1 / HALF_LIFE_DAYS);
  const userCount = Math.max(10, of.sessions / 5);
  const lastDay = new Map<string, number>();
  for (let day = 0; day < DAYS; day++) {
    const orders = seen.map(({ base }, n) => ordered(base, memories[n], of.deviations));
    const today: { question: number; user: number; clicks: readonly number[] }[] = [];
    const count =
      Math.floor((of.sessions * (day + 1)) / DAYS) - Math.floor((of.sessions * day) / DAYS);
    const search = (question: number, user: number, clicks: readonly number[]): void => {
      const key = `${question} ${user}`;
      if (day < (lastDay.get(key) ?? -Infinity) + of.daysOfUser) return;
      lastDay.set(key, day);
      today.push({ question, user, clicks });
    };
    for (let n = 0; n < count; n++) {
      const question = pick();
      const { grades } = seen[question]!;
      const isGood = (rank: number): boolean => grades.has(orders[question]![rank]?.id ?? '');
      search(question, Math.floor(random() * userCount), of.users(isGood, random));
    }
    if (of.robot) {
      for (const [question, { base, grades }] of seen.entries()) {
        const target = base.slice(0, PAGE).findLast(({ id }) => !grades.has(id));
        const rank = orders[question]!.findIndex((hit) => hit === target);
        search(question, -1, rank >= 0 && rank < PAGE ? [rank] : []);
      }
    }
    // What positions let expect is learned as well.
    for (const { question, clicks } of today) {
      for (const rank of RANKS.slice(0, orders[question]!.length)) shown[rank]! += 1;
      for (const rank of clicks) clickedAt[rank]! += 1;
    }
    for (const { documents } of memories) {
      for (const known of documents.values()) {
        known.clicks *= decay;
        known.expected *= decay;
      }
    }
    for (const { question, user, clicks } of today) {
      const { documents, users } = memories[question]!;
      memories[question]!.impressions++;
      users.add(user);
      for (const [rank, { id }] of orders[question]!.slice(0, PAGE).entries()) {
        const known = documents.get(id) ?? { clicks: 0, expected: 0 };
        known.expected += clickedAt[rank]! / shown[rank]!;
        if (clicks.includes(rank)) known.clicks++;
        documents.set(id, known);
      }
    }
  }
  const change = (some: readonly number[], from: readonly Question[]): number => {
    const before = some.reduce((sum, n) => sum + ndcg(from[n]!.base, from[n]!), 0);
    const after = some.reduce((sum, n) => {
      const memory = from === seen ? memories[n] : undefined;
      return sum + ndcg(ordered(from[n]!.base, memory, of.deviations), from[n]!);
    }, 0);
    return after / before - 1;
  };
  return {
    all: change([...seen.keys()], seen),
    frequent: change([...seen.keys()].slice(0, FREQUENT), seen),
    unseen: change([...unseen.keys()], unseen),
  };
}

async function questionsOf(): Promise<Question[]> {
  const search = JSON.parse(values.search) as { matchingStrategy?: string };
  const isNatural = search.matchingStrategy === 'natural';
  const server = await startBuiltServer();
  try {
    await server.finish('POST', '/indexes/clicks/documents?primaryKey=id', {
      text: bytesOf(values.data!).toString(),
      type: 'application/x-ndjson',
    });
    const questions: Question[] = [];
    for (const line of bytesOf(values.queries!).toString().split('\n')) {
      if (line.trim() === '') continue;
      const { q, relevant } = JSON.parse(line) as { q: string; relevant: unknown[] };
      const { json } = await server.call('POST', '/indexes/clicks/search', {
        body: {
          ...{ ...search, q, limit: RANKED, attributesToRetrieve: ['id'] },
          showRankingScoreDetails: true,
        },
      });
      const base = json.hits.map(({ id, _rankingScoreDetails: of }: any) => ({
        id: String(id),
        bucket: isNatural ? '' : `${of.words?.matchingWords} ${of.typo?.typoCount}`,
      }));
      const grades = new Map(relevant.map((id) => [String(id), 1]));
      if (grades.size > 0) questions.push({ base, grades });
    }
    return questions;
  } finally {
    await server.close();
  }
}

async function main(): Promise<void> {
  if (values.data === undefined || values.queries === undefined) {
    console.error('needs --data FILE and --queries FILE');
    process.exit(2);
  }
  const questions = await questionsOf();
  const mean = questions.reduce((sum, one) => sum + ndcg(one.base, one), 0) / questions.length;
  const sizes = questions.map(
    ({ base }) => base.filter(({ bucket }) => bucket === base[0]?.bucket).length,
  );
  const median = sizes.toSorted((a, b) => a - b)[Math.floor(sizes.length / 2)];
  console.log(`${questions.length} questions, nDCG@10 ${mean.toFixed(3)} without clicks;`);
  console.log(`hits in the first bucket: ${median} (median)\n`);
  console.log('Change of nDCG@10       sessions   frequent        all     unseen');
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`.padStart(10);
  for (const [name, users] of Object.entries(USERS)) {
    for (const robot of name === 'at random' ? [false] : [false, true]) {
      for (const sessions of values.sessions.split(',').map(Number)) {
        const outcomes = Array.from({ length: Number(values.seeds) }, (_, seed) =>
          simulated(questions, {
            ...{ sessions, users, robot, seed },
            deviations: Number(values.deviations),
            daysOfUser: Number(values['days-of-a-user']),
          }),
        );
        const cells = (['frequent', 'all', 'unseen'] as const).map((of) =>
          percent(outcomes.reduce((sum, one) => sum + one[of], 0) / outcomes.length),
        );
        const title = `${name}${robot ? ', a robot' : ''}`.padEnd(22);
        console.log(`${title}${String(sessions).padStart(10)} ${cells.join(' ')}`);
      }
    }
  }
}

await main();
