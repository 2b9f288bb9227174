/** Suggestions of books below a field. `window.setUp` holds the server and its key. */
import { autocomplete } from '@algolia/autocomplete-js';
import {
  getMeilisearchResults,
  meilisearchAutocompleteClient,
} from '@meilisearch/autocomplete-client';

const { url, key } = window.setUp;
const searchClient = meilisearchAutocompleteClient({ url, apiKey: key });

const element = document.createElement('div');
document.body.append(element);

autocomplete({
  container: element,
  placeholder: 'Books',
  // Without its style sheet it would treat every screen as small.
  detachedMediaQuery: 'none',
  getSources: ({ query }) => [
    {
      sourceId: 'books',
      getItems: () =>
        getMeilisearchResults({
          searchClient,
          queries: [{ indexName: 'books', query, params: { hitsPerPage: 5 } }],
        }),
      getItemUrl: ({ item }) => `#${item.id}`,
      templates: {
        item: ({ item, components, html }) =>
          html`<div>${components.Highlight({ hit: item, attribute: 'title' })}</div>`,
        noResults: () => 'No book.',
      },
    },
  ],
});
