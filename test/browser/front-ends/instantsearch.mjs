/**
 * A shop window of books, as the documentation of InstantSearch builds it. `window.setUp` holds the
 * server and its key; `window.search.status` says whether a search is under way.
 */
import instantsearch from 'instantsearch.js';
import {
  clearRefinements,
  configure,
  currentRefinements,
  hits,
  pagination,
  rangeInput,
  refinementList,
  searchBox,
  sortBy,
  stats,
} from 'instantsearch.js/es/widgets';
import { instantMeiliSearch } from '@meilisearch/instant-meilisearch';

const { url, key } = window.setUp;
const { searchClient } = instantMeiliSearch(url, key, { finitePagination: true });
const search = instantsearch({ indexName: 'books', searchClient });

for (const name of [
  'box',
  'stats',
  'genres',
  'years',
  'sort',
  'clear',
  'current',
  'hits',
  'pages',
]) {
  const element = document.createElement('div');
  element.id = name;
  document.body.append(element);
}

search.addWidgets([
  configure({ hitsPerPage: 10 }),
  searchBox({ container: '#box' }),
  stats({ container: '#stats' }),
  refinementList({ container: '#genres', attribute: 'genres', operator: 'or', limit: 50 }),
  rangeInput({ container: '#years', attribute: 'year' }),
  sortBy({
    container: '#sort',
    items: [
      { label: 'Best', value: 'books' },
      { label: 'Oldest', value: 'books:year:asc' },
    ],
  }),
  clearRefinements({ container: '#clear' }),
  currentRefinements({ container: '#current' }),
  hits({
    container: '#hits',
    templates: {
      item: (hit, { html, components }) =>
        html`<h2>${components.Highlight({ hit, attribute: 'title' })}</h2>
          <p>${components.Highlight({ hit, attribute: 'author' })}, ${hit.year}</p>`,
    },
  }),
  pagination({ container: '#pages' }),
]);
search.start();
window.search = search;
