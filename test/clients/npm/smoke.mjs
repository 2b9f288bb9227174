import { Meilisearch } from 'meilisearch';

const [url, key] = process.argv.slice(2);
const client = new Meilisearch({ host: url, apiKey: key });
const index = client.index('smoke_npm');
await client.createIndex('smoke_npm', { primaryKey: 'id' }).waitTask();
await index.updateSettings({ filterableAttributes: ['year'] }).waitTask();
const documents = [
  { id: 1, title: 'Crime and Punishment', year: 1866 },
  { id: 2, title: 'Dune', year: 1965 },
];
const task = await index.addDocuments(documents).waitTask();
if (task.status !== 'succeeded') throw new Error(JSON.stringify(task.error));
const { hits } = await index.search('crime punishmnt', { filter: 'year < 1900' });
console.log(`${hits.length} hits: ${hits[0].title}`);
