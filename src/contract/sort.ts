/** Syntax of sort elements: `attribute:asc`, `attribute:desc`, `_geoPoint(lat, lng):asc|desc`. */
import { ApiError, type ErrorCode } from './errors.ts';
import { isReservedSortField } from './formats.ts';

const GEO_POINT = /^_geoPoint\(([^,()]+),([^,()]+)\)$/;

/** The first fault, or null. The engine decides whether the attributes are sortable. */
export function sortFault(elements: readonly string[], code: ErrorCode): ApiError | null {
  for (const [i, element] of elements.entries()) {
    const reason = elementFault(element);
    if (reason !== null) {
      return new ApiError(code, `Invalid sort at \`[${i}]\`: \`${element}\`: ${reason}.`);
    }
  }
  return null;
}

function elementFault(element: string): string | null {
  const colon = element.lastIndexOf(':');
  const field = element.slice(0, colon);
  const direction = element.slice(colon + 1);
  if (colon <= 0 || (direction !== 'asc' && direction !== 'desc')) {
    return 'expected is `<attribute>:asc` or `<attribute>:desc`';
  }
  const point = GEO_POINT.exec(field.trim());
  if (point !== null) {
    const [lat, lng] = [Number(point[1]), Number(point[2])];
    if (!(Math.abs(lat) <= 90)) return `the latitude must lie between -90 and 90`;
    if (!(Math.abs(lng) <= 180)) return `the longitude must lie between -180 and 180`;
    return null;
  }
  return isReservedSortField(field)
    ? `\`${field}\` is reserved; use \`_geoPoint(latitude, longitude)\` to sort by distance`
    : null;
}
