#include "search/foreign_documents.h"

#include <algorithm>
#include <optional>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/stop_point.h"

namespace gannet::search {
namespace {

using json::Kind;
using json::KindOf;

std::optional<std::string_view> MemberOf(std::string_view object, std::string_view wanted) {
  std::optional<std::string_view> found;
  json::ForEachMember(object, [&](std::string_view name, std::string_view value) {
    if (name == wanted) found = value;
    return !found;
  });
  return found;
}

class IdFinder {
 public:
  explicit IdFinder(const std::function<void(std::string_view, std::string)>& found)
      : found_(found) {}

  void FindIn(std::string_view object, std::string_view path) const {
    if (const auto own = MemberOf(object, path)) return FindIds(*own);
    for (size_t dot = path.find('.', 1); dot != path.npos; dot = path.find('.', dot + 1)) {
      if (const auto inner = MemberOf(object, path.substr(0, dot)))
        FindBelow(*inner, path.substr(dot + 1));
    }
  }

 private:
  void FindBelow(std::string_view value, std::string_view path) const {
    if (KindOf(value) == Kind::kObject) FindIn(value, path);
    if (KindOf(value) != Kind::kArray) return;
    json::ForEachElement(value, [&](std::string_view item) { FindBelow(item, path); });
  }

  void FindIds(std::string_view value) const {
    std::string scratch;
    if (KindOf(value) == Kind::kArray) {
      json::ForEachElement(value, [&](std::string_view item) { FindIds(item); });
    } else if (KindOf(value) == Kind::kString) {
      found_(value, std::string(json::StringValue(value, scratch)));
    } else if (KindOf(value) == Kind::kNumber && value.find_first_of(".eE") == value.npos) {
      found_(value, value == "-0" ? "0" : std::string(value));
    }
  }

  const std::function<void(std::string_view, std::string)>& found_;
};

// The document without one member.
std::string Without(std::string_view document, std::string_view key) {
  std::string out = "{";
  json::ForEachMember(document, [&](std::string_view name, std::string_view value) {
    if (name == key) return;
    if (out.size() > 1) out += ',';
    AppendJsonString(out, name);
    out += ':';
    out += value;
  });
  return out + '}';
}

}  // namespace

std::vector<ForeignKey> ForeignKey::ListFromJson(const json::Value& list) {
  std::vector<ForeignKey> keys;
  for (const json::Value& key : list.items())
    keys.push_back({key["foreignIndexUid"].string(), key["fieldName"].string()});
  return keys;
}

void ForEachForeignId(std::string_view hit, std::string_view path,
                      const std::function<void(std::string_view value, std::string id)>& found) {
  const IdFinder finder(found);
  finder.FindIn(hit, path);
  if (const auto formatted = MemberOf(hit, "_formatted")) finder.FindIn(*formatted, path);
}

uint32_t ForeignIds::Index(const std::string& uid) {
  const auto known =
      std::find_if(indexes_.begin(), indexes_.end(), [&](const Of& one) { return one.uid == uid; });
  const auto index = static_cast<uint32_t>(known - indexes_.begin());
  if (known == indexes_.end()) indexes_.emplace_back().uid = uid;
  return index;
}

std::optional<uint32_t> ForeignIds::Add(uint32_t index, std::string id) {
  Of& of = indexes_[index];
  const auto next = static_cast<uint32_t>(of.ids.size());
  if (next < kMax) {
    const auto [at, is_new] = of.numbers.try_emplace(std::move(id), next);
    if (is_new) of.ids.push_back(&at->first);
    return at->second;
  }
  if (const auto at = of.numbers.find(id); at != of.numbers.end()) return at->second;
  of.too_many = true;
  return std::nullopt;
}

void ForeignIds::Append(std::string& out) const {
  out += '[';
  for (const Of& of : indexes_) {
    if (&of != &indexes_[0]) out += ',';
    out += "{\"uid\":";
    AppendJsonString(out, of.uid);
    out += ",\"ids\":[";
    for (const std::string* const& id : of.ids) {
      if (&id != &of.ids[0]) out += ',';
      AppendJsonString(out, *id);
    }
    out += of.too_many ? "],\"tooMany\":true}" : "]}";
  }
  out += ']';
}

ForeignDocuments::ForeignDocuments(std::string_view listing, std::string_view primary_key,
                                   bool hides_key, std::shared_ptr<void> keep)
    : keep_(std::move(keep)) {
  const auto results = MemberOf(listing, "results");
  if (!results) return;
  std::string scratch;
  json::ForEachElement(*results, [&](std::string_view document) {
    StopPoint();
    const auto key = MemberOf(document, primary_key);
    if (!key) return;
    const std::string id(KindOf(*key) == Kind::kString ? json::StringValue(*key, scratch) : *key);
    if (hides_key) document = written_.emplace_back(Without(document, primary_key));
    by_id_.insert_or_assign(id, document);
  });
}

std::string_view ForeignDocuments::Find(const std::string& id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? "{}" : found->second;
}

}  // namespace gannet::search
