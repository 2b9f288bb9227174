#include "search/request.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

namespace gannet::search {
namespace {

std::vector<std::string> StringsOr(const json::Value& value) {
  return value.Strings().value_or(std::vector<std::string>());
}

// By character of base64, the six bits that it stands for; negative: none.
constexpr std::array<int8_t, 256> kBase64Digits = [] {
  std::array<int8_t, 256> digits;
  digits.fill(-1);
  int8_t next = 0;
  for (const char c :
       std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"))
    digits[static_cast<uint8_t>(c)] = next++;
  return digits;
}();

// Decodes numbers in single precision, little endian, in base64.
std::vector<float> ParseVector(std::string_view text) {
  std::vector<char> bytes(text.size());
  size_t size = 0;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int digit = kBase64Digits[static_cast<uint8_t>(c)];
    if (digit < 0) break;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes[size++] = static_cast<char>(bits >> count & 0xff);
    }
  }
  std::vector<float> numbers(size / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
  return numbers;
}

Hybrid ParseHybrid(const json::Value& value) {
  Hybrid hybrid;
  hybrid.embedder = value["embedder"].string();
  hybrid.ratio = value["semanticRatio"].number();
  if (!value["minScore"].is_null()) hybrid.min_score = value["minScore"].number();
  const std::string& fusion = value["fusion"].string();
  if (fusion == "rrf") hybrid.fusion = Fusion::kRrf;
  if (fusion == "score") hybrid.fusion = Fusion::kScore;
  return hybrid;
}

Diversity ParseDiversity(const json::Value& value) {
  return {value["attribute"].string(), value["max"].integer()};
}

std::vector<Pin> ParsePins(const json::Value& value) {
  std::vector<Pin> pins;
  for (const json::Value& pin : value.items())
    pins.push_back({pin["id"].string(), static_cast<uint32_t>(pin["position"].integer()),
                    pin["hidden"].boolean()});
  return pins;
}

std::vector<text::Locale> ParseLocales(const json::Value& value) {
  std::vector<text::Locale> locales;
  for (const std::string& code : StringsOr(value)) {
    if (const auto locale = text::ParseLocale(code)) locales.push_back(*locale);
  }
  return locales;
}

std::vector<uint32_t> ParseWordStarts(const json::Value& value) {
  std::vector<uint32_t> starts;
  for (const json::Value& start : value.items())
    starts.push_back(static_cast<uint32_t>(start.integer()));
  return starts;
}

uint32_t ParseLength(const json::Value& value) {
  return static_cast<uint32_t>(std::min<uint64_t>(value.integer(), UINT32_MAX));
}

// How to read a parameter.
struct Parameter {
  std::string_view name;
  void (*read)(const json::Value& value, SearchRequest& request);
};

#define READ(member, expression) \
  [](const json::Value& value, SearchRequest& request) { request.member = expression; }

// A list, or `auto`.
void ReadFacets(const json::Value& value, SearchRequest& request) {
  request.facets = StringsOr(value);
  request.automatic_facets = value.is_string();
}

constexpr Parameter kParameters[] = {
    {"q", READ(q, value.string())},
    {"segmentation", READ(word_starts, ParseWordStarts(value))},
    {"filter", READ(filter, value.text())},
    {"containsFilter", READ(contains_filter, value.boolean())},
    {"multimodal", READ(multimodal, value.boolean())},
    {"sort", READ(sort, StringsOr(value))},
    {"distinct", READ(distinct, value.string())},
    {"diversity", READ(diversity, ParseDiversity(value))},
    {"facets", ReadFacets},
    {"facetStats", READ(measures, ParseMeasures(value))},
    {"attributesToRetrieve", READ(attributes_to_retrieve, value.Strings())},
    {"attributesToSearchOn", READ(attributes_to_search_on, value.Strings())},
    {"attributesToHighlight", READ(format.highlight, value.Strings())},
    {"attributesToCrop", READ(format.crop, value.Strings())},
    {"cropLength", READ(format.crop_length, ParseLength(value))},
    {"cropMarker", READ(format.crop_marker, value.string())},
    {"highlightPreTag", READ(format.pre_tag, value.string())},
    {"highlightPostTag", READ(format.post_tag, value.string())},
    {"showMatchesPosition", READ(format.matches_position, value.boolean())},
    {"matchingStrategy", READ(strategy, index::ParseMatchingStrategy(value.string()))},
    {"showRankingScore", READ(show_score, value.boolean())},
    {"showRankingScoreDetails", READ(show_details, value.boolean())},
    {"rankingScoreThreshold", READ(threshold, value.number())},
    {"hybrid", READ(hybrid, ParseHybrid(value))},
    {"vector", READ(vector, ParseVector(value.string()))},
    {"withoutVector", READ(without_vector, value.boolean())},
    {"retrieveVectors", READ(retrieve_vectors, value.boolean())},
    {"showPassages", READ(show_passages, value.integer())},
    {"pins", READ(pins, ParsePins(value))},
    {"locales", READ(locales, ParseLocales(value))},
    {"keepsPage", READ(keeps_page, value.boolean())},
    {"reranked", READ(reranked, value.integer())},
    {"responseBytesMax", READ(response_bytes_max, request.format.bytes_max = value.integer())},
};
#undef READ

// Checks the members that others need.
Status CheckComplete(const json::Value& object) {
  if (object["hybrid"].is_object())
    GANNET_RETURN_IF_ERROR(RequireMembers(object["hybrid"], "hybrid.", {"semanticRatio"}));
  if (object["diversity"].is_object())
    GANNET_RETURN_IF_ERROR(RequireMembers(object["diversity"], "diversity.", {"max"}));
  if (object["attributesToHighlight"].is_array())
    GANNET_RETURN_IF_ERROR(RequireMembers(object, "", {"highlightPreTag", "highlightPostTag"}));
  if (object["attributesToCrop"].is_array())
    GANNET_RETURN_IF_ERROR(RequireMembers(object, "", {"cropLength", "cropMarker"}));
  return Status::Ok();
}

Status ReadGroupBy(const json::Value& value, SearchRequest& request) {
  GANNET_ASSIGN_OR_RETURN(request.group, GroupBy::FromJson(value));
  GANNET_RETURN_IF_ERROR(RequireMembers(value, "groupBy.", {"page", "limit"}));
  request.distinct = request.group->attribute;
  request.page = PageMembers::Numbered(value["page"].integer(), value["limit"].integer());
  return Status::Ok();
}

}  // namespace

Status RequireMembers(const json::Value& object, std::string_view path,
                      std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (object[name].is_null())
      return Status::Internal("the request lacks `" + std::string(path) + std::string(name) + "`");
  }
  return Status::Ok();
}

Result<GroupBy> GroupBy::FromJson(const json::Value& object) {
  GANNET_RETURN_IF_ERROR(RequireMembers(object, "groupBy.", {"hits"}));
  return GroupBy{object["attribute"].string(), object["hits"].integer(),
                 object["facetsPer"].string() == "group"};
}

Result<PageMembers> PageMembers::FromJson(const json::Value& object) {
  PageMembers page;
  page.numbered = !object["page"].is_null() || !object["hitsPerPage"].is_null();
  if (page.numbered) {
    GANNET_RETURN_IF_ERROR(RequireMembers(object, "", {"page", "hitsPerPage"}));
    page.page = object["page"].integer();
    page.per_page = object["hitsPerPage"].integer();
  } else {
    GANNET_RETURN_IF_ERROR(RequireMembers(object, "", {"offset", "limit"}));
    page.offset = object["offset"].integer();
    page.limit = object["limit"].integer();
  }
  return page;
}

Window PageMembers::Positions(uint64_t total_max) const {
  if (!numbered) {
    const uint64_t begin = std::min(offset, total_max);
    return {begin, begin + std::min(limit, total_max - begin)};
  }
  const uint64_t before = page == 0 ? 0 : page - 1;
  // Pages far after the end must not overflow.
  const uint64_t begin = per_page != 0 && before > total_max / per_page
                             ? total_max
                             : std::min(per_page * before, total_max);
  return {begin, page == 0 ? begin : begin + std::min(per_page, total_max - begin)};
}

Result<SearchRequest> SearchRequest::FromJson(const json::Value& object) {
  GANNET_RETURN_IF_ERROR(CheckComplete(object));
  SearchRequest request;
  for (const auto& [name, value] : object.members()) {
    if (value.is_null()) continue;
    const auto parameter =
        std::find_if(std::begin(kParameters), std::end(kParameters),
                     [&name = name](const Parameter& known) { return known.name == name; });
    if (parameter != std::end(kParameters)) parameter->read(value, request);
  }
  for (const auto& [name, measure] : request.measures) {
    if (std::find(request.facets.begin(), request.facets.end(), name) == request.facets.end())
      request.facets.push_back(name);
  }
  if (object["groupBy"].is_object())
    GANNET_RETURN_IF_ERROR(ReadGroupBy(object["groupBy"], request));
  return request;
}

Window SearchRequest::RankedWindow(uint64_t total_max) const {
  const Window shown = page.Positions(total_max);
  return reranked == 0 ? shown : Window{0, std::min(std::max(reranked, shown.end), total_max)};
}

uint64_t SearchRequest::FirstPage(uint64_t total_max) const {
  return std::min(first_page.value_or(page.size()), total_max);
}

MatchingStrategy SearchRequest::StrategyOf(const index::Settings& settings) const {
  return strategy.value_or(settings.default_matching_strategy);
}

Fusion SearchRequest::FusionOf(const index::Settings& settings) const {
  const bool natural = StrategyOf(settings) == MatchingStrategy::kNatural;
  return hybrid->fusion.value_or(natural ? Fusion::kRrf : Fusion::kScore);
}

uint64_t CutoffMs(const index::Snapshot& snapshot) { return snapshot.settings->search_cutoff_ms; }

Deadline DeadlineOf(const index::Snapshot& snapshot, const SearchRequest& request) {
  if (request.deadline) return *request.deadline;
  return Deadline::In(CutoffMs(snapshot), request.cancelled);
}

}  // namespace gannet::search
