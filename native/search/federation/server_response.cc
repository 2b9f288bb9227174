#include "search/federation/server_response.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>

#include "base/json_reader.h"
#include "base/utf8.h"
#include "search/ranking/rules.h"

namespace gannet::search {
namespace {

using json::Kind;
using json::KindOf;

// Documents nest up to 1,024 deep.
constexpr int kResponseDepthMax = 1100;
// Larger integers are not exact in every client.
constexpr double kCountMax = 0x1p53 - 1;

// Keeps the first error. Anything read after it is not used.
class ResponseReader {
 public:
  // Whether the body is one object.
  bool Accepts(std::string_view body) {
    if (!IsUtf8(body)) {
      Fail("not UTF-8");
    } else if (!json::IsValid(body, kResponseDepthMax)) {
      Fail("not JSON");
    }
    return good() && Is(body.substr(json::SkipSpace(body, 0)), Kind::kObject, "not an object");
  }

  void ReadFederated(std::string_view body, ServerResponse& out);
  void ReadOwn(const Page& page, ServerResponse& out);
  std::vector<FacetValue> ReadFacetHits(std::string_view body);

  Status status() const {
    return good() ? Status::Ok() : Status::Invalid(fault_, "remote_bad_response");
  }

 private:
  bool good() const { return fault_.empty(); }
  bool Fail(const char* fault) {
    if (good()) fault_ = fault;
    return false;
  }
  bool Is(std::string_view value, Kind kind, const char* otherwise) {
    return KindOf(value) == kind || Fail(otherwise);
  }

  // read: called for each member until there is an error.
  template <typename Read>
  void Members(std::string_view object, Read read) {
    if (!Is(object, Kind::kObject, "not an object")) return;
    json::ForEachMember(object, [&](std::string_view name, std::string_view value) {
      // An escape may be half of a surrogate pair.
      if (!IsUtf8(name)) return Fail("not UTF-8");
      read(name, value);
      return good();
    });
  }
  template <typename Read>
  void Elements(std::string_view array, const char* otherwise, Read read) {
    if (!Is(array, Kind::kArray, otherwise)) return;
    json::ForEachElement(array, [&](std::string_view value) {
      if (good()) read(value);
    });
  }

  uint64_t Count(std::string_view value);
  double Number(std::string_view value, const char* otherwise);
  std::string Text(std::string_view value, const char* otherwise);

  void ReadMember(std::string_view name, std::string_view value, ServerResponse& out);
  void ReadHit(std::string_view text, ServerResponse& out);
  void ReadSource(std::string_view source, ServerHit& hit, std::deque<SortValue>& sort_values);
  void ReadGroup(std::string_view object, ServerHit& hit);
  void ReadPart(std::string_view json, ServerHit& hit, std::deque<SortValue>& sort_values);
  std::vector<std::string_view> Strings(std::string_view array, const char* otherwise);
  FurtherHit ReadFurther(std::string_view array);
  void ReadQueryVector(std::string_view position, std::string_view vector, ServerResponse& out);
  ServerFacets ReadFacets(std::string_view uid, std::string_view object);

  std::string fault_;
};

uint64_t ResponseReader::Count(std::string_view value) {
  const double number = KindOf(value) == Kind::kNumber ? json::NumberValue(value) : -1;
  if (number >= 0 && number <= kCountMax && number == std::floor(number))
    return static_cast<uint64_t>(number);
  Fail("not a count");
  return 0;
}

double ResponseReader::Number(std::string_view value, const char* otherwise) {
  const double number = KindOf(value) == Kind::kNumber ? json::NumberValue(value) : NAN;
  if (!std::isfinite(number)) Fail(otherwise);
  return number;
}

std::string ResponseReader::Text(std::string_view value, const char* otherwise) {
  std::string scratch;
  if (!Is(value, Kind::kString, otherwise)) return scratch;
  std::string text(json::StringValue(value, scratch));
  if (!IsUtf8(text)) Fail("not UTF-8");
  return text;
}

std::vector<std::string_view> ResponseReader::Strings(std::string_view array,
                                                      const char* otherwise) {
  std::vector<std::string_view> strings;
  Elements(array, otherwise, [&](std::string_view value) {
    if (Is(value, Kind::kString, otherwise)) strings.push_back(value);
  });
  return strings;
}

void ResponseReader::ReadFederated(std::string_view body, ServerResponse& out) {
  bool has_hits = false, has_total = false;
  Members(body, [&](std::string_view name, std::string_view value) {
    if (name == "hits") {
      if (std::exchange(has_hits, true)) Fail("two lists of hits");
      Elements(value, "no response to a federated search",
               [&](std::string_view hit) { ReadHit(hit, out); });
    } else if (name == "estimatedTotalHits" || name == "totalHits") {
      has_total = true;
      out.total = Count(value);
    } else {
      ReadMember(name, value, out);
    }
  });
  if (!has_hits || !has_total) Fail("no response to a federated search");
}

// The members behind the hits have the form in which other servers send them.
void ResponseReader::ReadOwn(const Page& page, ServerResponse& out) {
  for (size_t i = 0; i < page.hit_count(); ++i) {
    ServerHit& hit = out.hits.emplace_back();
    hit.text = page.hit_text(i);
    hit.source_end = hit.member_end = hit.text.size() - 1;
    hit.source_begin = hit.source_end - (kSourceLeftOut.size() - kSourceName.size());
    hit.member_begin = hit.member_end - kSourceLeftOut.size();
    if (hit.text[hit.member_begin - 1] == ',') --hit.member_begin;
    ReadSource(page.sources[i], hit, out.sort_values);
  }
  Members(page.rest, [&](std::string_view name, std::string_view value) {
    if (name == "estimatedTotalHits" || name == "totalHits") {
      out.total = Count(value);
    } else {
      ReadMember(name, value, out);
    }
  });
}

void ResponseReader::ReadMember(std::string_view name, std::string_view value,
                                ServerResponse& out) {
  if (name == "processingTimeMs") {
    out.processing_ms = Count(value);
  } else if (name == "furtherDistinctKeys") {
    out.further.emplace();
    Elements(value, "no keys of a hit",
             [&](std::string_view hit) { out.further->push_back(ReadFurther(hit)); });
  } else if (name == "groupTotals") {
    out.group_totals.clear();
    Elements(value, "no totals of groups",
             [&](std::string_view total) { out.group_totals.push_back(Count(total)); });
  } else if (name == "semanticHitCount") {
    out.has_vectors = true;
  } else if (name == "degraded") {
    for (const std::string_view part : Strings(value, "no list of what is missing"))
      out.lacks_vector = out.lacks_vector || part == "\"embedding\"";
  } else if (name == "queryVectors") {
    out.query_vectors.clear();
    Members(value, [&](std::string_view position, std::string_view vector) {
      ReadQueryVector(position, vector, out);
    });
  } else if (name == "facetsByIndex") {
    out.facets.clear();
    Members(value, [&](std::string_view uid, std::string_view facets) {
      out.facets.push_back(ReadFacets(uid, facets));
    });
  } else if (name == "metadata" && KindOf(value) == Kind::kArray) {
    out.metadata.clear();
    Elements(value, "", [&](std::string_view entry) {
      Members(entry, [](std::string_view, std::string_view) {});
      out.metadata.push_back(entry);
    });
  }
}

void ResponseReader::ReadHit(std::string_view text, ServerResponse& out) {
  ServerHit& hit = out.hits.emplace_back();
  hit.text = text;
  std::string_view source;
  size_t before = 0;  // end of the previous member
  Members(text, [&](std::string_view name, std::string_view value) {
    const auto begin = static_cast<size_t>(value.data() - text.data());
    const size_t end = begin + value.size();
    if (name == "_federation") {
      if (!source.empty()) Fail("a hit with two sources");
      source = value;
      hit.source_begin = begin;
      hit.source_end = hit.member_end = end;
      hit.member_begin = std::max<size_t>(before, 1);
      if (const size_t next = json::SkipSpace(text, end); before == 0 && text[next] == ',')
        hit.member_end = next + 1;
    }
    before = end;
  });
  if (source.empty()) {
    Fail("a hit without the scores that merging needs");
  } else {
    ReadSource(source, hit, out.sort_values);
  }
}

void ResponseReader::ReadSource(std::string_view source, ServerHit& hit,
                                std::deque<SortValue>& sort_values) {
  static constexpr const char* kOtherwise = "a hit without the scores that merging needs";
  bool has_position = false, has_parts = false;
  Members(source, [&](std::string_view name, std::string_view value) {
    if (name == "indexUid") {
      if (Is(value, Kind::kString, kOtherwise)) hit.index_uid = value;
    } else if (name == "queriesPosition") {
      has_position = true;
      hit.position = Count(value);
    } else if (name == "weightedRankingScore") {
      hit.score = value;
      hit.key.global = Number(value, kOtherwise);
    } else if (name == "documentKey") {
      if (Is(value, Kind::kString, kOtherwise)) hit.document = value;
    } else if (name == "fused") {
      hit.fused = value == "true";
    } else if (name == "group" && KindOf(value) == Kind::kNumber) {
      hit.group = Count(value);
    } else if (name == "group") {
      ReadGroup(value, hit);
    } else if (name == "distinctKeys") {
      hit.distinct = Strings(value, kOtherwise);
    } else if (name == "weightedScoreValues") {
      has_parts = true;
      hit.key.parts.clear();
      Elements(value, kOtherwise, [&](std::string_view part) { ReadPart(part, hit, sort_values); });
    }
  });
  if (hit.index_uid.empty() || !has_position || hit.score.empty() || !has_parts) Fail(kOtherwise);
}

void ResponseReader::ReadGroup(std::string_view object, ServerHit& hit) {
  Members(object, [&](std::string_view name, std::string_view value) {
    if (name == "value") hit.group_value = value;
    if (name == "values" && Is(value, Kind::kArray, "no values of a group"))
      hit.group_values = value;
  });
}

void ResponseReader::ReadPart(std::string_view json, ServerHit& hit,
                              std::deque<SortValue>& sort_values) {
  ScorePart part;
  bool known = true;
  Members(json, [&](std::string_view name, std::string_view value) {
    // The first known member decides.
    if (part.rule == nullptr && known) known = ReadScorePart(name, value, part, sort_values);
  });
  if (!known || part.rule == nullptr) Fail("not a score");
  hit.key.parts.push_back(part);
}

// Reads the position of the query and the keys.
FurtherHit ResponseReader::ReadFurther(std::string_view array) {
  static constexpr const char* kOtherwise = "no keys of a hit";
  FurtherHit hit;
  bool has_position = false;
  Elements(array, kOtherwise, [&](std::string_view value) {
    if (!std::exchange(has_position, true)) {
      hit.position = Count(value);
    } else if (Is(value, Kind::kString, kOtherwise)) {
      hit.distinct.push_back(value);
    }
  });
  if (!has_position) Fail(kOtherwise);
  return hit;
}

void ResponseReader::ReadQueryVector(std::string_view position, std::string_view vector,
                                     ServerResponse& out) {
  const bool counts =
      !position.empty() && position.size() <= 10 &&
      std::all_of(position.begin(), position.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!counts) Fail("not the position of a query");
  Elements(vector, "not a vector",
           [&](std::string_view number) { Is(number, Kind::kNumber, "not a vector"); });
  if (good()) out.query_vectors.emplace_back(Count(position), vector);
}

ServerFacets ResponseReader::ReadFacets(std::string_view uid, std::string_view object) {
  ServerFacets facets{std::string(uid), {}, {}};
  std::map<std::string, std::pair<double, double>, std::less<>> ranges;
  bool has_distribution = false, has_stats = false;
  Members(object, [&](std::string_view name, std::string_view value) {
    if (name == "candidates") {
      facets.candidates = Count(value);
    } else if (name == "stats") {
      has_stats = true;
      Members(value, [&](std::string_view field, std::string_view range) {
        std::optional<double> min, max;
        Members(range, [&](std::string_view end, std::string_view number) {
          if (end == "min") min = Number(number, "not a range");
          if (end == "max") max = Number(number, "not a range");
        });
        if (!min || !max) Fail("not a range");
        if (good()) ranges.insert_or_assign(std::string(field), std::pair(*min, *max));
      });
    } else if (name == "distribution") {
      has_distribution = true;
      facets.distributions.clear();
      Members(value, [&](std::string_view field, std::string_view counts) {
        FacetDistribution& distribution = facets.distributions.emplace_back();
        distribution.field = field;
        Members(counts, [&](std::string_view shown, std::string_view count) {
          distribution.values.push_back({std::string(shown), Count(count)});
        });
      });
    }
  });
  if (!has_distribution || !has_stats) Fail("no facets of an index");
  for (FacetDistribution& distribution : facets.distributions) {
    if (const auto range = ranges.find(distribution.field); range != ranges.end())
      distribution.stats = range->second;
  }
  return facets;
}

std::vector<FacetValue> ResponseReader::ReadFacetHits(std::string_view body) {
  std::vector<FacetValue> values;
  bool has_hits = false;
  Members(body, [&](std::string_view name, std::string_view hits) {
    if (name != "facetHits") return;
    has_hits = true;
    values.clear();
    Elements(hits, "no response to a facet search", [&](std::string_view hit) {
      std::optional<std::string> shown;
      std::optional<uint64_t> count;
      Members(hit, [&](std::string_view member, std::string_view value) {
        if (member == "value") shown = Text(value, "not a facet value");
        if (member == "count") count = Count(value);
      });
      if (!shown || !count) Fail("not a facet value");
      if (good()) values.push_back({std::move(*shown), *count});
    });
  });
  if (!has_hits) Fail("no response to a facet search");
  return values;
}

// The object, without surrounding white space.
std::string_view Trimmed(std::string_view body) {
  const size_t begin = json::SkipSpace(body, 0);
  return body.substr(begin, json::SkipValue(body, begin) - begin);
}

}  // namespace

bool ServerHit::by_vector() const {
  return std::any_of(key.parts.begin(), key.parts.end(),
                     [](const ScorePart& part) { return part.rule->by_vectors(); });
}

Result<ServerResponse> ServerResponse::Read(std::string_view body) {
  ServerResponse response;
  ResponseReader reader;
  if (reader.Accepts(body)) reader.ReadFederated(Trimmed(body), response);
  GANNET_RETURN_IF_ERROR(reader.status());
  return response;
}

Result<ServerResponse> ServerResponse::Of(Page page) {
  ServerResponse response;
  // As an object.
  page.rest[0] = '{';
  page.rest += '}';
  auto own = std::make_unique<const Page>(std::move(page));
  ResponseReader reader;
  reader.ReadOwn(*own, response);
  GANNET_RETURN_IF_ERROR(reader.status());
  response.own = std::move(own);
  return response;
}

Result<std::vector<FacetValue>> ReadFacetHits(std::string_view body) {
  std::vector<FacetValue> values;
  ResponseReader reader;
  if (reader.Accepts(body)) values = reader.ReadFacetHits(Trimmed(body));
  GANNET_RETURN_IF_ERROR(reader.status());
  return values;
}

}  // namespace gannet::search
