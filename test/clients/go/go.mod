module gannet/smoke

go 1.21

require github.com/meilisearch/meilisearch-go v0.37.0
