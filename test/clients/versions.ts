/** The published programs that tests run against a server, with the versions that are declared. */
import { readFileSync } from 'node:fs';

const CLIENTS = 'test/clients/clients.test.ts';
const FRONT_ENDS = 'test/browser/front-ends.test.ts';

export interface Tested {
  kind: 'client' | 'front end' | 'assistant';
  /** As its registry has it. */
  name: string;
  registry: string;
  version: string;
  /** The test that runs it. */
  test: string;
}

/** Throws if a declaration has another form. */
function declared(file: string, pattern: RegExp): string {
  const found = pattern.exec(readFileSync(file, 'utf8'))?.[1];
  if (found === undefined) throw new Error(`${file} declares no version as ${pattern} reads it`);
  return found;
}

function ofNpm(kind: Tested['kind'], name: string, test: string): Tested {
  const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    devDependencies: Record<string, string>;
  };
  const version = devDependencies[name];
  if (version === undefined) throw new Error(`package.json has no ${name}`);
  return { kind, name, registry: 'npm', version, test };
}

/** In the order of the page `docs/works-with.md`. */
export function testedVersions(): Tested[] {
  const client = (name: string, registry: string, file: string, pattern: RegExp): Tested => ({
    ...{ kind: 'client', name, registry, test: CLIENTS },
    version: declared(`test/clients/${file}`, pattern),
  });
  return [
    ofNpm('client', 'meilisearch', CLIENTS),
    client('meilisearch', 'PyPI', 'python/requirements.txt', /^meilisearch==(\S+)$/m),
    client('meilisearch-go', 'Go', 'go/go.mod', /meilisearch-go v(\S+)/),
    client('meilisearch-sdk', 'crates.io', 'rust/Cargo.toml', /meilisearch-sdk = .*"=([\d.]+)"/),
    client(
      ...(['meilisearch-java', 'Maven', 'java/pom.xml'] as const),
      /<artifactId>meilisearch-java<\/artifactId>\s*<version>([^<]+)</,
    ),
    ofNpm('front end', 'instantsearch.js', FRONT_ENDS),
    ofNpm('front end', '@meilisearch/instant-meilisearch', FRONT_ENDS),
    ofNpm('front end', '@algolia/autocomplete-js', FRONT_ENDS),
    ofNpm('front end', '@meilisearch/autocomplete-client', FRONT_ENDS),
    ofNpm('assistant', 'openai', 'test/http/chat.test.ts'),
  ];
}
