import { count, day } from '../../format.ts';
import { pathOf } from '../../client.ts';
import { barsOf, momentUnit } from '../../histogram.ts';
import { useLoaded } from '../../hooks.ts';
import {
  type Bucket,
  histogramSearch,
  type Range,
  type SearchResult,
  type SearchState,
  type Stats,
} from '../../search-request.ts';
import { useSession } from '../../session.ts';

interface RangesProps {
  uid: string;
  state: SearchState;
  stats: Readonly<Record<string, Stats>>;
  onChoose(ranges: SearchState['ranges']): void;
}

/** For each facet with numbers: how they are distributed, and a range to choose. */
export function Ranges({ uid, state, stats, onChoose }: RangesProps): JSX.Element {
  return (
    <>
      {Object.entries(stats)
        .filter(([facet, { min, max }]) => min < max || state.ranges[facet] !== undefined)
        .map(([facet, bounds]) => (
          <RangeFacet
            key={facet}
            uid={uid}
            facet={facet}
            state={state}
            bounds={bounds}
            onChoose={(range) => {
              const { [facet]: _, ...others } = state.ranges;
              onChoose(range === null ? others : { ...others, [facet]: range });
            }}
          />
        ))}
    </>
  );
}

interface RangeProps {
  uid: string;
  facet: string;
  state: SearchState;
  bounds: Stats;
  onChoose(range: Range | null): void;
}

/** How the numbers are distributed. The searches are tests, which analytics leave out. */
function useHistogram({ uid, facet, state, bounds }: RangeProps): readonly Bucket[] {
  const { client } = useSession();
  const { page: _, sort: __, ranges, ...counted } = state;
  const { [facet]: ___, ...others } = ranges;
  const bars = barsOf(bounds);
  const loaded = useLoaded(
    async (signal) => {
      const options = { body: histogramSearch(state, facet, bars), signal, isTest: true };
      const path = pathOf(['indexes', uid, 'search']);
      const { facetStats } = await client.send<SearchResult>('POST', path, options);
      return facetStats?.[facet]?.histogram ?? [];
    },
    [client, uid, facet, bounds.min, bounds.max, JSON.stringify([counted, others])],
  );
  return loaded.value ?? [];
}

function RangeFacet(props: RangeProps): JSX.Element {
  const { facet, state, bounds, onChoose } = props;
  const chosen = state.ranges[facet];
  const low = chosen?.min ?? bounds.min;
  const high = chosen?.max ?? bounds.max;
  const buckets = useHistogram(props);
  const unit = momentUnit(facet, bounds.max);
  const shown = (value: number): string =>
    unit === null
      ? Number.isInteger(value) && Math.abs(value) < 10_000
        ? String(value)
        : count(value)
      : day(unit === 's' ? value * 1000 : value);
  const whole = Number.isInteger(bounds.min) && Number.isInteger(bounds.max);
  const choose = (min: number, max: number): void =>
    onChoose({
      min: min <= bounds.min ? null : Math.min(min, max),
      max: max >= bounds.max ? null : Math.max(min, max),
    });
  const slider = (label: string, value: number, onInput: (value: number) => void): JSX.Element => (
    <input
      type="range"
      aria-label={`${facet}, ${label}`}
      aria-valuetext={shown(value)}
      min={bounds.min}
      max={bounds.max}
      step={whole ? 1 : 'any'}
      value={value}
      onInput={(event) => onInput(Number(event.currentTarget.value))}
    />
  );
  return (
    <fieldset class="facet range">
      <legend>{facet}</legend>
      <Bars buckets={buckets} low={low} high={high} />
      <div class="sliders">
        {slider('from', low, (value) => choose(value, high))}
        {slider('to', high, (value) => choose(low, value))}
      </div>
      <p class="ends">
        <span>{shown(low)}</span>
        {chosen === undefined ? null : (
          <button type="button" class="quiet" onClick={() => onChoose(null)}>
            All<span class="unseen"> values of {facet}</span>
          </button>
        )}
        <span>{shown(high)}</span>
      </p>
    </fieldset>
  );
}

const WIDTH = 160;
const HEIGHT = 40;

interface BarsProps {
  buckets: readonly Bucket[];
  low: number;
  high: number;
}

/** The buckets from left to right, those within the range in the colour of choices. */
function Bars({ buckets, low, high }: BarsProps): JSX.Element {
  const greatest = Math.max(1, ...buckets.map(({ count: of }) => of));
  const width = WIDTH / Math.max(1, buckets.length);
  return (
    <svg
      class="icon bars"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {buckets.map(({ from, to, count: of }, at) => {
        // A bucket that is not empty can be seen.
        const height = of === 0 ? 0 : Math.max(2, (of / greatest) * HEIGHT);
        return (
          <rect
            key={at}
            class={to >= low && from <= high ? 'within' : ''}
            x={at * width + 0.75}
            y={HEIGHT - height}
            width={Math.max(0.5, width - 1.5)}
            height={height}
          />
        );
      })}
    </svg>
  );
}
