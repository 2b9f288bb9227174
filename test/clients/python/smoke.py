import sys

import meilisearch

url, key = sys.argv[1:]
client = meilisearch.Client(url, key)
client.wait_for_task(client.create_index("smoke_python", {"primaryKey": "id"}).task_uid)
index = client.index("smoke_python")
client.wait_for_task(index.update_filterable_attributes(["year"]).task_uid)
documents = [
    {"id": 1, "title": "Crime and Punishment", "year": 1866},
    {"id": 2, "title": "Dune", "year": 1965},
]
task = client.wait_for_task(index.add_documents(documents).task_uid)
assert task.status == "succeeded", task.error
hits = index.search("crime punishmnt", {"filter": "year < 1900"})["hits"]
print(f"{len(hits)} hits: {hits[0]['title']}")
