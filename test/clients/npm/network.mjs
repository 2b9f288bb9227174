import { Meilisearch } from 'meilisearch';

const [url, key, remoteUrl] = process.argv.slice(2);
const client = new Meilisearch({ host: url, apiKey: key });
const other = new Meilisearch({ host: remoteUrl, apiKey: key });
const uid = 'network_npm';
for (const [name, server] of Object.entries({ one: client, two: other })) {
  await server.updateExperimentalFeatures({ network: true });
  const documents = [{ id: name, title: `A book of ${name}` }];
  await server.index(uid).addDocuments(documents, { primaryKey: 'id' }).waitTask();
}
await client.updateNetwork({
  self: 'one',
  remotes: { one: { url }, two: { url: remoteUrl, searchApiKey: key } },
});
const { self, remotes } = await client.getNetwork();
const { hits } = await client.multiSearch({
  federation: {},
  queries: Object.keys(remotes).map((remote) => ({
    ...{ indexUid: uid, q: 'book' },
    federationOptions: { remote },
  })),
});
const found = hits.map((hit) => hit._federation.remote).sort();
console.log(`${self} of ${Object.keys(remotes).sort()}: ${found}`);
