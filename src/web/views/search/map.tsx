import type { SVGAttributes } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { viewHref } from '../../address.ts';
import { count, counted } from '../../format.ts';
import { titleField } from '../../hit-fields.ts';
import { useLoaded, type Loaded } from '../../hooks.ts';
import type { IndexEntry } from '../../indexes.ts';
import {
  boxFilter,
  centreOf,
  clustersOf,
  pointOf,
  viewAt,
  viewOf,
  widthOf,
  WORLD,
  type Cluster,
  type Point,
  type View,
} from '../../map.ts';
import { Problem } from '../../parts/problem.tsx';
import { placesQuery, PLACES_MAX, type Hit, type SearchState } from '../../search-request.ts';
import { useSession } from '../../session.ts';

declare const process: { readonly env: { readonly GANNET_LAND?: string } };

/** The build replaces this name with the coastlines, in tenths of a degree. */
const LAND = process.env.GANNET_LAND ?? '';
const WIDTH = 720;
const HEIGHT = 360;

interface FoundPoints {
  readonly hits: readonly Hit[];
  readonly estimatedTotalHits: number;
}

interface Props {
  index: IndexEntry;
  state: SearchState;
  /** The hit whose fields say which one is a title. */
  sample: Hit | undefined;
}

/** The hits with places in the view, or everywhere if there is none. The search is a test. */
function useFoundPoints({ index, state, sample }: Props, view: View | null): Loaded<FoundPoints> {
  const { client } = useSession();
  const title = sample === undefined ? undefined : titleField(sample, index.primaryKey);
  const fields = [index.primaryKey, title].filter((name) => typeof name === 'string');
  const { page: _, sort: __, ...asked } = state;
  return useLoaded(
    async (signal) => {
      const body = {
        queries: [placesQuery(index.uid, state, fields, view === null ? null : boxFilter(view))],
      };
      const { results } = await client.send<{ results: readonly FoundPoints[] }>(
        'POST',
        '/multi-search',
        { body, signal, isTest: true },
      );
      return results[0]!;
    },
    [client, index.uid, JSON.stringify([asked, fields, view])],
  );
}

/** All hits that have a place in the part of the world that is shown, near ones as one. */
export function PointMap(props: Props): JSX.Element | null {
  const { index, state, sample } = props;
  const [moved, setMoved] = useState<View | null>(null);
  const [chosen, setChosen] = useState<readonly Hit[]>([]);
  const { page: _, sort: __, ...asked } = state;
  // Another search is shown as a whole.
  useEffect(() => {
    setMoved(null);
    setChosen([]);
  }, [JSON.stringify(asked)]);
  const loaded = useFoundPoints(props, moved);
  const located = (loaded.value?.hits ?? []).flatMap((hit) => {
    const point = pointOf(hit._geo);
    return point === null ? [] : [{ hit, point }];
  });
  const points = located.map(({ point }) => point);
  if (points.length === 0 && moved === null) return <Problem error={loaded.error} />;
  const view = moved ?? viewOf(points);
  const total = loaded.value?.estimatedTotalHits ?? 0;
  const title = sample === undefined ? undefined : titleField(sample, index.primaryKey);
  const nameOf = (hit: Hit | undefined): string =>
    String(hit?.[title ?? ''] ?? hit?.[index.primaryKey ?? ''] ?? '');
  const openCluster = (cluster: Cluster): void => {
    setChosen(cluster.members.map((at) => located[at]!.hit));
    if (cluster.members.length > 1) setMoved(viewAt(cluster, view.height / 3));
  };
  return (
    <figure class="panel">
      <Problem error={loaded.error} />
      <div
        class="map-view"
        role="group"
        aria-label="Map"
        onKeyDown={(event) => {
          const step = STEPS[event.key];
          if (step === undefined) return;
          event.preventDefault();
          setMoved(shifted(view, step));
        }}
      >
        <Drawing
          view={view}
          points={points}
          nameOf={(at) => nameOf(located[at]?.hit)}
          onMove={setMoved}
          onOpen={openCluster}
        />
        <Buttons view={view} onMove={setMoved} />
      </div>
      <figcaption class="note">{caption(points.length, total)}</figcaption>
      <MarkerList index={index} hits={chosen} nameOf={nameOf} />
    </figure>
  );
}

function caption(points: number, total: number): string {
  if (total < PLACES_MAX)
    return `Shown: ${counted(points, 'place')}, all in this part of the world.`;
  return `Shown: the first ${count(points)} places of more than ${count(PLACES_MAX)} results in this part of the world. Move closer to see all of fewer.`;
}

/** Names that the list of a marker has. */
const LISTED_MAX = 30;

interface MarkerListProps {
  index: IndexEntry;
  hits: readonly Hit[];
  nameOf(hit: Hit): string;
}

/** What the marker that was clicked stands for. */
function MarkerList({ index, hits, nameOf }: MarkerListProps): JSX.Element | null {
  const { rights } = useSession();
  if (hits.length === 0) return null;
  return (
    <div role="region" aria-label="Places of the marker">
      <ul class="values">
        {hits.slice(0, LISTED_MAX).map((hit, at) => {
          const id = hit[index.primaryKey ?? ''];
          return (
            <li key={at}>
              {id === undefined || !rights.has('indexes') ? (
                nameOf(hit)
              ) : (
                <a href={viewHref('documents', index.uid, { id: String(id) })}>{nameOf(hit)}</a>
              )}
            </li>
          );
        })}
      </ul>
      {hits.length > LISTED_MAX ? (
        <p class="note">
          {count(LISTED_MAX)} of {counted(hits.length, 'place')}. Move closer to see the others.
        </p>
      ) : null}
    </div>
  );
}

const STEPS: Readonly<Record<string, readonly [north: number, east: number]>> = {
  ArrowUp: [0.25, 0],
  ArrowDown: [-0.25, 0],
  ArrowLeft: [0, -0.25],
  ArrowRight: [0, 0.25],
};

/** @param step shares of the view */
function shifted(view: View, [north, east]: readonly [number, number]): View {
  const { lat, lng } = centreOf(view);
  return viewAt({ lat: lat + north * view.height, lng: lng + east * widthOf(view) }, view.height);
}

interface DrawingProps {
  view: View;
  points: readonly Point[];
  nameOf(at: number): string;
  onMove(view: View): void;
  onOpen(cluster: Cluster): void;
}

/** Screen pixels by which a pointer moves before it drags. */
const DRAG_MIN = 4;

interface Drag {
  readonly x: number;
  readonly y: number;
  /** Where the map is meanwhile; null: still where it was. */
  readonly view: View | null;
}

/** The map follows the pointer. What is there is asked when it is released. */
function useDrag(
  view: View,
  onMove: (view: View) => void,
): { readonly dragged: View; readonly handlers: SVGAttributes<SVGSVGElement> } {
  const [drag, setDrag] = useState<Drag | null>(null);
  const handlers: SVGAttributes<SVGSVGElement> = {
    onPointerDown: ({ button, clientX, clientY }) => {
      if (button === 0) setDrag({ x: clientX, y: clientY, view: null });
    },
    onPointerMove: ({ currentTarget, pointerId, clientX, clientY }) => {
      if (drag === null) return;
      const [right, down] = [clientX - drag.x, clientY - drag.y];
      if (drag.view === null && Math.hypot(right, down) < DRAG_MIN) return;
      // Not before: a click belongs to the marker below the pointer.
      currentTarget.setPointerCapture(pointerId);
      const { width, height } = currentTarget.getBoundingClientRect();
      setDrag({ ...drag, view: shifted(view, [down / height, -right / width]) });
    },
    onPointerUp: () => {
      if (drag?.view) onMove(drag.view);
      setDrag(null);
    },
    onPointerCancel: () => setDrag(null),
  };
  return { dragged: drag?.view ?? view, handlers };
}

function Drawing({ view: asked, points, nameOf, onMove, onOpen }: DrawingProps): JSX.Element {
  const { dragged: view, handlers } = useDrag(asked, onMove);
  const scale = WIDTH / widthOf(view);
  const x = (lng: number): number => (lng - view.west) * scale;
  const y = (lat: number): number => (view.north - lat) * scale;
  return (
    <svg
      class="map"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={`Locations of ${counted(points.length, 'result')} by longitude and latitude`}
      {...handlers}
    >
      <path
        class="land"
        d={LAND}
        transform={`translate(${-view.west * scale} ${view.north * scale}) scale(${scale / 10})`}
      />
      {clustersOf(points, view).map((cluster) => (
        <Dot
          key={cluster.members[0]}
          x={x(cluster.lng)}
          y={y(cluster.lat)}
          cluster={cluster}
          name={nameOf(cluster.members[0]!)}
          onOpen={() => onOpen(cluster)}
        />
      ))}
    </svg>
  );
}

interface DotProps {
  x: number;
  y: number;
  cluster: Cluster;
  name: string;
  onOpen(): void;
}

/** A click lists the places; on several it moves closer. Keys have the buttons and the arrows. */
function Dot({ x, y, cluster, name, onOpen }: DotProps): JSX.Element {
  const { members } = cluster;
  if (members.length === 1) {
    return (
      <circle class="one" cx={x} cy={y} r="6" onClick={onOpen}>
        <title>{name}</title>
      </circle>
    );
  }
  return (
    <g class="several" onClick={onOpen}>
      <circle cx={x} cy={y} r={8 + Math.min(10, 2 * Math.log2(members.length))} />
      <text x={x} y={y}>
        {members.length}
      </text>
    </g>
  );
}

function Buttons({ view, onMove }: { view: View; onMove(view: View | null): void }): JSX.Element {
  const zoom = (by: number): void => onMove(viewAt(centreOf(view), view.height * by));
  return (
    <div class="buttons">
      <button type="button" aria-label="Move closer" title="Move closer" onClick={() => zoom(0.5)}>
        +
      </button>
      <button
        type="button"
        aria-label="Move away"
        title="Move away"
        disabled={view.height >= WORLD.height}
        onClick={() => zoom(2)}
      >
        −
      </button>
      <button type="button" onClick={() => onMove(null)}>
        All results
      </button>
    </div>
  );
}
