#include "indexing/vectors_field.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/bytes.h"
#include "base/json.h"
#include "base/json_reader.h"
#include "base/utf8.h"

namespace gannet::indexing {
namespace {

// Powers of ten that are exact in double precision.
constexpr double kExactPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int kExactPowerMax = 22;
constexpr int kExponentMax = 10000;  // beyond the range of any number
constexpr uint64_t kExactInteger = uint64_t{1} << 53;
constexpr int kDigitsMax = 19;  // any number of this many digits fits 64 bits

std::string Location(std::string_view name, const std::string& path) {
  return "._vectors." + std::string(name) + path;
}

Status WrongType(std::string_view document_id, const std::string& location, const char* expected,
                 std::string_view found) {
  return Status::Invalid("The value at `" + location + "` of the document `" +
                             std::string(document_id) + "` is not " + expected + ": `" +
                             Shortened(found) + "`.",
                         "invalid_vectors_type");
}

// What a scan of a valid JSON array finds in its elements.
struct ArrayScan {
  size_t commas = 0;
  bool other = false;  // a character that is in no number
  bool exponent = false;
};

// Works by blocks in which eight bits are enough to count: such loops compile to steps of whole
// registers.
ArrayScan ScanArray(std::string_view array) {
  constexpr size_t kBlock = 240;
  ArrayScan scan;
  const auto* at = reinterpret_cast<const uint8_t*>(array.data()) + 1;
  const auto* const end = at + array.size() - 2;
  while (at < end) {
    const size_t size = std::min(kBlock, static_cast<size_t>(end - at));
    uint8_t commas = 0, other = 0, exponent = 0;
    for (size_t i = 0; i < size; ++i) {
      const uint8_t c = at[i];
      const auto is_exponent = static_cast<uint8_t>((c | 0x20) == 'e');
      const auto is_number = static_cast<uint8_t>(static_cast<uint8_t>(c - '+') <= '9' - '+');
      commas = static_cast<uint8_t>(commas + static_cast<uint8_t>(c == ','));
      exponent |= is_exponent;
      other |= static_cast<uint8_t>((is_number | is_exponent | static_cast<uint8_t>(c <= ' ')) ^ 1);
    }
    scan.commas += commas;
    scan.other |= other != 0;
    scan.exponent |= exponent != 0;
    at += size;
  }
  return scan;
}

// Whether an array of numbers has one that is too great for single precision. Numbers are examined
// only if one of them has a positive exponent.
bool HasOverflow(std::string_view array) {
  bool great = false;
  for (size_t i = 0; i + 1 < array.size(); ++i)
    great |= (array[i] | 0x20) == 'e' && array[i + 1] != '-';
  if (!great) return false;
  bool overflow = false;
  json::ForEachElement(array, [&](std::string_view number) {
    overflow |= std::abs(json::NumberValue(number)) >
                static_cast<double>(std::numeric_limits<float>::max());
  });
  return overflow;
}

// The span of an item of `passages`; nullopt: it has another form.
std::optional<segment::RowSpan> SpanOf(std::string_view item) {
  if (json::KindOf(item) != json::Kind::kObject) return std::nullopt;
  double start = -1, length = -1;
  bool known = true;
  json::ForEachMember(item, [&](std::string_view key, std::string_view value) {
    double* const to = key == "start" ? &start : key == "length" ? &length : nullptr;
    known &= to != nullptr && json::KindOf(value) == json::Kind::kNumber;
    if (known) *to = json::NumberValue(value);
  });
  const auto fits = [](double number) {
    return number >= 0 && number <= std::numeric_limits<uint32_t>::max() &&
           number == std::floor(number);
  };
  if (!known || !fits(start) || !fits(length)) return std::nullopt;
  return segment::RowSpan{static_cast<uint32_t>(start), static_cast<uint32_t>(length)};
}

bool IsEmpty(std::string_view array) { return json::SkipSpace(array, 1) + 1 == array.size(); }

struct EntryReader {
  std::string_view document_id, name;
  uint32_t dimensions;
  Status wrong_length = {};  // of the first embedding of another length; wrong types come first

  Status CheckNumbers(std::string_view array, const std::string& path, size_t number) {
    const ArrayScan scan = ScanArray(array);
    if (scan.other) {
      size_t at = 0;
      Status status;
      json::ForEachElement(array, [&](std::string_view item) {
        if (status.ok() && json::KindOf(item) != json::Kind::kNumber) {
          status = WrongType(document_id, Location(name, path + "[" + std::to_string(at) + "]"),
                             "a number", item);
        }
        ++at;
      });
      return status;
    }
    if (scan.exponent && HasOverflow(array))
      return WrongType(document_id, Location(name, path), "an array of numbers of single precision",
                       array);
    const size_t count = IsEmpty(array) ? 0 : scan.commas + 1;
    if (dimensions == 0 || count == dimensions || !wrong_length.ok()) return Status::Ok();
    wrong_length = Status::Invalid(
        "Embedding " + std::to_string(number) + " of the document `" + std::string(document_id) +
            "` for the embedder `" + std::string(name) + "` has " + std::to_string(count) +
            " dimensions; " + std::to_string(dimensions) + " are expected.",
        "invalid_vector_dimensions");
    return Status::Ok();
  }

  // Checks an array of numbers, or of such arrays.
  Status CheckEmbeddings(std::string_view array, const std::string& path) {
    const size_t first = json::SkipSpace(array, 1);
    if (array[first] != '[') return CheckNumbers(array, path, 0);
    size_t number = 0;
    Status status;
    json::ForEachElement(array, [&](std::string_view item) {
      if (!status.ok()) return;
      const std::string at = path + "[" + std::to_string(number) + "]";
      status = json::KindOf(item) == json::Kind::kArray
                   ? CheckNumbers(item, at, number)
                   : WrongType(document_id, Location(name, at), "an array of numbers", item);
      ++number;
    });
    if (status.ok() && wrong_length.ok() && number > kEmbeddingsMax) {
      return Status::Invalid("The document `" + std::string(document_id) + "` has " +
                                 std::to_string(number) + " embeddings for the embedder `" +
                                 std::string(name) + "`; at most " +
                                 std::to_string(kEmbeddingsMax) + " are kept.",
                             "too_many_vectors");
    }
    return status;
  }

  // Reads the value of `embeddings`, or of the whole entry.
  Status ReadEmbeddings(std::string_view value, const std::string& path, VectorsEntry& entry) {
    if (IsEmpty(value)) {
      entry.removed = true;
      return Status::Ok();
    }
    entry.embeddings = value;
    return CheckEmbeddings(value, path);
  }

  Status ReadPassages(std::string_view value, VectorsEntry& entry) {
    if (value.empty() || json::KindOf(value) == json::Kind::kNull) return Status::Ok();
    const auto wrong = [&] {
      return WrongType(document_id, Location(name, ".passages"),
                       "a list of objects with `start` and `length`", value);
    };
    if (json::KindOf(value) != json::Kind::kArray) return wrong();
    bool right = true;
    json::ForEachElement(value, [&](std::string_view item) { right &= SpanOf(item).has_value(); });
    if (!right) return wrong();
    entry.passages = value;
    return Status::Ok();
  }

  Result<VectorsEntry> Read(std::string_view value) {
    VectorsEntry entry;
    switch (json::KindOf(value)) {
      case json::Kind::kNull: entry.removed = true; return entry;
      case json::Kind::kArray:
        GANNET_RETURN_IF_ERROR(ReadEmbeddings(value, "", entry));
        return entry;
      case json::Kind::kObject: break;
      default:
        return WrongType(document_id, Location(name, ""), "null, an array or an object", value);
    }
    std::string_view embeddings, regenerate, passages;
    std::string unknown;
    json::ForEachMember(value, [&](std::string_view key, std::string_view member) {
      if (key == "embeddings") {
        embeddings = member;
      } else if (key == "regenerate") {
        regenerate = member;
      } else if (key == "passages") {
        passages = member;
      } else if (unknown.empty()) {
        unknown = "`" + std::string(key) + "`";
      }
    });
    if (!unknown.empty()) {
      return WrongType(
          document_id, Location(name, ""),
          "an object of `embeddings`, `regenerate` and `passages` alone, it has another member",
          unknown);
    }
    if (regenerate.empty())
      return WrongType(document_id, Location(name, ""),
                       "an object with `regenerate`, which is required", value);
    if (json::KindOf(regenerate) != json::Kind::kBoolean) {
      return WrongType(document_id, Location(name, ".regenerate"), "a Boolean", regenerate);
    }
    entry.regenerate = regenerate == "true";
    GANNET_RETURN_IF_ERROR(ReadPassages(passages, entry));
    if (embeddings.empty() || json::KindOf(embeddings) == json::Kind::kNull) return entry;
    if (json::KindOf(embeddings) != json::Kind::kArray) {
      return WrongType(document_id, Location(name, ".embeddings"), "null or an array", embeddings);
    }
    GANNET_RETURN_IF_ERROR(ReadEmbeddings(embeddings, ".embeddings", entry));
    return entry;
  }
};

// Whether the names differ by a typo or two: their Levenshtein distance is at most 2.
bool IsSimilar(std::string_view a, std::string_view b) {
  if (a.size() > b.size() + 2 || b.size() > a.size() + 2) return false;
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()] <= 2;
}

}  // namespace

float ReadSingle(const char*& at, const char* end) {
  const char* const begin = at;
  const bool negative = at < end && *at == '-';
  if (negative) ++at;
  uint64_t digits = 0;
  int count = 0, exponent = 0;
  const auto read_digits = [&] {
    for (; at < end && *at >= '0' && *at <= '9'; ++at) {
      digits = digits * 10 + static_cast<uint64_t>(*at - '0');
      // Leading zeros do not count.
      if (digits != 0) ++count;
    }
  };
  read_digits();
  if (at < end && *at == '.') {
    const char* const fraction = ++at;
    read_digits();
    exponent = -static_cast<int>(at - fraction);
  }
  if (at < end && (*at | 0x20) == 'e') {
    ++at;
    const bool down = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) ++at;
    int given = 0;
    for (; at < end && *at >= '0' && *at <= '9'; ++at)
      given = std::min(given * 10 + (*at - '0'), kExponentMax);
    exponent += down ? -given : given;
  }
  double value;
  if (count <= kDigitsMax && digits <= kExactInteger && exponent >= -kExactPowerMax &&
      exponent <= kExactPowerMax) {
    // Both are exact, so the result is the nearest double.
    value = static_cast<double>(digits);
    value = exponent < 0 ? value / kExactPowers[-exponent] : value * kExactPowers[exponent];
    if (negative) value = -value;
  } else {
    value = json::NumberValue({begin, static_cast<size_t>(at - begin)});
  }
  constexpr auto kMax = static_cast<double>(std::numeric_limits<float>::max());
  return static_cast<float>(std::clamp(value, -kMax, kMax));
}

Result<VectorsEntry> ReadVectorsEntry(std::string_view document_id, std::string_view name,
                                      std::string_view value, uint32_t dimensions) {
  EntryReader reader{document_id, name, dimensions};
  auto entry = reader.Read(value);
  if (entry.ok() && !reader.wrong_length.ok()) return reader.wrong_length;
  return entry;
}

Result<VectorsMembers> ReadVectorsMembers(std::string_view document_id, std::string_view vectors) {
  VectorsMembers members;
  if (vectors.empty() || json::KindOf(vectors) == json::Kind::kNull) return members;
  if (json::KindOf(vectors) != json::Kind::kObject) {
    return WrongType(document_id, "._vectors", "an object", vectors);
  }
  json::ForEachMember(vectors, [&](std::string_view key, std::string_view value) {
    members.insert_or_assign(std::string(key), value);
  });
  return members;
}

void ForEachEmbedding(const VectorsEntry& entry,
                      const std::function<void(std::span<const float>)>& sink) {
  std::vector<float> row;
  const char* at = entry.embeddings.data();
  const char* const end = at + entry.embeddings.size();
  while (at < end) {
    if (*at == '-' || (*at >= '0' && *at <= '9')) {
      row.push_back(ReadSingle(at, end));
      continue;
    }
    if (*at++ != ']' || row.empty()) continue;
    sink(row);
    row.clear();
  }
}

std::vector<segment::RowSpan> PassagesOf(const VectorsEntry& entry) {
  std::vector<segment::RowSpan> spans;
  if (entry.passages.empty()) return spans;
  json::ForEachElement(entry.passages, [&](std::string_view item) {
    spans.push_back(SpanOf(item).value_or(segment::RowSpan{}));
  });
  return spans;
}

uint32_t DimensionsOf(const VectorsEntry& entry) {
  if (!entry.given()) return 0;
  const std::string_view array = entry.embeddings;
  const size_t first = json::SkipSpace(array, 1);
  const std::string_view row =
      array[first] == '[' ? array.substr(first, json::SkipValue(array, first) - first) : array;
  return IsEmpty(row) ? 0 : static_cast<uint32_t>(ScanArray(row).commas) + 1;
}

void AppendKeptEntry(std::string_view value, const VectorsEntry& entry, std::string& out) {
  switch (json::KindOf(value)) {
    case json::Kind::kNull: out += "[]"; return;
    case json::Kind::kObject: break;
    default: json::AppendMinified(out, value); return;
  }
  out += entry.regenerate ? "{\"regenerate\":true,\"embeddings\":"
                          : "{\"regenerate\":false,\"embeddings\":";
  if (entry.given()) {
    json::AppendMinified(out, entry.embeddings);
    if (!entry.passages.empty()) {
      out += ",\"passages\":";
      json::AppendMinified(out, entry.passages);
    }
  } else {
    out += entry.removed ? "[]" : "null";
  }
  out += '}';
}

Status MissingVectors(std::string_view document_id, std::string_view embedder,
                      const VectorsMembers& given) {
  std::string message = "The document `" + std::string(document_id) +
                        "` has no vectors for the embedder `" + std::string(embedder) +
                        "`, which makes none. Give them in `_vectors." + std::string(embedder) +
                        "`, or opt out with `\"_vectors\":{\"" + std::string(embedder) +
                        "\":null}`.";
  for (const auto& [name, value] : given) {
    if (name != embedder && IsSimilar(name, embedder))
      message += " Its `_vectors` has `" + name + "`: is that a slip?";
  }
  return Status::Invalid(std::move(message), "vector_embedding_error");
}

}  // namespace gannet::indexing
