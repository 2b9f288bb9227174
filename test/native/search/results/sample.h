// A snapshot of an index without files: documents given as JSON, with everything that a result
// needs.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_value.h"
#include "index/snapshot.h"
#include "segment/rows.h"

namespace gannet::search {

class Sample {
 public:
  // documents  a JSON array; settings: a JSON object
  explicit Sample(std::string documents, std::string_view settings = "{}")
      : text_(std::move(documents)) {
    const json::Value parsed = json::Value::Parse(text_);
    auto fields = std::make_shared<index::FieldMap>();
    for (const json::Value& document : parsed.items()) Discover(*fields, document, "");
    for (const json::Value& document : parsed.items()) {
      auto& row = rows_.emplace_back();
      for (const auto& [name, value] : document.members())
        row.push_back({*fields->Find(name), value.text()});
      std::sort(row.begin(), row.end(),
                [](const auto& a, const auto& b) { return a.field < b.field; });
    }
    auto read =
        std::make_shared<index::Settings>(index::Settings::FromJson(json::Value::Parse(settings)));
    snapshot_.fields = fields;
    snapshot_.analyzer = std::make_shared<text::Analyzer>(text::AnalyzerSettings{
        read->stop_words, read->separator_tokens, read->non_separator_tokens, read->dictionary});
    snapshot_.settings = read;
  }

  const index::Snapshot& snapshot() const { return snapshot_; }
  const index::FieldMap& fields() const { return *snapshot_.fields; }
  size_t size() const { return rows_.size(); }
  const std::vector<segment::RowField>& row(size_t number) const { return rows_[number]; }

 private:
  static void Discover(index::FieldMap& fields, const json::Value& value, const std::string& path) {
    for (const json::Value& item : value.items()) Discover(fields, item, path);
    for (const auto& [name, member] : value.members()) {
      const std::string below = path.empty() ? name : path + "." + name;
      if (!fields.Add(below).ok()) continue;
      Discover(fields, member, below);
    }
  }

  std::string text_;  // the rows are slices of it
  std::vector<std::vector<segment::RowField>> rows_;
  index::Snapshot snapshot_;
};

}  // namespace gannet::search
