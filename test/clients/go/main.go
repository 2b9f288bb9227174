package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/meilisearch/meilisearch-go"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// network asks the server and a second one as one.
func network(ctx context.Context, client meilisearch.ServiceManager, url, key, remoteURL string) {
	const uid = "network_go"
	other := meilisearch.New(remoteURL, meilisearch.WithAPIKey(key))
	for name, server := range map[string]meilisearch.ServiceManager{"one": client, "two": other} {
		_, err := server.ExperimentalFeatures().SetNetwork(true).Update(ctx)
		check(err)
		documents := []map[string]any{{"id": name, "title": "A book of " + name}}
		primaryKey := "id"
		info, err := server.Index(uid).AddDocuments(ctx, documents, &meilisearch.DocumentOptions{PrimaryKey: &primaryKey})
		check(err)
		_, err = server.WaitForTask(ctx, info.TaskUID, 20*time.Millisecond)
		check(err)
	}
	remote := func(url string) meilisearch.Opt[meilisearch.UpdateRemote] {
		return meilisearch.NewOpt(meilisearch.UpdateRemote{
			URL: meilisearch.String(url), SearchAPIKey: meilisearch.String(key),
		})
	}
	_, err := client.UpdateNetwork(ctx, &meilisearch.UpdateNetworkRequest{
		Self: meilisearch.String("one"),
		Remotes: meilisearch.NewOpt(map[string]meilisearch.Opt[meilisearch.UpdateRemote]{
			"one": remote(url), "two": remote(remoteURL),
		}),
	})
	check(err)
	known, err := client.GetNetwork(ctx)
	check(err)
	var names, found []string
	request := &meilisearch.MultiSearchRequest{Federation: &meilisearch.MultiSearchFederation{}}
	for name := range known.Remotes {
		names = append(names, name)
		request.Queries = append(request.Queries, &meilisearch.SearchRequest{
			IndexUID: uid, Query: "book", FederationOptions: &meilisearch.SearchFederationOptions{Remote: name},
		})
	}
	answer, err := client.MultiSearch(ctx, request)
	check(err)
	for _, one := range answer.Hits {
		var from struct{ Remote string }
		check(json.Unmarshal(one["_federation"], &from))
		found = append(found, from.Remote)
	}
	sort.Strings(names)
	sort.Strings(found)
	fmt.Printf("%s of %s: %s\n", known.Self, strings.Join(names, ","), strings.Join(found, ","))
}

func main() {
	ctx := context.Background()
	client := meilisearch.New(os.Args[1], meilisearch.WithAPIKey(os.Args[2]))
	if len(os.Args) > 3 {
		network(ctx, client, os.Args[1], os.Args[2], os.Args[3])
		return
	}
	wait := func(info *meilisearch.TaskInfo, err error) {
		check(err)
		task, err := client.WaitForTask(ctx, info.TaskUID, 20*time.Millisecond)
		check(err)
		if task.Status != meilisearch.TaskStatusSucceeded {
			check(fmt.Errorf("task %d: %s", task.UID, task.Status))
		}
	}
	wait(client.CreateIndex(ctx, &meilisearch.IndexConfig{Uid: "smoke_go", PrimaryKey: "id"}))
	index := client.Index("smoke_go")
	wait(index.UpdateSettings(ctx, &meilisearch.Settings{FilterableAttributes: []string{"year"}}))
	wait(index.AddDocuments(ctx, []map[string]any{
		{"id": 1, "title": "Crime and Punishment", "year": 1866},
		{"id": 2, "title": "Dune", "year": 1965},
	}, nil))
	answer, err := index.Search(ctx, "crime punishmnt", &meilisearch.SearchRequest{Filter: "year < 1900"})
	check(err)
	raw, err := json.Marshal(answer.Hits[0])
	check(err)
	var hit struct{ Title string }
	check(json.Unmarshal(raw, &hit))
	fmt.Printf("%d hits: %s\n", len(answer.Hits), hit.Title)
}
