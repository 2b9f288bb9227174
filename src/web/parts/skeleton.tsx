/** Keeps the place of rows that are still loading. */
export function Skeleton({ rows = 5 }: { rows?: number }): JSX.Element {
  return (
    <div class="skeleton" aria-hidden="true">
      {Array.from({ length: rows }, (_, row) => (
        <span key={row} />
      ))}
    </div>
  );
}
