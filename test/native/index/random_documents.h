// Small documents with every kind of value in a few fields, for comparing engines on them.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "index/indexed_documents.h"

namespace gannet {

inline constexpr const char* kRandomSettings =
    R"({"filterableAttributes":["mixed","number","tag","o","when","_geo","_geojson","never"],)"
    R"("sortableAttributes":["mixed","number","tag","o","when","_geo","never"]})";
// Attributes with nested values.
inline const std::vector<std::string> kRandomFields = {"mixed", "number", "tag",  "o.x",
                                                       "o.y",   "o",      "when", "never"};

class RandomDocuments {
 public:
  explicit RandomDocuments(uint64_t seed) : random_(seed) {}

  std::mt19937_64& random() { return random_; }
  uint64_t Below(uint64_t limit) { return random_() % limit; }

  // Numbers that differ only slightly, or that a double cannot hold; strings that differ only in
  // case, accents or white space, or look like something else; strings that are too long to be kept
  // whole.
  std::string Scalar() {
    static const char* const kCommon[] = {"0",
                                          "-0.5",
                                          "1",
                                          "2",
                                          "10",
                                          "3.25",
                                          "1e3",
                                          "-7",
                                          "\"red\"",
                                          "\"Red\"",
                                          "\"RED \"",
                                          "\"rosé\"",
                                          "\"Rosé\"",
                                          "\"rose\"",
                                          "\"10\"",
                                          "\"2\"",
                                          "true",
                                          "false",
                                          "\"TRUE\"",
                                          "null",
                                          "\"\"",
                                          "\"  \"",
                                          "\"zebra crossing\"",
                                          "\"Zebra\"",
                                          "\"élan\"",
                                          "\"Ångström\""};
    static const char* const kRare[] = {"-0",
                                        "-0.0",
                                        "0.1",
                                        "0.30000000000000004",
                                        "0.3",
                                        "1E2",
                                        "1e-7",
                                        "5e-324",
                                        "1e308",
                                        "-1e308",
                                        "1.7976931348623157e308",
                                        "9007199254740992",
                                        "9007199254740993",
                                        "-9007199254740993",
                                        "9223372036854775807",
                                        "18446744073709551616",
                                        "123456789012345678901234567890",
                                        "\"9007199254740993\"",
                                        "\"1e3\"",
                                        "\"-0\"",
                                        "\"nan\"",
                                        "\"Infinity\"",
                                        "\"2024-01-31\"",
                                        "\"2024-02-01T00:00:00Z\"",
                                        "\"2023-12-31T23:59:59.999+01:00\"",
                                        "\"rose\\u0301\"",
                                        "\"ﬁn\"",
                                        "\"FIN\"",
                                        "\"Straße\"",
                                        "\"STRASSE\"",
                                        "\"İ\"",
                                        "\"i\"",
                                        "\"\\u00a0x\\u3000\"",
                                        "\"a\\u0000b\"",
                                        "\"\\ud83d\\ude00\"",
                                        "\"a\\\"b\\\\c\"",
                                        "\"\\t\"",
                                        "\"中文\"",
                                        "\"null\"",
                                        "\"한국\""};
    if (Below(4) > 0) return kCommon[Below(std::size(kCommon))];
    const uint64_t which = Below(std::size(kRare) + 2);
    if (which < std::size(kRare)) return kRare[which];
    return "\"" + Long(Below(4)) + "\"";
  }

  // Near the greatest length that is kept, with a two-byte character across the limit.
  static std::string Long(uint64_t which) {
    return std::string(which % 2 == 0 ? 466 : 467, 'l') + "é" +
           (which < 2 ? "" : std::string(20, 'm'));
  }

  std::string Value() {
    switch (Below(10)) {
      case 0: return "[]";
      case 1: return "[" + Scalar() + "," + Scalar() + ",[" + Scalar() + "]]";
      case 2: return Below(2) == 0 ? "{}" : "{\"x\":" + Scalar() + "}";
      case 3: return "[" + Scalar() + "]";
      default: return Scalar();
    }
  }

  std::string Document() {
    std::string out = "{\"id\":" + std::to_string(Below(1000000));
    if (Below(8) > 0) out += ",\"mixed\":" + Value();
    if (Below(8) > 0)
      out += ",\"number\":" + std::to_string(static_cast<int>(Below(numbers_)) - 100);
    if (Below(4) > 0) {
      out += ",\"tag\":[";
      for (uint64_t i = 0, count = Below(4); i < count; ++i) {
        out += (i > 0 ? ",\"tag " : "\"tag ") + std::to_string(Below(30)) + "\"";
      }
      out += "]";
    }
    const bool nested = Below(2) == 0;
    if (nested) {
      const std::string inner = "{\"x\":" + Value() + ",\"y\":" + Scalar() + "}";
      out += ",\"o\":" + (Below(2) == 0 ? inner : "[" + inner + ",{\"x\":" + Scalar() + "}]");
    }
    // The same name twice: a number next to the nested value, so that no string has two spellings
    // in one document.
    if (Below(12) == 0) out += ",\"o.x\":" + (nested ? std::to_string(Below(20)) : Scalar());
    if (Below(3) == 0) {
      static const char* const kMonths[] = {"2023-12", "2024-01", "2024-02", "0999-12"};
      const std::string day = std::to_string(10 + Below(19));
      out += ",\"when\":\"" + std::string(kMonths[Below(4)]) + "-" + day +
             (Below(2) == 0 ? "\"" : "T10:00:00Z\"");
    }
    if (Below(4) == 0) out += ",\"_geojson\":" + GeoJson();
    if (Below(4) > 0) {
      // Clustered, so that some are within a metre and some far away.
      static const double kCentres[][2] = {
          {48.85, 2.35}, {-17, 179.999}, {89.99, 10}, {0, 0}, {-17, -179.999}};
      const auto& centre = kCentres[Below(5)];
      const double spread = Below(3) == 0 ? 20 : 0.00001;
      const double lat = std::clamp(centre[0] + (Fraction() - 0.5) * spread, -90.0, 90.0);
      const double lng = std::clamp(centre[1] + (Fraction() - 0.5) * spread, -180.0, 180.0);
      out += ",\"_geo\":{\"lat\":" + std::to_string(lat) + ",\"lng\":" + std::to_string(lng) + "}";
    }
    return out + "}";
  }

  // Any geometry, with whole coordinates.
  std::string GeoJson() {
    const auto geometry = [](const char* type, const std::string& coordinates) {
      return "{\"type\":\"" + std::string(type) + "\",\"coordinates\":" + coordinates + "}";
    };
    switch (Below(8)) {
      case 0:
        return geometry("LineString", "[" + Position() + "," + Position() + "," + Position() + "]");
      case 1: return geometry("MultiPoint", "[" + Position() + "," + Position() + "]");
      case 2: return geometry("Polygon", "[" + Ring(2) + "]");
      case 3: return geometry("Polygon", PolygonWithHole());
      case 4: return geometry("MultiPolygon", "[[" + Ring(1) + "]," + PolygonWithHole() + "]");
      case 5:
        return "{\"type\":\"GeometryCollection\",\"geometries\":[" + geometry("Point", Position()) +
               "," + geometry("LineString", "[" + Position() + "," + Position() + "]") + "]}";
      case 6:
        return "{\"type\":\"Feature\",\"properties\":{\"a\":[1]},\"geometry\":" +
               geometry("Point", Position()) + "}";
      default: return geometry("Point", Position());
    }
  }

  double Fraction() {
    return static_cast<double>(random_() >> 11) / static_cast<double>(uint64_t{1} << 53);
  }

  // A longitude and a latitude; often near each other.
  std::string Position() {
    const auto degrees = [&](int limit) {
      return Below(3) == 0 ? static_cast<int>(Below(2 * static_cast<uint64_t>(limit) + 1)) - limit
                           : static_cast<int>(Below(12));
    };
    return "[" + std::to_string(degrees(180)) + "," + std::to_string(degrees(90)) + "]";
  }

  // Several segments, with documents that later ones replace or delete.
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
    of.ForEach([&](DocId docid) {
      if (Below(100) < keep) docids.push_back(docid);
    });
    return DocSet::FromSorted(docids);
  }

 private:
  // Three or more corners, closed or not.
  std::string Ring(uint64_t more) {
    const std::string first = Position();
    std::string out = "[" + first;
    for (uint64_t i = 2 + Below(more + 1); i > 0; --i) out += "," + Position();
    return out + "," + (Below(2) == 0 ? first : Position()) + "]";
  }
  // A rectangle with a rectangular hole.
  std::string PolygonWithHole() {
    const auto west = static_cast<int>(Below(8)), south = static_cast<int>(Below(8));
    const auto east = west + 3 + static_cast<int>(Below(8)),
               north = south + 3 + static_cast<int>(Below(8));
    const auto rectangle = [](int w, int s, int e, int n) {
      const auto position = [](int lng, int lat) {
        return "[" + std::to_string(lng) + "," + std::to_string(lat) + "]";
      };
      return "[" + position(w, s) + "," + position(e, s) + "," + position(e, n) + "," +
             position(w, n) + "," + position(w, s) + "]";
    };
    return "[" + rectangle(west, south, east, north) + "," +
           rectangle(west + 1, south + 1, east - 1, north - 1) + "]";
  }

  std::mt19937_64 random_;
  uint32_t numbers_ = 300;
};

}  // namespace gannet
