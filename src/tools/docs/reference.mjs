// The pages that a running server writes: its routes, from /openapi.json, and its metrics.

/** The first that matches a path has it. */
const PARTS = [
  ['search', 'Search', /(?<!logs.*)\/(?:search|facet-search|similar|suggest|multi-search)$/],
  ['documents', 'Documents', /^\/indexes\/.*\/documents/],
  ['settings', 'Settings', /^\/indexes\/.*\/(?:settings|embedders|fields)|^\/render-template/],
  ['indexes', 'Indexes and aliases', /^\/(?:indexes|swap-indexes|aliases)/],
  ['tasks', 'Tasks and batches', /^\/(?:tasks|batches)/],
  ['keys', 'Keys', /^\/(?:keys|access)/],
  ['webhooks', 'Webhooks', /^\/webhooks/],
  ['rules', 'Search rules', /^\/dynamic-search-rules/],
  ['chats', 'Chats and assistants', /^\/(?:chats|mcp)/],
  ['analytics', 'Analytics', /^\/(?:analytics|events)/],
  ['network', 'Networks and clusters', /^\/(?:network|cluster|export)/],
  ['server', 'The server', /^/],
];

/** Bodies that do something useful, where required members do not say enough. */
const BODIES = {
  'POST /indexes': { uid: 'books', primaryKey: 'id' },
  'POST /indexes/{index_uid}/documents': [{ id: 1, title: 'Dune' }],
  'PUT /indexes/{index_uid}/documents': [{ id: 1, year: 1965 }],
  'POST /indexes/{index_uid}/documents/fetch': { limit: 3 },
  'POST /indexes/{index_uid}/documents/delete-batch': [1],
  'POST /indexes/{index_uid}/documents/delete': { filter: 'year < 1900' },
  'POST /indexes/{index_uid}/search': { q: 'dostoyevski', limit: 3 },
  'POST /multi-search': { queries: [{ indexUid: 'books', q: 'dune' }] },
  'POST /indexes/{index_uid}/facet-search': { facetName: 'genres', facetQuery: 'sci' },
  'POST /indexes/{index_uid}/suggest': { q: 'du' },
  'PATCH /indexes/{index_uid}/settings': { filterableAttributes: ['genres', 'year'] },
  'POST /keys': { actions: ['search'], indexes: ['books'], expiresAt: null },
};

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const ENUM_MAX = 12;
/** A body that no client sends whole is described no deeper. */
const DEPTH_MAX = 3;

const text = (value) =>
  value.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('{{', '&#123;&#123;');

const code = (value) => `\`${value.replaceAll('|', '\\|')}\``;

const json = (value) => code(JSON.stringify(value));

function typeOf({ type, enum: values, items, anyOf, oneOf, const: only, minimum, maximum }) {
  if (only !== undefined) return json(only);
  if (values !== undefined && values.length <= ENUM_MAX) return values.map(json).join(', ');
  const branches = anyOf ?? oneOf;
  if (branches !== undefined) return [...new Set(branches.map(typeOf))].join(' or ');
  const types = [type ?? 'any'].flat().map((name) => {
    return name === 'array' && items?.type !== undefined ? `list of ${typeOf(items)}` : name;
  });
  const bounds = [
    ...(minimum === undefined ? [] : [`from ${minimum}`]),
    ...(maximum === undefined || maximum > Number.MAX_SAFE_INTEGER ? [] : [`to ${maximum}`]),
  ];
  return [types.join(' or '), ...bounds].join(' ');
}

function row(name, schema, required) {
  const { default: preset, description = '' } = schema;
  const given = preset === undefined || preset === null ? '' : json(preset);
  const kind = typeOf(schema) + (required ? ', required' : '');
  return `| ${code(name)} | ${kind} | ${given} | ${text(description)} |`;
}

function* members(schema, prefix = '', depth = 1) {
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    yield row(prefix + name, member, schema.required?.includes(name));
    const inner = member.properties === undefined ? member.items : member;
    if (depth < DEPTH_MAX && inner?.properties !== undefined) {
      yield* members(inner, `${prefix}${name}${inner === member ? '.' : '[].'}`, depth + 1);
    }
  }
}

function table(title, rows) {
  if (rows.length === 0) return [];
  return [title, '', '| Name | Type | Default | |', '|---|---|---|---|', ...rows, ''];
}

/** A small value that the schema accepts. */
function sample(schema) {
  const { const: only, enum: values, anyOf, oneOf, properties, required = [] } = schema;
  if (schema.default !== undefined) return schema.default;
  if (only !== undefined) return only;
  if (values !== undefined) return values[0];
  if (anyOf !== undefined || oneOf !== undefined) return sample((anyOf ?? oneOf)[0]);
  const type = [schema.type ?? 'null'].flat()[0];
  if (type === 'object') {
    return Object.fromEntries(required.map((name) => [name, sample(properties[name])]));
  }
  return { array: [], string: 'text', integer: 1, number: 1, boolean: true }[type] ?? null;
}

function bodyOf(name, { requestBody }) {
  const schema = requestBody?.content['application/json']?.schema;
  if (schema === undefined) return {};
  return { schema, body: BODIES[name] ?? sample(schema) };
}

function curl(method, path, body) {
  const address = `http://127.0.0.1:7700${path.replaceAll(/\{(\w+)\}/g, (_, name) => name.toUpperCase())}`;
  const command = [`curl -X ${method} '${address}'`, `-H "Authorization: Bearer $GANNET_KEY"`];
  if (body !== undefined) {
    command.push(`-H 'Content-Type: application/json'`, `-d '${JSON.stringify(body)}'`);
  }
  return command.join(' \\\n  ');
}

function operationLines(method, path, operation) {
  const name = `${method} ${path}`;
  const { summary, parameters = [], responses, 'x-action': action } = operation;
  const { schema, body } = bodyOf(name, operation);
  const [status, success] = Object.entries(responses)[0];
  const result = success.content?.['application/json']?.schema;
  return [
    ...[`### ${method} ${path}`, ''],
    `${text(summary)} ${action === undefined ? 'Needs no key.' : `Needs the action ${code(action)}.`}`,
    ...['', '```sh', curl(method, path, body), '```', ''],
    ...[`<ApiRequest id="${operation.operationId}" />`, ''],
    ...table(
      'Parameters:',
      parameters.map((one) =>
        row(one.name, one.schema ?? Object.values(one.content)[0].schema, one.required),
      ),
    ),
    ...table('Body:', schema === undefined ? [] : [...members(schema)]),
    ...table(`Response, status ${status}:`, [...members(result ?? {}, '', DEPTH_MAX)]),
  ];
}

/** Pages of the interface by address: title, text and what its forms send. */
export function apiPages({ paths }) {
  const pages = PARTS.map(([name, title]) => ({ address: `/api/${name}`, title, paths: [] }));
  for (const path of Object.keys(paths)) {
    pages[PARTS.findIndex(([, , pattern]) => pattern.test(path))].paths.push(path);
  }
  return pages.map(({ address, title, paths: own }) => {
    const operations = own.flatMap((path) =>
      METHODS.filter((method) => paths[path][method] !== undefined).map((method) => ({
        method: method.toUpperCase(),
        path,
        operation: paths[path][method],
      })),
    );
    const forms = operations.map(({ method, path, operation }) => [
      operation.operationId,
      { method, path, ...bodyOf(`${method} ${path}`, operation), schema: undefined },
    ]);
    const lines = operations.map(({ method, path, operation }) =>
      operationLines(method, path, operation),
    );
    const head = ['---', JSON.stringify({ operations: Object.fromEntries(forms) }), '---', ''];
    const intro = [`# API: ${title}`, '', '<ApiServer />', ''];
    return { address, title, text: [...head, ...intro, ...lines.flat()].join('\n') };
  });
}

/** @param exposition the response of /metrics */
export function metricsPage(exposition) {
  const kinds = new Map(
    [...exposition.matchAll(/^# TYPE (\S+) (\w+)$/gm)].map(([, name, kind]) => [name, kind]),
  );
  const rows = [...exposition.matchAll(/^# HELP (\S+) (.*)$/gm)].map(
    ([, name, help]) => `| ${code(name)} | ${kinds.get(name)} | ${text(help)} |`,
  );
  const intro = 'A server without a cluster shows these at `GET /metrics`.';
  const about = `${intro} [Operations](/operations#metrics) says how to collect them.`;
  const head = ['# Metrics', '', about, '', '| Metric | Type | |', '|---|---|---|'];
  return { address: '/metrics', title: 'Metrics', text: [...head, ...rows, ''].join('\n') };
}
