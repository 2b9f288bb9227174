// The documents of an index as plain lists, read once, for reference models that loop over all of
// them.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bitmap/docset.h"
#include "filter/naive_geometry.h"
#include "index/indexed_documents.h"

namespace gannet {

struct NaiveDocument {
  DocId docid;
  std::map<std::string, NaiveValues, std::less<>> fields;
  std::optional<filter::GeoPoint> point;
  filter::NaiveShape shape;

  const NaiveValues& Of(std::string_view field) const {
    static const NaiveValues kNone;
    const auto found = fields.find(field);
    return found == fields.end() ? kNone : found->second;
  }
};

class NaiveIndex {
 public:
  NaiveIndex(const IndexedDocuments& index, const std::vector<std::string>& fields) {
    for (const auto& [docid, text] : index.documents()) {
      const json::Value tree = json::Value::Parse(text);
      NaiveDocument& document = documents_.emplace_back();
      document.docid = docid;
      for (const std::string& field : fields)
        document.fields.emplace(field, NaiveValuesOf(tree, field));
      document.point = NaivePointOf(tree);
      if (tree["_geojson"].is_object()) document.shape = filter::NaiveShapeOf(tree["_geojson"]);
    }
  }

  // By ascending docid.
  const std::vector<NaiveDocument>& documents() const { return documents_; }

  std::vector<const NaiveDocument*> Among(const DocSet& docids) const {
    std::vector<const NaiveDocument*> out;
    for (const NaiveDocument& document : documents_) {
      if (docids.Contains(document.docid)) out.push_back(&document);
    }
    return out;
  }

 private:
  std::vector<NaiveDocument> documents_;
};

}  // namespace gannet
