#include "index/index.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <set>

#include "base/bytes.h"
#include "index/delta.h"
#include "index/expiry.h"
#include "index/external_id.h"
#include "index/keys.h"
#include "segment/layout.h"

namespace gannet::index {
namespace {

// Makes the name of a new folder durable.
Status MakeFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0)
    return segment::SyncFolder(std::filesystem::path(path).parent_path().string());
  return errno == EEXIST ? Status::Ok() : segment::IoStatus("creating a folder", errno);
}

std::string ManifestOf(const Snapshot& snapshot) {
  std::string manifest;
  for (const auto& segment : snapshot.segments) {
    PutVarint(manifest, segment->files.id);
    PutVarint(manifest, segment->files.base_file);
    PutVarint(manifest, segment->files.columns_file);
  }
  return manifest;
}

// Number of embeddings of these documents.
uint64_t CountEmbeddings(const segment::VectorsReader& vectors, const DocSet& documents) {
  uint64_t count = 0;
  for (const segment::EmbedderReader& embedder : vectors.embedders()) {
    documents.ForEach([&](DocId docid) {
      const auto rows = embedder.FindRows(docid);
      count += rows.end - rows.begin;
    });
  }
  return count;
}

// The segments that have graphs, and their files. Empty: none.
std::string GraphsOf(const Snapshot& snapshot) {
  std::string graphs;
  for (const auto& segment : snapshot.segments) {
    if (segment->files.graphs_file == 0) continue;
    PutVarint(graphs, segment->files.id);
    PutVarint(graphs, segment->files.graphs_file);
  }
  return graphs;
}

FileSums SumsOf(const Snapshot& snapshot) {
  FileSums sums;
  for (const auto& segment : snapshot.segments) {
    sums.Add(segment->files.base_file, *segment->rows->file());
    sums.Add(segment->files.columns_file, *segment->columns->file());
    if (segment->graphs != nullptr) sums.Add(segment->files.graphs_file, *segment->graphs->file());
  }
  return sums;
}

// The file that a commit gives for a segment; 0: none.
uint64_t FileOf(const std::vector<std::pair<SegmentId, uint64_t>>& files, SegmentId id) {
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const auto& change) { return change.first == id; });
  return found == files.end() ? 0 : found->second;
}

void ReadSettings(Snapshot& snapshot) {
  static const StoredSettings kNeverSet;
  const auto& stored = snapshot.stored_settings;
  snapshot.settings =
      std::make_shared<Settings>(Settings::From(stored == nullptr ? kNeverSet : *stored));
  snapshot.analyzer = MakeAnalyzer(*snapshot.settings);
}

// Applies a commit to a snapshot, except for the segments that it adds or changes.
void ApplyValues(const Commit& commit, Snapshot& snapshot) {
  if (commit.clear) {
    snapshot.segments.clear();
    snapshot.distribution = {};
  }
  if (commit.settings) {
    snapshot.stored_settings = commit.settings;
    ReadSettings(snapshot);
  }
  if (commit.fields) snapshot.fields = commit.fields;
  if (commit.fields || commit.settings)
    snapshot.traits = PlanFields(*snapshot.fields, *snapshot.settings);
  if (commit.primary_key) {
    snapshot.primary_key = *commit.primary_key;
    snapshot.has_primary_key = true;
  }
  if (commit.distribution) snapshot.distribution = *commit.distribution;
  if (commit.dictionary)
    snapshot.dictionary = std::make_shared<const segment::RowDictionary>(*commit.dictionary);
  if (commit.updated_at) snapshot.updated_at = *commit.updated_at;
  if (commit.last_batch) snapshot.last_batch = *commit.last_batch;
}

// The graphs of the removed segment with the most embeddings, if a segment that replaces it can
// start from them: it has as many embeddings, and may get graphs.
std::shared_ptr<const segment::GraphsReader> EarlierGraphs(const SegmentViews& before,
                                                           const Commit& commit,
                                                           const SegmentView& added) {
  const auto& embedders = added.vectors->embedders();
  if (std::none_of(embedders.begin(), embedders.end(), [](const auto& embedder) {
        return !embedder.has_signs() || segment::WantsGraph(embedder);
      }))
    return nullptr;
  std::shared_ptr<const segment::GraphsReader> earlier;
  uint64_t greatest = 0;
  for (const auto& segment : before) {
    const auto& graphs = segment->graphs != nullptr ? segment->graphs : segment->earlier_graphs;
    if (graphs == nullptr || segment->embedding_count <= greatest ||
        segment->embedding_count > added.embedding_count ||
        std::find(commit.removed.begin(), commit.removed.end(), segment->files.id) ==
            commit.removed.end())
      continue;
    earlier = graphs;
    greatest = segment->embedding_count;
  }
  return earlier;
}

}  // namespace

std::shared_ptr<const text::Analyzer> MakeAnalyzer(const Settings& settings) {
  return std::make_shared<const text::Analyzer>(
      text::AnalyzerSettings{settings.stop_words, settings.separator_tokens,
                             settings.non_separator_tokens, settings.dictionary});
}

Status SegmentView::Health() const {
  GANNET_RETURN_IF_ERROR(rows->file()->Health());
  return columns->file()->Health();
}

void SegmentView::Lose(const DocSet& documents) {
  const DocSet lost = documents & live;
  embedding_count -= CountEmbeddings(*vectors, lost);
  dead |= lost;
  live -= lost;
  dead_bits = std::make_shared<DocBits>(dead);
}

const SegmentView* Snapshot::FindSegment(DocId docid) const {
  for (const auto& segment : segments) {
    if (segment->live.Contains(docid)) return segment.get();
  }
  return nullptr;
}

uint32_t Snapshot::DimensionsOf(const EmbedderSettings& embedder) const {
  if (embedder.dimensions != 0) return embedder.dimensions;
  for (const auto& segment : segments) {
    if (const segment::EmbedderReader* vectors = segment->vectors->Find(embedder.name))
      return vectors->dimensions();
  }
  return 0;
}

Snapshot::EmbeddingCounts Snapshot::CountEmbeddings() const {
  EmbeddingCounts counts{0, 0};
  for (const auto& segment : segments) {
    counts.embeddings += segment->embedding_count;
    if (segment->embedded->empty()) continue;
    counts.documents += segment->all_live() ? segment->embedded->size()
                                            : (*segment->embedded & segment->live).size();
  }
  return counts;
}

Status Snapshot::Health() const {
  for (const auto& segment : segments) GANNET_RETURN_IF_ERROR(segment->Health());
  return Status::Ok();
}

void Snapshot::ExpectRows(std::span<const DocId> docids) const {
  for (const DocId docid : docids) {
    for (const auto& segment : segments) {
      if (!segment->live.Contains(docid)) continue;
      if (const int64_t local = segment->text->Find(docid); local >= 0)
        segment->rows->Expect(static_cast<size_t>(local));
      break;
    }
  }
}

std::string_view Snapshot::FindRow(DocId docid) const {
  const SegmentView* segment = FindSegment(docid);
  const int64_t local = segment == nullptr ? -1 : segment->text->Find(docid);
  return local < 0 ? std::string_view() : segment->rows->at(static_cast<size_t>(local));
}

Result<std::shared_ptr<Index>> Index::Open(const std::string& dir, IfAbsent if_absent) {
  const std::string database = dir + "/index.mdb";
  auto index = std::shared_ptr<Index>(new Index(dir));
  struct stat status {};
  const bool is_absent = stat(database.c_str(), &status) != 0 || status.st_size == 0;
  if (is_absent && if_absent == IfAbsent::kCreate) {
    bool has_files = false;
    index->EachFile([&](const std::string&) { has_files = true; });
    if (has_files)
      return Status::Corruption(dir + " has segments, but " + database + " is missing or empty");
    GANNET_RETURN_IF_ERROR(MakeFolder(dir));
    GANNET_RETURN_IF_ERROR(MakeFolder(dir + "/segments"));
    GANNET_ASSIGN_OR_RETURN(index->env_, store::Environment::Create(database));
    GANNET_RETURN_IF_ERROR(segment::SyncFolder(dir));
  } else {
    GANNET_ASSIGN_OR_RETURN(index->env_, store::Environment::Open(database));
  }
  GANNET_ASSIGN_OR_RETURN(index->main_, index->env_->OpenTable("main"));
  GANNET_ASSIGN_OR_RETURN(index->external_ids_, index->env_->OpenTable("external_ids"));
  if (is_absent) GANNET_RETURN_IF_ERROR(index->WriteFirst());
  GANNET_RETURN_IF_ERROR(index->Load());
  // A copy of an index without documents may lack the empty folder.
  if (index->snapshot_->segments.empty()) GANNET_RETURN_IF_ERROR(MakeFolder(dir + "/segments"));
  return index;
}

Status Index::WriteFirst() {
  GANNET_ASSIGN_OR_RETURN(auto txn, env_->Write());
  std::string number;
  PutFixed<uint64_t>(number, next_number_.load());
  GANNET_RETURN_IF_ERROR(txn.Put(main_, keys::kManifest, ""));
  GANNET_RETURN_IF_ERROR(txn.Put(main_, keys::kNextNumber, number));
  return txn.Commit();
}

Status Index::Load() {
  GANNET_ASSIGN_OR_RETURN(const auto txn, env_->Read());
  const ReadMain read = [&](std::string_view key) { return txn.Get(main_, key); };
  // A read error must not pass for an absent manifest: Sweep removes files that it does not name.
  GANNET_ASSIGN_OR_RETURN(const auto manifest, read(keys::kManifest));
  has_manifest_ = manifest.has_value();
  // Every commit writes it.
  if (!has_manifest_ && txn.Count(main_) > 0)
    return Status::Corruption("the manifest of " + dir_ + " is missing");
  GANNET_ASSIGN_OR_RETURN(const auto number, read(keys::kNextNumber));
  if (number && number->size() == sizeof(uint64_t))
    next_number_ = LoadFixed<uint64_t>(number->data());
  GANNET_ASSIGN_OR_RETURN(snapshot_, ReadSnapshot(read, nullptr, Snapshot()));
  search_cutoff_ms_ = snapshot_->settings->search_cutoff_ms;
  // A number used by a job that did not end must not be given again while its file is open or
  // listed.
  EachFile([&](const std::string& name) {
    const uint64_t used = std::strtoull(name.c_str(), nullptr, 10);
    if (used >= next_number_.load()) next_number_ = used + 1;
  });
  return Status::Ok();
}

Result<std::shared_ptr<Snapshot>> Index::ReadSnapshot(const ReadMain& read,
                                                      const ChangedKeys* changed,
                                                      const Snapshot& before) {
  auto snapshot = std::make_shared<Snapshot>(before);
  const auto is_changed = [&](std::string_view key) {
    return changed == nullptr || changed->contains(key);
  };
  const auto read_text = [&](std::string_view key, std::string& into) -> Status {
    if (!is_changed(key)) return Status::Ok();
    GANNET_ASSIGN_OR_RETURN(const auto value, read(key));
    into = value.value_or("");
    return Status::Ok();
  };
  if (is_changed(keys::kSettings)) {
    GANNET_ASSIGN_OR_RETURN(snapshot->stored_settings, LoadSettings(read));
    ReadSettings(*snapshot);
  }
  if (is_changed(keys::kFields)) {
    GANNET_ASSIGN_OR_RETURN(const auto fields, read(keys::kFields));
    snapshot->fields = std::make_shared<const FieldMap>(FieldMap::Parse(fields.value_or("")));
  }
  if (is_changed(keys::kFields) || is_changed(keys::kSettings))
    snapshot->traits = PlanFields(*snapshot->fields, *snapshot->settings);
  GANNET_ASSIGN_OR_RETURN(const auto primary_key, read(keys::kPrimaryKey));
  snapshot->has_primary_key = primary_key.has_value();
  snapshot->primary_key = primary_key.value_or("");
  if (is_changed(keys::kDistribution)) {
    GANNET_ASSIGN_OR_RETURN(const auto stored, read(keys::kDistribution));
    auto distribution = Distribution::Parse(stored.value_or(""), *snapshot->fields);
    if (!distribution) return Status::Corruption("the distribution of " + dir_ + " is damaged");
    snapshot->distribution = std::move(*distribution);
  }
  if (is_changed(keys::kDictionary)) {
    GANNET_ASSIGN_OR_RETURN(const auto dictionary, read(keys::kDictionary));
    if (dictionary)
      snapshot->dictionary =
          std::make_shared<const segment::RowDictionary>(std::string(*dictionary));
  }
  GANNET_RETURN_IF_ERROR(read_text(keys::kUpdatedAt, snapshot->updated_at));
  GANNET_RETURN_IF_ERROR(read_text(keys::kLastBatch, snapshot->last_batch));
  GANNET_RETURN_IF_ERROR(ReadSegments(read, changed, before, *snapshot));
  // Opening an index, which takes place on the main thread, leaves this to who needs it.
  if (changed != nullptr)
    snapshot->first_expiry = NextExpiry(*snapshot, -std::numeric_limits<double>::infinity());
  return snapshot;
}

Status Index::ReadSegments(const ReadMain& read, const ChangedKeys* changed, const Snapshot& before,
                           Snapshot& snapshot) {
  GANNET_ASSIGN_OR_RETURN(const auto graphs, read(keys::kGraphs));
  std::map<SegmentId, uint64_t> graph_files;
  for (ByteReader reader(graphs.value_or("")); !reader.done();) {
    const SegmentId id = reader.Varint();
    graph_files[id] = reader.Varint();
  }
  GANNET_ASSIGN_OR_RETURN(const auto file_sums, read(keys::kFileSums));
  const FileSums sums = FileSums::Parse(file_sums.value_or(""));
  GANNET_ASSIGN_OR_RETURN(const auto manifest, read(keys::kManifest));
  snapshot.segments.clear();
  snapshot.documents.Clear();
  for (ByteReader reader(manifest.value_or("")); !reader.done();) {
    SegmentFiles files;
    files.id = reader.Varint();
    files.base_file = reader.Varint();
    files.columns_file = reader.Varint();
    if (!reader.ok()) return Status::Corruption("the manifest of " + dir_ + " is damaged");
    if (const auto file = graph_files.find(files.id); file != graph_files.end())
      files.graphs_file = file->second;
    // Unless its documents are stored in another file, the open segment is kept.
    const auto found =
        std::find_if(before.segments.begin(), before.segments.end(), [&](const auto& segment) {
          return segment->files.id == files.id && segment->files.base_file == files.base_file;
        });
    const auto old = found == before.segments.end() ? nullptr : *found;
    DocSet dead;
    const std::string dead_key = keys::Dead(files.id);
    if (old != nullptr && changed != nullptr && !changed->contains(dead_key)) {
      dead = old->dead;
    } else {
      GANNET_ASSIGN_OR_RETURN(const auto bytes, read(dead_key));
      if (bytes) {
        GANNET_ASSIGN_OR_RETURN(dead, DocSet::Parse(*bytes));
      }
    }
    GANNET_ASSIGN_OR_RETURN(auto segment, SegmentLike(old, files, std::move(dead), sums));
    snapshot.documents |= segment->live;
    snapshot.segments.push_back(std::move(segment));
  }
  return Status::Ok();
}

Result<std::shared_ptr<const StoredSettings>> Index::LoadSettings(const ReadMain& read) {
  GANNET_ASSIGN_OR_RETURN(const auto stored, read(keys::kSettings));
  if (!stored) return std::shared_ptr<const StoredSettings>();
  StoredSettings settings{std::string(*stored), {}};
  const json::Value object = json::Value::Parse(settings.json);
  for (const auto& [name, size] : object["long"].members()) {
    GANNET_ASSIGN_OR_RETURN(const auto value, read(keys::LongSetting(name)));
    if (!value) return Status::Corruption("the setting " + name + " of " + dir_ + " is missing");
    settings.long_values.emplace(name, *value);
  }
  return std::make_shared<const StoredSettings>(std::move(settings));
}

template <typename To>
Status Index::PutSettings(To& to, const Snapshot& before, const StoredSettings* after) {
  if (after == nullptr) return Status::Ok();
  static const StoredSettings kNeverSet;
  const auto& old =
      (before.stored_settings == nullptr ? kNeverSet : *before.stored_settings).long_values;
  for (const auto& [name, value] : old) {
    if (!after->long_values.contains(name))
      GANNET_RETURN_IF_ERROR(to.Delete(main_, keys::LongSetting(name)));
  }
  for (const auto& [name, value] : after->long_values) {
    const auto same = old.find(name);
    if (same == old.end() || same->second != value)
      GANNET_RETURN_IF_ERROR(to.Put(main_, keys::LongSetting(name), value));
  }
  return to.Put(main_, keys::kSettings, after->json);
}

Result<std::shared_ptr<const SegmentView>> Index::SegmentLike(
    const std::shared_ptr<const SegmentView>& old, const SegmentFiles& files, DocSet dead,
    const FileSums& sums) {
  if (old == nullptr) return OpenSegment(files, std::move(dead), sums);
  Commit commit;
  commit.dead = dead - old->dead;
  if (files.columns_file != old->files.columns_file)
    commit.columns.emplace_back(files.id, files.columns_file);
  if (files.graphs_file != old->files.graphs_file)
    commit.graphs.emplace_back(files.id, files.graphs_file);
  GANNET_ASSIGN_OR_RETURN(auto changed, Changed(*old, commit, sums));
  return changed == nullptr ? old : std::move(changed);
}

std::string Index::FilePath(uint64_t number) const {
  return dir_ + "/segments/" + std::to_string(number);
}

Result<std::shared_ptr<segment::SegmentFile>> Index::OpenFile(uint64_t number,
                                                              const FileSums& sums) {
  GANNET_ASSIGN_OR_RETURN(auto file, segment::SegmentFile::Open(FilePath(number)));
  if (!sums.Matches(number, *file))
    return Status::Corruption("the segment file " + file->path() + " is another one");
  return file;
}

Result<std::shared_ptr<const SegmentView>> Index::OpenSegment(const SegmentFiles& files,
                                                              DocSet dead, const FileSums& sums) {
  auto view = std::make_shared<SegmentView>();
  view->files = files;
  GANNET_ASSIGN_OR_RETURN(auto base, OpenFile(files.base_file, sums));
  // Reads ahead the sections that opening needs, all at once.
  for (const segment::SectionId id :
       {segment::kRowDocids, segment::kRowOffsets, segment::kTextMeta, segment::kTerms,
        segment::kPostingOffsets, segment::kForwardOffsets, segment::kFieldLengths,
        segment::kAdjacencyWords, segment::kColumnDirectory}) {
    base->WillNeedAll(id);
  }
  GANNET_ASSIGN_OR_RETURN(view->rows, segment::RowsReader::Open(base));
  GANNET_ASSIGN_OR_RETURN(view->text, segment::TextReader::Open(base));
  auto columns = base;
  if (files.columns_file != files.base_file) {
    GANNET_ASSIGN_OR_RETURN(columns, OpenFile(files.columns_file, sums));
  }
  GANNET_ASSIGN_OR_RETURN(view->columns, segment::ColumnsReader::Open(columns));
  GANNET_ASSIGN_OR_RETURN(view->vectors, segment::VectorsReader::Open(base));
  if (files.graphs_file != 0) {
    GANNET_ASSIGN_OR_RETURN(const auto file, OpenFile(files.graphs_file, sums));
    GANNET_ASSIGN_OR_RETURN(view->graphs, segment::GraphsReader::Open(file, view->vectors));
  }
  auto embedded = std::make_shared<DocSet>();
  for (const segment::EmbedderReader& embedder : view->vectors->embedders()) {
    *embedded |= embedder.embedded();
    view->embedding_count += embedder.row_count();
  }
  view->embedded = std::move(embedded);
  if (!dead.empty()) view->embedding_count -= CountEmbeddings(*view->vectors, dead);
  auto documents = std::make_shared<DocSet>(view->rows->local_docids().Documents());
  documents->Optimize();
  view->documents = documents;
  view->dead = std::move(dead);
  view->live = *view->documents - view->dead;
  view->dead_bits = std::make_shared<DocBits>(view->dead);
  return std::shared_ptr<const SegmentView>(view);
}

void Index::EachFile(const std::function<void(const std::string&)>& each) const {
  DIR* listing = opendir((dir_ + "/segments").c_str());
  if (listing == nullptr) return;
  while (const dirent* entry = readdir(listing)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") each(name);
  }
  closedir(listing);
}

void Index::Sweep() {
  if (!has_manifest_) return;
  std::set<std::string> named;
  for (const auto& segment : snapshot()->segments) {
    named.insert(std::to_string(segment->files.base_file));
    named.insert(std::to_string(segment->files.columns_file));
    named.insert(std::to_string(segment->files.graphs_file));
  }
  EachFile([&](const std::string& name) {
    if (!named.contains(name)) unlink((dir_ + "/segments/" + name).c_str());
  });
}

std::shared_ptr<const Snapshot> Index::snapshot() const {
  const std::lock_guard lock(snapshot_mutex_);
  return snapshot_;
}

std::shared_ptr<const Snapshot> Index::present(double now) {
  std::shared_ptr<const Snapshot> current = snapshot();
  if (!current->settings->expires_at) return current;
  // Seconds are whole, so that this is done at most once in each.
  now = std::floor(now);
  const std::lock_guard lock(present_mutex_);
  if (present_.of != current || now < present_.from || now >= present_.until) {
    const DocSet expired = ExpiredAt(*current, now);
    const double until = NextExpiry(*current, now);
    present_ = {current, expired.empty() ? current : Without(*current, expired), now, until};
  }
  return present_.snapshot;
}

std::optional<DocId> Index::ExternalIds::Find(std::string_view id) {
  const auto value = txn_.Get(table_, ExternalIdKey(id));
  if (!value.ok()) {
    if (health_.ok()) health_ = value.status();
    return std::nullopt;
  }
  if (!*value || (*value)->size() != sizeof(DocId)) return std::nullopt;
  return LoadFixed<DocId>((*value)->data());
}

Result<Index::ExternalIds> Index::ReadExternalIds() {
  GANNET_ASSIGN_OR_RETURN(auto txn, env_->Read());
  return ExternalIds(std::move(txn), external_ids_);
}

template <typename To>
Status Index::WriteTo(To& to, Commit& commit, const Snapshot& before, const Snapshot& after) {
  if (commit.clear) GANNET_RETURN_IF_ERROR(to.Clear(external_ids_));
  for (const std::string& id : commit.removed_external_ids) {
    GANNET_RETURN_IF_ERROR(to.Delete(external_ids_, ExternalIdKey(id)));
  }
  // Sorted, so that neighbouring pages are written once: 16 times faster than in random order.
  std::sort(commit.new_external_ids.begin(), commit.new_external_ids.end(),
            [](const auto& a, const auto& b) { return HasKeyBefore(a.first, b.first); });
  for (const auto& [id, docid] : commit.new_external_ids) {
    GANNET_RETURN_IF_ERROR(to.Put(external_ids_, ExternalIdKey(id),
                                  {reinterpret_cast<const char*>(&docid), sizeof(docid)}));
  }
  std::string bytes;
  for (const auto& segment : after.segments) {
    const auto old = std::find_if(before.segments.begin(), before.segments.end(),
                                  [&](const auto& s) { return s->files.id == segment->files.id; });
    const bool same =
        old != before.segments.end() && ((*old) == segment || (*old)->dead == segment->dead);
    if (!same && !segment->dead.empty()) {
      bytes.clear();
      segment->dead.AppendTo(bytes);
      GANNET_RETURN_IF_ERROR(to.Put(main_, keys::Dead(segment->files.id), bytes));
    }
  }
  for (const auto& segment : before.segments) {
    const bool kept = std::any_of(after.segments.begin(), after.segments.end(),
                                  [&](const auto& s) { return s->files.id == segment->files.id; });
    if (!kept) GANNET_RETURN_IF_ERROR(to.Delete(main_, keys::Dead(segment->files.id)));
  }
  GANNET_RETURN_IF_ERROR(to.Put(main_, keys::kManifest, ManifestOf(after)));
  if (const std::string graphs = GraphsOf(after); graphs != GraphsOf(before)) {
    GANNET_RETURN_IF_ERROR(graphs.empty() ? to.Delete(main_, keys::kGraphs)
                                          : to.Put(main_, keys::kGraphs, graphs));
  }
  if (const FileSums sums = SumsOf(after); sums != SumsOf(before))
    GANNET_RETURN_IF_ERROR(to.Put(main_, keys::kFileSums, sums.bytes()));
  bytes.clear();
  PutFixed<uint64_t>(bytes, next_number_.load());
  GANNET_RETURN_IF_ERROR(to.Put(main_, keys::kNextNumber, bytes));
  GANNET_RETURN_IF_ERROR(PutSettings(to, before, commit.settings.get()));
  if (commit.fields) {
    bytes.clear();
    commit.fields->AppendTo(bytes);
    GANNET_RETURN_IF_ERROR(to.Put(main_, keys::kFields, bytes));
  }
  if (commit.primary_key)
    GANNET_RETURN_IF_ERROR(to.Put(main_, keys::kPrimaryKey, *commit.primary_key));
  if (commit.distribution) {
    bytes.clear();
    commit.distribution->AppendTo(bytes);
    GANNET_RETURN_IF_ERROR(to.Put(main_, keys::kDistribution, bytes));
  }
  if (commit.dictionary)
    GANNET_RETURN_IF_ERROR(to.Put(main_, keys::kDictionary, *commit.dictionary));
  if (commit.updated_at)
    GANNET_RETURN_IF_ERROR(to.Put(main_, keys::kUpdatedAt, *commit.updated_at));
  if (commit.last_batch)
    GANNET_RETURN_IF_ERROR(to.Put(main_, keys::kLastBatch, *commit.last_batch));
  return Status::Ok();
}

Status Index::Write(Commit& commit, const Snapshot& before, const Snapshot& after) {
  GANNET_ASSIGN_OR_RETURN(auto txn, env_->Write());
  GANNET_RETURN_IF_ERROR(WriteTo(txn, commit, before, after));
  return txn.Commit();
}

Result<std::string> Index::DeltaOf(Commit& commit, const Snapshot& before, const Snapshot& after) {
  const std::array tables = Tables();
  DeltaWriter delta(tables);
  GANNET_RETURN_IF_ERROR(WriteTo(delta, commit, before, after));
  return delta.Take();
}

std::array<NamedTable, 2> Index::Tables() const {
  return {NamedTable{"main", main_}, NamedTable{"external_ids", external_ids_}};
}

NewFiles::~NewFiles() {
  for (const uint64_t number : numbers_) index_.RemoveFile(number);
}

// Allocates no memory, because it must not fail when there is none.
void Index::RemoveFile(uint64_t number) const noexcept {
  char path[PATH_MAX];
  const int size = std::snprintf(path, sizeof(path), "%s/segments/%llu", dir_.c_str(),
                                 static_cast<unsigned long long>(number));
  if (size > 0 && static_cast<size_t>(size) < sizeof(path)) unlink(path);
}

Result<bool> Index::IsStored(const Snapshot& after) {
  GANNET_ASSIGN_OR_RETURN(const auto txn, env_->Read());
  GANNET_ASSIGN_OR_RETURN(const auto manifest, txn.Get(main_, keys::kManifest));
  GANNET_ASSIGN_OR_RETURN(const auto last_batch, txn.Get(main_, keys::kLastBatch));
  GANNET_ASSIGN_OR_RETURN(const auto graphs, txn.Get(main_, keys::kGraphs));
  GANNET_ASSIGN_OR_RETURN(const auto settings, txn.Get(main_, keys::kSettings));
  // A commit that only changes the settings names no batch.
  const bool has_settings =
      settings.value_or("") ==
      (after.stored_settings == nullptr ? std::string_view() : after.stored_settings->json);
  return has_settings && manifest.value_or("") == ManifestOf(after) &&
         graphs.value_or("") == GraphsOf(after) && last_batch.value_or("") == after.last_batch;
}

Result<std::shared_ptr<const SegmentView>> Index::Changed(const SegmentView& segment,
                                                          const Commit& commit,
                                                          const FileSums& sums) {
  const uint64_t columns_file = FileOf(commit.columns, segment.files.id),
                 graphs_file = FileOf(commit.graphs, segment.files.id);
  if (columns_file == 0 && graphs_file == 0 && !commit.dead.Intersects(segment.live))
    return std::shared_ptr<const SegmentView>();
  auto copy = std::make_shared<SegmentView>(segment);
  if (commit.dead.Intersects(segment.live)) copy->Lose(commit.dead);
  if (graphs_file != 0) {
    copy->files.graphs_file = graphs_file;
    copy->earlier_graphs = nullptr;
    GANNET_ASSIGN_OR_RETURN(const auto file, OpenFile(graphs_file, sums));
    GANNET_ASSIGN_OR_RETURN(copy->graphs, segment::GraphsReader::Open(file, copy->vectors));
  }
  if (columns_file != 0) {
    copy->files.columns_file = columns_file;
    GANNET_ASSIGN_OR_RETURN(const auto file, OpenFile(columns_file, sums));
    GANNET_ASSIGN_OR_RETURN(copy->columns, segment::ColumnsReader::Open(file));
  }
  return std::shared_ptr<const SegmentView>(std::move(copy));
}

Result<SegmentViews> Index::SegmentsAfter(const SegmentViews& before, const Commit& commit) {
  SegmentViews segments;
  // A segment without live documents is dropped.
  const auto keep = [&](std::shared_ptr<const SegmentView> segment) {
    if (segment->live.empty()) return false;
    segments.push_back(std::move(segment));
    return true;
  };
  for (const auto& segment : before) {
    const SegmentId id = segment->files.id;
    if (std::find(commit.removed.begin(), commit.removed.end(), id) != commit.removed.end())
      continue;
    GANNET_ASSIGN_OR_RETURN(auto changed, Changed(*segment, commit));
    if (changed == nullptr) {
      segments.push_back(segment);
    } else {
      keep(std::move(changed));
    }
  }
  for (const SegmentFiles& added : commit.added) {
    DocSet dead;
    for (const auto& [id, docids] : commit.dead_in_added) {
      if (id == added.id) dead = docids;
    }
    GANNET_ASSIGN_OR_RETURN(auto segment, OpenSegment(added, std::move(dead)));
    if (auto earlier = EarlierGraphs(before, commit, *segment); earlier != nullptr) {
      auto copy = std::make_shared<SegmentView>(*segment);
      copy->earlier_graphs = std::move(earlier);
      segment = std::move(copy);
    }
    if (!keep(std::move(segment))) RemoveFile(added.base_file);
  }
  return segments;
}

Status Index::Apply(Commit commit, const Adjust& adjust, NewFiles* files) {
  NewFiles own(*this);
  if (files == nullptr) {
    for (const SegmentFiles& added : commit.added) own.Add(added.base_file);
    for (const auto& [id, file] : commit.columns) own.Add(file);
    for (const auto& [id, file] : commit.graphs) own.Add(file);
    files = &own;
  }
  if (const auto log = TheLog()) return ApplyByLog(*log, commit, adjust, *files);
  return ApplyNow(commit, adjust, *files);
}

Result<std::shared_ptr<Snapshot>> Index::Prepare(Commit& commit, const Adjust& adjust,
                                                 const Snapshot& before) {
  if (adjust) GANNET_RETURN_IF_ERROR(adjust(before, commit));
  auto after = std::make_shared<Snapshot>(before);
  ++after->version;
  ApplyValues(commit, *after);
  GANNET_ASSIGN_OR_RETURN(after->segments, SegmentsAfter(after->segments, commit));
  after->documents.Clear();
  for (const auto& segment : after->segments) after->documents |= segment->live;
  after->first_expiry = NextExpiry(*after, -std::numeric_limits<double>::infinity());
  if (!commit.added.empty() || !commit.columns.empty() || !commit.graphs.empty()) {
    GANNET_RETURN_IF_ERROR(segment::SyncFolder(dir_ + "/segments"));
  }
  return after;
}

Status Index::ApplyNow(Commit& commit, const Adjust& adjust, NewFiles& files) {
  const std::lock_guard lock(commit_mutex_);
  const std::shared_ptr<const Snapshot> before = snapshot();
  GANNET_ASSIGN_OR_RETURN(auto after, Prepare(commit, adjust, *before));
  if (const Status status = Write(commit, *before, *after); !status.ok()) {
    // A failed write of the root page may have reached the disk: the stored record decides.
    const auto stored = IsStored(*after);
    // Unknown: keep the files, which the record may name; the next start sweeps those that it does
    // not name.
    if (!stored.ok()) files.Keep();
    if (!stored.ok() || !*stored) return status;
  }
  files.Keep();
  Publish(*before, std::move(after));
  return Status::Ok();
}

void Index::Publish(const Snapshot& before, std::shared_ptr<const Snapshot> after) {
  {
    const std::lock_guard publish(snapshot_mutex_);
    snapshot_ = after;
    search_cutoff_ms_ = after->settings->search_cutoff_ms;
  }
  {
    const std::lock_guard lock(present_mutex_);
    present_ = {};
  }
  // Readers of older snapshots keep their mappings; the names can be removed.
  const auto named = [&](uint64_t number) {
    return std::any_of(after->segments.begin(), after->segments.end(), [&](const auto& segment) {
      return segment->files.base_file == number || segment->files.columns_file == number ||
             segment->files.graphs_file == number;
    });
  };
  for (const auto& segment : before.segments) {
    for (const uint64_t file :
         {segment->files.base_file, segment->files.columns_file, segment->files.graphs_file}) {
      if (file != 0 && !named(file)) RemoveFile(file);
    }
  }
}

Status Index::CopyTo(const std::string& dir) {
  const std::lock_guard lock(commit_mutex_);
  for (const std::string& folder : {dir, dir + "/segments"}) {
    if (mkdir(folder.c_str(), 0700) != 0) return segment::IoStatus("creating a folder", errno);
  }
  GANNET_RETURN_IF_ERROR(env_->CopyTo(dir + "/index.mdb"));
  std::set<uint64_t> numbers;
  for (const auto& segment : snapshot()->segments)
    numbers.insert(
        {segment->files.base_file, segment->files.columns_file, segment->files.graphs_file});
  numbers.erase(0);  // no graphs
  for (const uint64_t number : numbers) {
    const std::string name = dir + "/segments/" + std::to_string(number);
    if (link(FilePath(number).c_str(), name.c_str()) == 0) continue;
    std::error_code error;
    std::filesystem::copy_file(FilePath(number), name, error);
    if (error) return segment::IoStatus("copying a file", error.value());
  }
  return Status::Ok();
}

std::pair<uint64_t, uint64_t> Index::DiskSizes() {
  auto [bytes, used] = env_->Sizes();
  const auto current = snapshot();
  for (const auto& segment : current->segments) {
    uint64_t size = segment->rows->file()->size();
    if (segment->columns->file() != segment->rows->file()) size += segment->columns->file()->size();
    if (segment->graphs != nullptr) size += segment->graphs->file()->size();
    bytes += size;
    used +=
        segment->documents->empty() ? 0 : size * segment->live.size() / segment->documents->size();
  }
  return {bytes, used};
}

}  // namespace gannet::index
