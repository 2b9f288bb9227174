/** A search as a program would send it. Pure functions. */

export const LANGUAGES = ['curl', 'JavaScript', 'Python'] as const;
export type Language = (typeof LANGUAGES)[number];

/**
 * @param url of the server, without a slash at the end
 * @param body of the request
 */
export function codeSample(
  language: Language,
  url: string,
  indexUid: string,
  body: Readonly<Record<string, unknown>>,
): string {
  const address = `${url}/indexes/${encodeURIComponent(indexUid)}/search`;
  const json = JSON.stringify(body, null, 2);
  switch (language) {
    case 'curl':
      return [
        `curl -X POST ${shellQuoted(address)} \\`,
        `  -H "Authorization: Bearer $GANNET_KEY" \\`,
        `  -H 'Content-Type: application/json' \\`,
        `  --data ${shellQuoted(json)}`,
      ].join('\n');
    case 'JavaScript':
      return [
        `const response = await fetch(${JSON.stringify(address)}, {`,
        `  method: 'POST',`,
        `  headers: {`,
        `    authorization: \`Bearer \${process.env.GANNET_KEY}\`,`,
        `    'content-type': 'application/json',`,
        `  },`,
        `  body: JSON.stringify(${json.replaceAll('\n', '\n  ')}),`,
        `});`,
        `const { hits } = await response.json();`,
      ].join('\n');
    case 'Python':
      return [
        'import os, requests',
        '',
        'response = requests.post(',
        `    ${JSON.stringify(address)},`,
        '    headers={"Authorization": f"Bearer {os.environ[\'GANNET_KEY\']}"},',
        `    json=${pythonValue(body, '    ')},`,
        ')',
        'hits = response.json()["hits"]',
      ].join('\n');
  }
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A JSON value as a Python expression. */
function pythonValue(value: unknown, indent: string): string {
  if (value === null) return 'None';
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const inner = `${indent}    `;
  const members = Array.isArray(value)
    ? value.map((member) => pythonValue(member, inner))
    : Object.entries(value).map(
        ([name, member]) => `${JSON.stringify(name)}: ${pythonValue(member, inner)}`,
      );
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  if (members.length === 0) return `${open}${close}`;
  return `${open}\n${members.map((one) => `${inner}${one},`).join('\n')}\n${indent}${close}`;
}
