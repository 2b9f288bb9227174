#include "indexing/operations.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "base/json_reader.h"
#include "base/utf8.h"
#include "indexing/extract.h"
#include "indexing/parse.h"
#include "indexing/vectors_field.h"

namespace gannet::indexing {
namespace {

constexpr size_t kArenaBytes = 256 << 10, kFirstArenaBytes = 4096;
constexpr size_t kIdBytesMax = 511;

bool ValidIdText(std::string_view id) {
  return !id.empty() && id.size() <= kIdBytesMax && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

// Writes an integer between -2^63 and 2^64-1 as decimal text.
bool IntegerText(std::string_view number, std::string& out) {
  std::string_view digits = number;
  const bool negative = digits.starts_with('-');
  if (negative) digits.remove_prefix(1);
  if (digits.empty() || digits.size() > 20) return false;
  unsigned __int128 value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return false;
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  if (negative ? value > (static_cast<unsigned __int128>(1) << 63) : value >> 64 != 0) return false;
  out = negative && value == 0 ? "0" : std::string(number);
  return true;
}

// Appends every value found at a dotted path, through literal names and nested objects. If members
// of an object have the same name, only the last one counts.
void FindPath(std::string_view object, std::string_view path,
              std::vector<std::string_view>& found) {
  // By the length of their names, which are all prefixes of the path.
  std::map<size_t, std::string_view> members;
  json::ForEachMember(object, [&](std::string_view key, std::string_view value) {
    if (path.starts_with(key) && (path.size() == key.size() || path[key.size()] == '.'))
      members[key.size()] = value;
  });
  for (const auto& [length, value] : members) {
    if (length == path.size()) {
      found.push_back(value);
    } else if (json::KindOf(value) == json::Kind::kObject) {
      FindPath(value, path.substr(length + 1), found);
    }
  }
}

uint64_t HashId(std::string_view id) { return std::hash<std::string_view>()(id); }

}  // namespace

Result<std::unique_ptr<Payload>> Payload::Map(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return segment::IoStatus("opening a payload", errno);
  struct stat status {};
  if (fstat(descriptor, &status) != 0) {
    close(descriptor);
    return segment::IoStatus("reading a payload", errno);
  }
  const auto size = static_cast<size_t>(status.st_size);
  auto payload = std::make_unique<Payload>(std::string_view());
  if (size > 0) {
    void* map = mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
    if (map == MAP_FAILED) {
      close(descriptor);
      return segment::IoStatus("mapping a payload", errno);
    }
    madvise(map, size, MADV_SEQUENTIAL);
    payload->map_ = map;
    payload->bytes_ = {static_cast<const char*>(map), size};
  }
  close(descriptor);
  return payload;
}

Payload::~Payload() {
  if (map_ != nullptr) munmap(map_, bytes_.size());
}

void Payload::ReleasePages() const {
  if (map_ != nullptr) madvise(map_, bytes_.size(), MADV_DONTNEED);
}

std::string_view Payloads::Hold(std::unique_ptr<Payload> payload) {
  held_.push_back(std::move(payload));
  return held_.back()->bytes();
}

void Payloads::Read(uint64_t bytes) const {
  // Documents read next may be far from each other.
  bytes += kPageBytes;
  const uint64_t before = read_.fetch_add(bytes, std::memory_order_relaxed);
  if (before / kResidentBytes == (before + bytes) / kResidentBytes) return;
  for (const auto& payload : held_) payload->ReleasePages();
}

Result<std::string> InferPrimaryKey(std::string_view document) {
  std::vector<std::string> candidates;
  json::ForEachMember(document, [&](std::string_view key, std::string_view) {
    if (key.size() < 2) return;
    const char i = key[key.size() - 2], d = key[key.size() - 1];
    if ((i == 'i' || i == 'I') && (d == 'd' || d == 'D')) candidates.emplace_back(key);
  });
  std::sort(candidates.begin(), candidates.end());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  if (candidates.empty()) {
    return Status::Invalid(
        "The primary key could not be guessed: no attribute of the first document ends in `id`. "
        "Give the "
        "parameter `primaryKey`.",
        "index_primary_key_no_candidate_found");
  }
  if (candidates.size() > 1) {
    return Status::Invalid(
        "The primary key could not be guessed: " + std::to_string(candidates.size()) +
            " attributes of the first document end in `id`, such as `" + candidates[0] + "` and `" +
            candidates[1] + "`. Give the parameter `primaryKey`.",
        "index_primary_key_multiple_candidates_found");
  }
  return candidates[0];
}

Operations::Operations(const index::Snapshot& before, index::Index::ExternalIds& ids,
                       const DocSet& deleted, bool cleared)
    : primary_key(before.primary_key),
      has_primary_key(before.has_primary_key),
      before_(before),
      ids_(ids),
      deleted_(deleted),
      cleared_(cleared),
      slots_(1 << 10) {
  for (const index::EmbedderSettings& embedder : before.settings->embedders)
    dimensions_.push_back(before.DimensionsOf(embedder));
}

const char* Operations::Keep(std::string_view bytes) {
  if (bytes.size() > arena_left_) {
    // A large piece gets a block of its own, and the current block stays in use.
    const size_t size = arena_.empty() ? kFirstArenaBytes : kArenaBytes;
    if (bytes.size() * 4 > size) {
      arena_.insert(arena_.begin(), std::make_unique_for_overwrite<char[]>(bytes.size()));
      std::memcpy(arena_.front().get(), bytes.data(), bytes.size());
      return arena_.front().get();
    }
    arena_.push_back(std::make_unique_for_overwrite<char[]>(size));
    arena_at_ = arena_.back().get();
    arena_left_ = size;
  }
  char* kept = arena_at_;
  std::memcpy(kept, bytes.data(), bytes.size());
  arena_at_ += bytes.size();
  arena_left_ -= bytes.size();
  return kept;
}

const char* Operations::KeepId(std::string_view id) {
  std::string bytes;
  PutFixed<uint16_t>(bytes, static_cast<uint16_t>(id.size()));
  bytes.append(id);
  return Keep(bytes);
}

uint64_t Operations::memory_bytes() const {
  return operations_.size() * sizeof(Operation) + touched_.size() * sizeof(TouchedDocument) +
         slots_.size() * 4 + arena_.size() * kArenaBytes;
}

Status Operations::ReadId(std::string_view document, std::string& id,
                          std::string_view& vectors) const {
  std::string_view value;
  vectors = {};
  json::ForEachMember(document, [&](std::string_view key, std::string_view member) {
    if (key == primary_key) value = member;
    if (key == kVectorsField) vectors = member;
  });
  if (primary_key.find('.') != std::string::npos) {
    value = {};
    std::vector<std::string_view> found;
    FindPath(document, primary_key, found);
    if (found.size() > 1) {
      return Status::Invalid(
          "The primary key `" + primary_key +
              "` is found more than once in the document: " + Shortened(document),
          "invalid_document_id");
    }
    if (!found.empty()) value = found[0];
  }
  if (value.empty()) {
    return Status::Invalid("The document lacks a value for the primary key `" + primary_key +
                               "`: " + Shortened(document),
                           "missing_document_id");
  }
  std::string scratch;
  if (json::KindOf(value) == json::Kind::kString) {
    const std::string_view text = json::StringValue(value, scratch);
    if (ValidIdText(text)) {
      id = text;
      return Status::Ok();
    }
  } else if (json::KindOf(value) == json::Kind::kNumber && IntegerText(value, id)) {
    return Status::Ok();
  }
  return Status::Invalid("The document id " + Shortened(value) +
                             " is not valid: an id is an integer, or a text of 1 to 511 bytes of "
                             "a-z, A-Z, 0-9, - and _.",
                         "invalid_document_id");
}

Status Operations::CheckVectors(std::string_view id, std::string_view vectors, bool& missing) {
  missing = false;
  const auto& embedders = before_.settings->embedders;
  if (vectors.empty() && embedders.empty()) return Status::Ok();
  GANNET_ASSIGN_OR_RETURN(const VectorsMembers members, ReadVectorsMembers(id, vectors));
  // Reports wrong types anywhere in the document before wrong lengths.
  Status wrong_length, missing_vectors;
  size_t known = 0;
  for (size_t i = 0; i < embedders.size(); ++i) {
    const auto found = members.find(embedders[i].name);
    if (found == members.end()) {
      missing |= !embedders[i].computes;
      continue;
    }
    ++known;
    const auto entry = ReadVectorsEntry(id, found->first, found->second, dimensions_[i]);
    if (!entry.ok()) {
      if (entry.status().detail() != "invalid_vector_dimensions") return entry.status();
      if (wrong_length.ok()) wrong_length = entry.status();
      continue;
    }
    if (dimensions_[i] == 0) dimensions_[i] = DimensionsOf(*entry);
    // Nobody else can make them.
    if (!embedders[i].computes && entry->regenerate && !entry->given() && !entry->removed &&
        missing_vectors.ok()) {
      missing_vectors = MissingVectors(id, embedders[i].name, members);
    }
  }
  if (known != members.size()) {
    for (const auto& [name, value] : members) {
      if (before_.settings->Embedder(name) == nullptr)
        GANNET_RETURN_IF_ERROR(ReadVectorsEntry(id, name, value, 0).status());
    }
  }
  return wrong_length.ok() ? missing_vectors : wrong_length;
}

Status Operations::CheckMissing(const BlockVector<Sent>& sent) const {
  const auto id_of = [](const Sent& document) {
    return std::string_view(document.id + 2, LoadFixed<uint16_t>(document.id));
  };
  // Values that other documents of the payload give to the same id; made when needed.
  std::map<std::string_view, std::vector<std::string_view>> others;
  for (size_t i = 0; i < sent.size(); ++i) {
    if (!sent[i].missing || Exists(id_of(sent[i]))) continue;
    if (others.empty()) {
      for (size_t j = 0; j < sent.size(); ++j)
        others[id_of(sent[j])].emplace_back(sent[j].document, sent[j].size);
    }
    VectorsMembers given;
    const auto& documents = others[id_of(sent[i])];
    std::string id;
    std::string_view vectors;
    for (const std::string_view document : documents) {
      GANNET_RETURN_IF_ERROR(ReadId(document, id, vectors));
      GANNET_ASSIGN_OR_RETURN(VectorsMembers members, ReadVectorsMembers(id, vectors));
      given.merge(members);
    }
    for (const index::EmbedderSettings& embedder : before_.settings->embedders) {
      if (!embedder.computes && !given.contains(embedder.name))
        return MissingVectors(id, embedder.name, given);
    }
  }
  return Status::Ok();
}

bool Operations::Exists(std::string_view id) const {
  for (size_t at = HashId(id) & (slots_.size() - 1); slots_[at] != 0;
       at = (at + 1) & (slots_.size() - 1)) {
    if (touched_[slots_[at] - 1].id() == id) return touched_[slots_[at] - 1].exists;
  }
  if (cleared_) return false;
  const auto docid = ids_.Find(id);
  return docid.has_value() && !deleted_.Contains(*docid);
}

bool Operations::Add(const char* id_bytes, Operation operation) {
  const std::string_view id(id_bytes + 2, LoadFixed<uint16_t>(id_bytes));
  if (touched_.size() * 2 >= slots_.size()) {
    slots_.assign(slots_.size() * 2, 0);
    for (uint32_t i = 0; i < touched_.size(); ++i) {
      size_t at = HashId(touched_[i].id()) & (slots_.size() - 1);
      while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = i + 1;
    }
  }
  const auto number = static_cast<uint32_t>(operations_.size());
  operation.next = kNone;
  operations_.push_back(operation);
  size_t at = HashId(id) & (slots_.size() - 1);
  for (; slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
    TouchedDocument& document = touched_[slots_[at] - 1];
    if (document.id() != id) continue;
    distinct_ += document.last < payload_first_ ? 1 : 0;
    operations_[document.last].next = number;
    document.last = number;
    const bool existed = document.exists;
    document.exists =
        operation.action == Action::kDelete ? false : existed || !operation.skip_creation;
    return existed;
  }
  const auto docid = cleared_ ? std::nullopt : ids_.Find(id);
  const bool existed = docid.has_value() && !deleted_.Contains(*docid);
  const bool exists =
      operation.action == Action::kDelete ? false : existed || !operation.skip_creation;
  ++distinct_;
  slots_[at] = static_cast<uint32_t>(touched_.size()) + 1;
  touched_.push_back({id_bytes, number, number, docid.value_or(kNone), docid.has_value(), exists});
  return existed;
}

Status Operations::AddDocuments(std::string_view payload, const Payloads& payloads, bool ndjson,
                                bool update, bool skip_creation,
                                const std::string& primary_key_given, bool primary_key_is_given,
                                StepOutcome& outcome) {
  const PayloadFormat format = ndjson ? PayloadFormat::kNdjson : PayloadFormat::kJson;
  const std::string key_before = primary_key;
  const bool had_key = has_primary_key;
  const std::vector<uint32_t> dimensions_before = dimensions_;
  if (primary_key_is_given) {
    if (!has_primary_key) {
      primary_key = primary_key_given;
      has_primary_key = true;
    } else if (update && primary_key_given != primary_key) {
      return Status::Invalid("The index has the primary key `" + primary_key + "` already; `" +
                                 primary_key_given + "` cannot replace it.",
                             "index_primary_key_already_exists");
    }
  }
  // Ids are read first: one bad document rejects the whole payload.
  BlockVector<Sent> entries;
  std::string id;
  std::string_view vectors;
  bool missing = false, any_missing = false;
  const bool geo = before_.settings->GeoEnabled(), shapes = before_.settings->GeoJsonEnabled();
  Status status = ForEachDocument(payload, format, [&](std::string_view document) -> Status {
    if (!has_primary_key) {
      GANNET_ASSIGN_OR_RETURN(primary_key, InferPrimaryKey(document));
      has_primary_key = true;
    }
    GANNET_RETURN_IF_ERROR(ReadId(document, id, vectors));
    GANNET_RETURN_IF_ERROR(CheckVectors(id, vectors, missing));
    any_missing |= missing;
    if (geo || shapes) {
      std::string_view point, shape;
      json::ForEachMember(document, [&](std::string_view key, std::string_view value) {
        if (key == "_geo") point = value;
        if (key == "_geojson") shape = value;
      });
      if (geo && !point.empty()) GANNET_RETURN_IF_ERROR(CheckGeo(id, point));
      if (shapes && !shape.empty()) GANNET_RETURN_IF_ERROR(CheckGeoJson(id, shape));
    }
    // A slice outside the payload (padded or mended by the parser) is valid during this call only.
    const bool borrowed = document.data() >= payload.data() &&
                          document.data() + document.size() <= payload.data() + payload.size();
    payloads.Read(document.size());
    if (document.size() > UINT32_MAX) return Status::Limit("A document is larger than 4 GiB.");
    entries.push_back({KeepId(id), borrowed ? document.data() : Keep(document),
                       static_cast<uint32_t>(document.size()), missing});
    return Status::Ok();
  });
  // A document that would not be created needs no vectors.
  if (status.ok() && any_missing && !skip_creation) status = CheckMissing(entries);
  if (!status.ok()) {
    primary_key = key_before;
    has_primary_key = had_key;
    dimensions_ = dimensions_before;
    return status;
  }
  payload_first_ = static_cast<uint32_t>(operations_.size());
  distinct_ = 0;
  const Action action = update ? Action::kUpdate : Action::kReplace;
  for (size_t i = 0; i < entries.size(); ++i) {
    Add(entries[i].id, {entries[i].document, entries[i].size, kNone, action, skip_creation});
  }
  outcome.indexed = distinct_;
  return Status::Ok();
}

bool Operations::AddDeletion(std::string_view id) {
  // No document can have such an id.
  if (id.empty() || id.size() > kIdBytesMax) return false;
  return Add(KeepId(id), {nullptr, 0, kNone, Action::kDelete, false});
}

}  // namespace gannet::indexing
