// Searches the site while you type, on the server that `search.json` names.
import { useRouter, withBase } from 'vitepress';
import { h, onBeforeUnmount, onMounted, ref } from 'vue';
// oxlint-disable-next-line import/no-unassigned-import -- a style sheet
import '@algolia/autocomplete-theme-classic';

const HITS = 8;

async function mount(container, { url, key, index }, router) {
  const [{ autocomplete }, client] = await Promise.all([
    import('@algolia/autocomplete-js'),
    import('@meilisearch/autocomplete-client'),
  ]);
  const searchClient = client.meilisearchAutocompleteClient({ url, apiKey: key });
  const params = { hitsPerPage: HITS, attributesToSnippet: ['text:20'] };
  return autocomplete({
    container,
    placeholder: 'Search',
    // A hit is not a link within an option, which screen readers cannot reach.
    navigator: { navigate: () => {} },
    getSources: ({ query }) => [
      {
        sourceId: index,
        getItems: () =>
          query === ''
            ? []
            : client.getMeilisearchResults({
                searchClient,
                queries: [{ indexName: index, query, params }],
              }),
        getItemUrl: ({ item }) => withBase(item.url),
        onSelect: ({ itemUrl }) => router.go(itemUrl),
        templates: {
          item: ({ item, components, html }) =>
            html`<div class="hit">
              <strong>${components.Highlight({ hit: item, attribute: 'heading' })}</strong>
              <small>${item.group}, ${item.page}</small>
              <span>${components.Snippet({ hit: item, attribute: 'text' })}</span>
            </div>`,
          noResults: () => 'Nothing.',
        },
      },
    ],
  });
}

export const SearchBox = {
  setup() {
    const router = useRouter();
    const container = ref(null);
    const hasServer = ref(true);
    let box = null;
    onMounted(async () => {
      const target = await (await fetch(withBase('/search.json'))).json().catch(() => ({}));
      hasServer.value = target.url !== undefined;
      if (hasServer.value) box = await mount(container.value, target, router);
    });
    onBeforeUnmount(() => box?.destroy());
    return () =>
      hasServer.value
        ? h('div', { class: 'search-box', ref: container })
        : h('details', { class: 'search-box' }, [
            h('summary', 'Search'),
            h('p', ['It runs on Gannet: ', h('code', 'npm run docs:demo'), ' starts a server.']),
          ]);
  },
};
