interface PagesProps {
  page: number;
  pages: number;
  onPage(page: number): void;
}

/** Links to the first page, the last page and the pages around the current one. */
export function Pages({ page, pages, onPage }: PagesProps): JSX.Element | null {
  if (pages <= 1) return null;
  const near = [1, page - 2, page - 1, page, page + 1, page + 2, pages];
  const shown = [...new Set(near.filter((one) => one >= 1 && one <= pages))].sort((a, b) => a - b);
  return (
    <nav class="buttons" aria-label="Pages of results">
      <button type="button" disabled={page <= 1} onClick={() => onPage(page - 1)}>
        Previous
      </button>
      {shown.map((one, position) => (
        <span key={one}>
          {position > 0 && shown[position - 1] !== one - 1 ? '… ' : null}
          <button
            type="button"
            aria-current={one === page ? 'page' : undefined}
            aria-label={`Page ${one}`}
            onClick={() => onPage(one)}
          >
            {one}
          </button>
        </span>
      ))}
      <button type="button" disabled={page >= pages} onClick={() => onPage(page + 1)}>
        Next
      </button>
    </nav>
  );
}
