/** A search as a program would send it. Pure functions. */

export const LANGUAGES = ['curl', 'JavaScript', 'Python', 'PHP'] as const;
export type Language = (typeof LANGUAGES)[number];

/**
 * @param url of the server, without a slash at the end
 * @param body of the request
 * @param key null: the program reads it from the environment
 */
export function codeSample(
  language: Language,
  url: string,
  indexUid: string,
  body: Readonly<Record<string, unknown>>,
  key: string | null = null,
): string {
  const address = `${url}/indexes/${encodeURIComponent(indexUid)}/search`;
  const json = JSON.stringify(body, null, 2);
  switch (language) {
    case 'curl':
      return [
        `curl -X POST ${shellQuoted(address)} \\`,
        `  -H ${key === null ? '"Authorization: Bearer $GANNET_KEY"' : shellQuoted(`Authorization: Bearer ${key}`)} \\`,
        `  -H 'Content-Type: application/json' \\`,
        `  --data ${shellQuoted(json)}`,
      ].join('\n');
    case 'JavaScript':
      return [
        `const response = await fetch(${JSON.stringify(address)}, {`,
        `  method: 'POST',`,
        `  headers: {`,
        `    authorization: ${key === null ? '`Bearer ${process.env.GANNET_KEY}`' : JSON.stringify(`Bearer ${key}`)},`,
        `    'content-type': 'application/json',`,
        `  },`,
        `  body: JSON.stringify(${json.replaceAll('\n', '\n  ')}),`,
        `});`,
        `const { hits } = await response.json();`,
      ].join('\n');
    case 'Python':
      return [
        key === null ? 'import os, requests' : 'import requests',
        '',
        'response = requests.post(',
        `    ${JSON.stringify(address)},`,
        `    headers={"Authorization": ${key === null ? 'f"Bearer {os.environ[\'GANNET_KEY\']}"' : JSON.stringify(`Bearer ${key}`)}},`,
        `    json=${pythonValue(body, '    ')},`,
        ')',
        'hits = response.json()["hits"]',
      ].join('\n');
    case 'PHP':
      return [
        `$curl = curl_init(${phpQuoted(address)});`,
        'curl_setopt_array($curl, [',
        '    CURLOPT_POST => true,',
        '    CURLOPT_RETURNTRANSFER => true,',
        '    CURLOPT_HTTPHEADER => [',
        `        'Authorization: Bearer ' . ${key === null ? "getenv('GANNET_KEY')" : phpQuoted(key)},`,
        "        'Content-Type: application/json',",
        '    ],',
        `    CURLOPT_POSTFIELDS => ${phpQuoted(json)},`,
        ']);',
        "$hits = json_decode(curl_exec($curl), true)['hits'];",
      ].join('\n');
  }
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function phpQuoted(text: string): string {
  return `'${text.replace(/['\\]/g, '\\$&')}'`;
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
