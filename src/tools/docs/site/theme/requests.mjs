// Sends the requests of the reference to a server of yours.
import { useData } from 'vitepress';
import { h, onMounted, reactive } from 'vue';

/** Shared by the forms of all pages, and remembered by the tab. */
const server = reactive({ url: 'http://127.0.0.1:7700', key: '' });
const REMEMBERED = 'gannet-api';

const field = (name, label, target, type = 'text') => [
  h('label', { class: 'field' }, [
    h('span', label),
    h('input', {
      type,
      value: target[name],
      autocomplete: 'off',
      onInput: (event) => (target[name] = event.target.value),
    }),
  ]),
];

export const ApiServer = {
  setup() {
    onMounted(() => Object.assign(server, JSON.parse(sessionStorage.getItem(REMEMBERED) ?? '{}')));
    return () =>
      h('form', { class: 'api', onSubmit: (event) => event.preventDefault() }, [
        h('p', 'The forms of this page send requests to this server, from your browser:'),
        field('url', 'Address', server),
        field('key', 'Key', server, 'password'),
      ]);
  },
};

async function send({ method, path }, { values, query, body }) {
  sessionStorage.setItem(REMEMBERED, JSON.stringify(server));
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name]));
  const response = await fetch(`${server.url}${filled}${query === '' ? '' : `?${query}`}`, {
    method,
    headers: {
      ...(server.key === '' ? {} : { authorization: `Bearer ${server.key}` }),
      ...(body === '' ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === '' ? {} : { body }),
  });
  const text = await response.text();
  try {
    return `${response.status}\n${JSON.stringify(JSON.parse(text), null, 2)}`;
  } catch {
    return `${response.status}\n${text}`;
  }
}

export const ApiRequest = {
  props: { id: { type: String, required: true } },
  setup({ id }) {
    const operation = useData().frontmatter.value.operations[id];
    const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    const state = reactive({
      values: Object.fromEntries(names.map((name) => [name, name === 'index_uid' ? 'books' : ''])),
      query: '',
      body: operation.body === undefined ? '' : JSON.stringify(operation.body, null, 2),
      response: '',
    });
    const submit = async (event) => {
      event.preventDefault();
      state.response = '…';
      state.response = await send(operation, state).catch((error) => String(error));
    };
    return () =>
      h('details', { class: 'api' }, [
        h('summary', `Send ${operation.method} ${operation.path}`),
        h('form', { onSubmit: submit }, [
          names.map((name) => field(name, name, state.values)),
          field('query', 'Query', state),
          operation.body !== undefined &&
            h('label', { class: 'field' }, [
              h('span', 'Body'),
              h('textarea', {
                rows: state.body.split('\n').length,
                value: state.body,
                onInput: (event) => (state.body = event.target.value),
              }),
            ]),
          h('button', { type: 'submit' }, 'Send'),
        ]),
        h(
          'pre',
          { tabindex: 0, 'aria-live': 'polite', hidden: state.response === '' },
          state.response,
        ),
      ]);
  },
};
