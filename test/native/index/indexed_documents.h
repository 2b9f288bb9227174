// An index on disk made from given documents, segment by segment, and the same documents in memory
// for reference models.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "base/json_reader.h"
#include "base/json_value.h"
#include "filter/geo.h"
#include "index/index.h"
#include "indexing/extract.h"
#include "segment/builder.h"
#include "text/normalize.h"

namespace gannet {

class IndexedDocuments {
 public:
  explicit IndexedDocuments(const std::string& settings_json) {
    static int number = 0;
    dir_ = std::filesystem::temp_directory_path() /
           ("gannet-documents-" + std::to_string(getpid()) + "-" + std::to_string(number++));
    auto opened = index::Index::Open(dir_);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    index_ = *opened;
    index::Commit commit;
    commit.settings =
        std::make_shared<const index::StoredSettings>(index::StoredSettings{settings_json, {}});
    Apply(std::move(commit));
  }
  ~IndexedDocuments() {
    index_.reset();
    std::filesystem::remove_all(dir_);
  }

  using Embeddings = std::vector<std::vector<float>>;

  // Writes one segment with these documents, which replace those with the same docids. By ascending
  // docid. embeddings: of some of them, for the first embedder of the settings.
  void Put(const std::map<DocId, std::string>& batch,
           const std::map<DocId, Embeddings>& embeddings = {}) {
    const auto before = index_->snapshot();
    auto fields = std::make_shared<index::FieldMap>(*before->fields);
    indexing::FieldDiscovery discovery(*fields);
    for (const auto& [docid, document] : batch) EXPECT_TRUE(discovery.Add(document).ok());
    const auto traits = index::PlanFields(*fields, *before->settings);
    indexing::Extractor extractor(*fields, traits, *before->analyzer);
    segment::RowCodec codec(before->dictionary);
    const uint64_t number = index_->NextNumber();
    std::vector<segment::EmbedderShape> shapes;
    for (const index::EmbedderSettings& embedder : before->settings->embedders) {
      shapes.push_back({embedder.name, embedder.dimensions, embedder.binary_quantised});
    }
    auto builder = segment::SegmentBuilder::Create(index_->FilePath(number), shapes,
                                                   index::FieldsFoundByParts(traits));
    ASSERT_TRUE(builder.ok());
    const auto lat = fields->Find("_geo.lat"), lng = fields->Find("_geo.lng");
    // Every second segment stores its points; the others build them on demand.
    if (lat && lng && number % 2 == 0) (*builder)->columns().SetPointFields(*lat, *lng);
    index::Commit commit;
    std::vector<segment::RowField> row;
    for (const auto& [docid, document] : batch) {
      indexing::RowFieldsOf(document, *fields, row);
      std::string bytes, compressed;
      segment::AppendRow(row, bytes);
      codec.Compress(bytes, compressed);
      (*builder)->BeginDocument(docid, compressed);
      extractor.ExtractAll(row, **builder);
      (*builder)->EndDocument();
      if (const auto found = embeddings.find(docid); found != embeddings.end()) {
        (*builder)->vectors().BeginDocument(0, docid, segment::kUserProvided);
        for (const auto& row : found->second) (*builder)->vectors().AddRow(0, row);
      }
      commit.dead.Add(docid);
      documents_[docid] = document;
    }
    ASSERT_TRUE((*builder)->Finish().ok());
    commit.added.push_back({number, number, number});
    commit.fields = fields;
    Apply(std::move(commit));
  }

  void Delete(const std::vector<DocId>& docids) {
    index::Commit commit;
    for (const DocId docid : docids) {
      commit.dead.Add(docid);
      documents_.erase(docid);
    }
    Apply(std::move(commit));
  }

  index::Index& index() const { return *index_; }
  std::shared_ptr<const index::Snapshot> snapshot() const { return index_->snapshot(); }
  const std::map<DocId, std::string>& documents() const { return documents_; }

 private:
  void Apply(index::Commit commit) {
    const Status status = index_->Apply(std::move(commit));
    ASSERT_TRUE(status.ok()) << status.message();
  }

  std::string dir_;
  std::shared_ptr<index::Index> index_;
  std::map<DocId, std::string> documents_;
};

// Values of one document under a dotted name, found by walking its JSON tree.
struct NaiveValues {
  bool exists = false, is_null = false, is_empty = false;
  std::vector<double> numbers;
  std::vector<std::string> strings;    // facet-normalised
  std::vector<std::string> originals;  // of strings, index by index

  void Collect(const json::Value& value) {
    switch (value.kind()) {
      case json::Value::Kind::kArray:
        for (const json::Value& item : value.items()) Collect(item);
        break;
      case json::Value::Kind::kNumber: numbers.push_back(value.number()); break;
      case json::Value::Kind::kBoolean: Add(value.boolean() ? "true" : "false"); break;
      case json::Value::Kind::kString: Add(value.string()); break;
      default: break;
    }
  }

 private:
  void Add(const std::string& text) {
    std::string form;
    text::NormalizeFacet(text, form);
    // Only this many bytes are kept, of whole characters.
    if (form.size() > kFacetStringBytesMax) {
      size_t end = kFacetStringBytesMax;
      while ((static_cast<unsigned char>(form[end]) & 0xc0) == 0x80) --end;
      form.resize(end);
    }
    if (form.empty()) return;
    strings.push_back(form);
    originals.push_back(text);
  }
};

inline void ReachNaive(const json::Value& node, const std::string& rest, NaiveValues& out) {
  for (const json::Value& item : node.items()) ReachNaive(item, rest, out);
  for (const auto& [key, value] : node.members()) {
    if (key == rest) {
      out.exists = true;
      out.is_null |= value.is_null();
      out.is_empty |= (value.is_string() && value.string().empty()) ||
                      (value.is_array() && value.items().empty()) ||
                      (value.is_object() && value.members().empty());
      out.Collect(value);
    } else if (rest.starts_with(key + ".")) {
      ReachNaive(value, rest.substr(key.size() + 1), out);
    }
  }
}

inline NaiveValues NaiveValuesOf(const json::Value& document, const std::string& field) {
  NaiveValues out;
  ReachNaive(document, field, out);
  return out;
}

inline std::optional<filter::GeoPoint> NaivePointOf(const json::Value& document) {
  const json::Value& geo = document["_geo"];
  if (!geo.is_object()) return std::nullopt;
  return filter::GeoPoint{.lat = geo["lat"].number(), .lng = geo["lng"].number()};
}

}  // namespace gannet
