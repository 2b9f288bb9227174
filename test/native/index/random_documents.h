// Small documents with every kind of value in a few fields, for comparing engines on them.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "index/indexed_documents.h"

namespace gannet {

inline constexpr const char* kRandomSettings =
    R"({"filterableAttributes":["mixed","number","tag","o","_geo","never"],)"
    R"("sortableAttributes":["mixed","number","tag","o","_geo","never"]})";

class RandomDocuments {
 public:
  explicit RandomDocuments(uint64_t seed) : random_(seed) {}

  std::mt19937_64& random() { return random_; }
  uint64_t Below(uint64_t limit) { return random_() % limit; }

  std::string Scalar() {
    static const char* const kScalars[] = {
        "0", "-0.5", "1", "2", "10", "3.25", "1e3", "-7", "\"red\"", "\"Red\"", "\"RED \"", "\"rosé\"", "\"Rosé\"",
        "\"rose\"", "\"10\"", "\"2\"", "true", "false", "\"TRUE\"", "null", "\"\"", "\"  \"", "\"zebra crossing\"",
        "\"Zebra\"", "\"élan\"", "\"Ångström\""};
    return kScalars[Below(std::size(kScalars))];
  }

  std::string Value() {
    switch (Below(10)) {
      case 0: return "[]";
      case 1: return "[" + Scalar() + "," + Scalar() + ",[" + Scalar() + "]]";
      case 2: return "{}";
      case 3: return "[" + Scalar() + "]";
      default: return Scalar();
    }
  }

  std::string Document() {
    std::string out = "{\"id\":" + std::to_string(Below(1000000));
    if (Below(8) > 0) out += ",\"mixed\":" + Value();
    if (Below(8) > 0) out += ",\"number\":" + std::to_string(static_cast<int>(Below(numbers_)) - 100);
    if (Below(4) > 0) {
      out += ",\"tag\":[";
      for (uint64_t i = 0, count = Below(4); i < count; ++i) {
        out += (i > 0 ? ",\"tag " : "\"tag ") + std::to_string(Below(30)) + "\"";
      }
      out += "]";
    }
    if (Below(2) == 0) {
      const std::string inner = "{\"x\":" + Value() + ",\"y\":" + Scalar() + "}";
      out += ",\"o\":" + (Below(2) == 0 ? inner : "[" + inner + ",{\"x\":" + Scalar() + "}]");
    }
    if (Below(4) > 0) {
      // Clustered, so that some are within a metre and some far away.
      static const double kCentres[][2] = {{48.85, 2.35}, {-17, 179.999}, {89.99, 10}, {0, 0}, {-17, -179.999}};
      const auto& centre = kCentres[Below(5)];
      const double spread = Below(3) == 0 ? 20 : 0.00001;
      const double lat = std::clamp(centre[0] + (Fraction() - 0.5) * spread, -90.0, 90.0);
      const double lng = std::clamp(centre[1] + (Fraction() - 0.5) * spread, -180.0, 180.0);
      out += ",\"_geo\":{\"lat\":" + std::to_string(lat) + ",\"lng\":" + std::to_string(lng) + "}";
    }
    return out + "}";
  }

  double Fraction() { return static_cast<double>(random_() >> 11) / static_cast<double>(uint64_t{1} << 53); }

  // Several segments, with documents that are replaced by later ones or deleted.
  void Fill(IndexedDocuments& index, uint32_t documents) {
    numbers_ = documents;
    const auto segments = static_cast<uint32_t>(1 + Below(4));
    for (uint32_t segment = 0; segment < segments; ++segment) {
      std::map<DocId, std::string> batch;
      const bool dense = Below(2) == 0;
      const auto begin = static_cast<uint32_t>(Below(documents));
      for (uint32_t i = 0; i < documents / segments + 1; ++i) {
        batch[dense ? begin + i : static_cast<uint32_t>(Below(documents * 2))] = Document();
      }
      index.Put(batch);
    }
    if (Below(3) == 0) return;
    std::vector<DocId> deleted;
    for (const auto& [docid, document] : index.documents()) {
      if (Below(10) == 0) deleted.push_back(docid);
    }
    index.Delete(deleted);
  }

  DocSet Some(const DocSet& of) {
    const uint64_t keep = 1 + Below(100);
    std::vector<uint32_t> docids;
    of.ForEach([&](uint32_t docid) {
      if (Below(100) < keep) docids.push_back(docid);
    });
    return DocSet::FromSorted(docids);
  }

 private:
  std::mt19937_64 random_;
  uint32_t numbers_ = 300;
};

}  // namespace gannet
