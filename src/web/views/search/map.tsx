import type { JSX } from 'preact';
import { counted } from '../../format.ts';
import type { Hit } from '../../search-request.ts';

const WIDTH = 360;
const HEIGHT = 180;

/** A map of the hits by longitude and latitude. */
export function PointMap({ hits }: { hits: readonly Hit[] }): JSX.Element | null {
  const points = hits.flatMap(({ _geo }) => {
    const { lat, lng } = (_geo ?? {}) as { lat?: unknown; lng?: unknown };
    const point = { lat: Number(lat), lng: Number(lng) };
    return lat === undefined || Number.isNaN(point.lat + point.lng) ? [] : [point];
  });
  if (points.length === 0) return null;
  return (
    <svg
      class="map"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={`Locations of ${counted(points.length, 'result')} by longitude and latitude`}
    >
      {[-120, -60, 0, 60, 120].map((lng) => (
        <path key={`lng${lng}`} class="grid" d={`M${lng + 180} 0V${HEIGHT}`} />
      ))}
      {[-60, -30, 0, 30, 60].map((lat) => (
        <path key={`lat${lat}`} class="grid" d={`M0 ${90 - lat}H${WIDTH}`} />
      ))}
      {points.map(({ lat, lng }, position) => (
        <circle key={position} cx={lng + 180} cy={90 - lat} r="2.5" />
      ))}
    </svg>
  );
}
