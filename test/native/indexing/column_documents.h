// Documents with values of one field, and the column that is collected from them.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "segment/columns.h"

namespace gannet::indexing {

struct SpelledString {
  std::string normalised, spelling;
};
// The values of the field in a document.
struct ColumnDocument {
  DocId docid = 0;
  uint32_t source = 0;
  bool live = true, exists = false, null = false, empty = false;
  std::vector<double> numbers;
  std::vector<SpelledString> strings;
};

struct ColumnShape {
  uint32_t documents, sources, distinct, values_max;
  bool numbers, strings;
  uint32_t dead_of_ten;  // documents of ten that are dead
  bool interleaved;  // the sources share ranges of docids; otherwise one source follows the other
};

inline std::vector<ColumnDocument> RandomColumnDocuments(const ColumnShape& shape,
                                                         std::mt19937_64& random) {
  const auto below = [&](uint64_t end) { return static_cast<uint32_t>(random() % end); };
  std::vector<ColumnDocument> documents(shape.documents);
  for (uint32_t i = 0, docid = 0; i < shape.documents; ++i) {
    ColumnDocument& document = documents[i];
    document.docid = docid += 1 + (below(4) == 0 ? below(100) : 0);
    document.source =
        shape.interleaved ? below(shape.sources) : i * shape.sources / shape.documents;
    document.live = below(10) >= shape.dead_of_ten;
    if (below(5) == 0) continue;
    document.exists = true;
    document.null = below(20) == 0;
    document.empty = below(20) == 0;
    for (uint32_t left = below(shape.values_max + 1); left > 0; --left) {
      const uint32_t n = below(shape.distinct);
      if (shape.numbers && (!shape.strings || below(2) == 0)) {
        document.numbers.push_back(n == 7 && below(2) == 0 ? -0.0 : static_cast<double>(n) - 7);
      } else {
        const std::string normalised = "s" + std::to_string(n);
        document.strings.push_back(
            {normalised, below(3) == 0 ? "S" + std::to_string(n) : normalised});
      }
    }
  }
  return documents;
}

inline std::string ColumnOf(const std::vector<const ColumnDocument*>& documents) {
  segment::FieldColumnBuilder builder;
  std::vector<DocId> docids;
  for (uint32_t local = 0; local < documents.size(); ++local) {
    const ColumnDocument& document = *documents[local];
    docids.push_back(document.docid);
    if (document.exists) builder.MarkExists(local);
    if (document.null) builder.MarkNull(local);
    if (document.empty) builder.MarkEmpty(local);
    for (const double number : document.numbers) builder.AddNumber(local, number);
    for (const SpelledString& string : document.strings)
      builder.AddString(local, string.normalised, string.spelling);
  }
  std::string blob;
  segment::ColumnWriter writer([&](std::string_view bytes) { blob += bytes; });
  builder.Write(docids, writer);
  return blob;
}

}  // namespace gannet::indexing
