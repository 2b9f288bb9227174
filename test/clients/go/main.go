package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/meilisearch/meilisearch-go"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	ctx := context.Background()
	client := meilisearch.New(os.Args[1], meilisearch.WithAPIKey(os.Args[2]))
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
