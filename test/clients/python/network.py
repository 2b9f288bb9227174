import sys

import meilisearch

url, key, remote_url = sys.argv[1:]
client = meilisearch.Client(url, key)
other = meilisearch.Client(remote_url, key)
uid = "network_python"
for name, server in {"one": client, "two": other}.items():
    server.update_experimental_features({"network": True})
    added = server.index(uid).add_documents([{"id": name, "title": f"A book of {name}"}], "id")
    task = server.wait_for_task(added.task_uid)
    assert task.status == "succeeded", task.error
remotes = {"one": {"url": url}, "two": {"url": remote_url, "searchApiKey": key}}
client.add_or_update_networks({"self": "one", "remotes": remotes})
network = client.get_all_networks()
queries = [
    {"indexUid": uid, "q": "book", "federationOptions": {"remote": name}}
    for name in network["remotes"]
]
hits = client.multi_search(queries, {})["hits"]
found = sorted(hit["_federation"]["remote"] for hit in hits)
print(f"{network['self']} of {','.join(sorted(network['remotes']))}: {','.join(found)}")
