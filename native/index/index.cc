#include "index/index.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <set>

#include "base/bytes.h"
#include "index/external_id.h"
#include "index/keys.h"
#include "segment/layout.h"

namespace gannet::index {
namespace {

// The name of a new one is durable.
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

std::string TextFormValue(text::TextForm form) { return std::string(1, static_cast<char>(form)); }

// Embeddings of these documents.
uint64_t CountEmbeddings(const segment::VectorsReader& vectors, const DocSet& documents) {
  uint64_t count = 0;
  for (const segment::EmbedderReader& embedder : vectors.embedders()) {
    documents.ForEach([&](uint32_t docid) {
      const auto rows = embedder.FindRows(docid);
      count += rows.end - rows.begin;
    });
  }
  return count;
}

// Which segments have graphs, and where. Empty: none.
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

// The file that a commit says for a segment; 0: none.
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
  snapshot.analyzer = MakeAnalyzer(*snapshot.settings, snapshot.text_form);
}

// What a commit says of a snapshot, the segments that it adds or changes apart.
void ApplyValues(const Commit& commit, Snapshot& snapshot) {
  if (commit.clear) {
    snapshot.segments.clear();
    snapshot.distribution.clear();
  }
  if (commit.settings) snapshot.stored_settings = commit.settings;
  if (commit.text_form) snapshot.text_form = *commit.text_form;
  if (commit.settings || commit.text_form) ReadSettings(snapshot);
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

}  // namespace

std::shared_ptr<const text::Analyzer> MakeAnalyzer(const Settings& settings, text::TextForm form) {
  return std::make_shared<const text::Analyzer>(
      text::AnalyzerSettings{settings.stop_words, settings.separator_tokens,
                             settings.non_separator_tokens, settings.dictionary, form});
}

Status SegmentView::Health() const {
  GANNET_RETURN_IF_ERROR(rows->file()->Health());
  return columns->file()->Health();
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
  // What needs no room on the disk goes on without: the next opening tries again.
  static_cast<void>(index->WriteMissingSums());
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
  GANNET_RETURN_IF_ERROR(txn.Put(main_, keys::kTextForm, TextFormValue(text::kTextFormNow)));
  return txn.Commit();
}

Status Index::Load() {
  GANNET_ASSIGN_OR_RETURN(const auto txn, env_->Read());
  auto snapshot = std::make_shared<Snapshot>();
  // What cannot be read is not taken for absent: files that nobody names are removed.
  GANNET_ASSIGN_OR_RETURN(snapshot->stored_settings, LoadSettings(txn));
  GANNET_ASSIGN_OR_RETURN(const auto fields, txn.Get(main_, keys::kFields));
  GANNET_ASSIGN_OR_RETURN(const auto primary_key, txn.Get(main_, keys::kPrimaryKey));
  GANNET_ASSIGN_OR_RETURN(const auto distribution, txn.Get(main_, keys::kDistribution));
  GANNET_ASSIGN_OR_RETURN(const auto dictionary, txn.Get(main_, keys::kDictionary));
  GANNET_ASSIGN_OR_RETURN(const auto updated_at, txn.Get(main_, keys::kUpdatedAt));
  GANNET_ASSIGN_OR_RETURN(const auto last_batch, txn.Get(main_, keys::kLastBatch));
  GANNET_ASSIGN_OR_RETURN(const auto number, txn.Get(main_, keys::kNextNumber));
  GANNET_ASSIGN_OR_RETURN(const auto manifest, txn.Get(main_, keys::kManifest));
  GANNET_ASSIGN_OR_RETURN(const auto graphs, txn.Get(main_, keys::kGraphs));
  GANNET_ASSIGN_OR_RETURN(const auto text_form, txn.Get(main_, keys::kTextForm));
  GANNET_ASSIGN_OR_RETURN(const auto file_sums, txn.Get(main_, keys::kFileSums));
  const FileSums sums = FileSums::Parse(file_sums.value_or(""));
  std::map<SegmentId, uint64_t> graph_files;
  for (ByteReader reader(graphs.value_or("")); !reader.done();) {
    const SegmentId id = reader.Varint();
    graph_files[id] = reader.Varint();
  }
  has_manifest_ = manifest.has_value();
  // Every commit writes it.
  if (!has_manifest_ && txn.Count(main_) > 0)
    return Status::Corruption("the manifest of " + dir_ + " is missing");
  if (text_form) {
    if (text_form->size() != 1 ||
        static_cast<uint8_t>((*text_form)[0]) > static_cast<uint8_t>(text::kTextFormNow)) {
      return Status::Corruption("the form of the words of " + dir_ + " is unknown");
    }
    snapshot->text_form = static_cast<text::TextForm>((*text_form)[0]);
  }
  ReadSettings(*snapshot);
  snapshot->fields = std::make_shared<const FieldMap>(FieldMap::Parse(fields.value_or("")));
  snapshot->has_primary_key = primary_key.has_value();
  snapshot->primary_key = primary_key.value_or("");
  for (ByteReader reader(distribution.value_or("")); !reader.done();) {
    const auto field = static_cast<FieldId>(reader.Varint());
    snapshot->distribution[field] = reader.Varint();
  }
  if (dictionary)
    snapshot->dictionary = std::make_shared<const segment::RowDictionary>(std::string(*dictionary));
  snapshot->updated_at = updated_at.value_or("");
  snapshot->last_batch = last_batch.value_or("");
  if (number && number->size() == sizeof(uint64_t))
    next_number_ = LoadFixed<uint64_t>(number->data());
  for (ByteReader reader(manifest.value_or("")); !reader.done();) {
    SegmentFiles files;
    files.id = reader.Varint();
    files.base_file = reader.Varint();
    files.columns_file = reader.Varint();
    if (!reader.ok()) return Status::Corruption("the manifest of " + dir_ + " is damaged");
    if (const auto file = graph_files.find(files.id); file != graph_files.end())
      files.graphs_file = file->second;
    DocSet dead;
    GANNET_ASSIGN_OR_RETURN(const auto bytes, txn.Get(main_, keys::Dead(files.id)));
    if (bytes) {
      GANNET_ASSIGN_OR_RETURN(dead, DocSet::Parse(*bytes));
    }
    GANNET_ASSIGN_OR_RETURN(auto segment, OpenSegment(files, std::move(dead), sums));
    snapshot->documents |= segment->live;
    snapshot->segments.push_back(std::move(segment));
  }
  snapshot->traits = PlanFields(*snapshot->fields, *snapshot->settings);
  snapshot_ = std::move(snapshot);
  // A number that was used by a job that did not end must not be given again while its file is
  // open, or listed.
  EachFile([&](const std::string& name) {
    const uint64_t used = std::strtoull(name.c_str(), nullptr, 10);
    if (used >= next_number_.load()) next_number_ = used + 1;
  });
  return Status::Ok();
}

Result<std::shared_ptr<const StoredSettings>> Index::LoadSettings(
    const store::ReadTransaction& txn) {
  GANNET_ASSIGN_OR_RETURN(const auto stored, txn.Get(main_, keys::kSettings));
  if (!stored) return std::shared_ptr<const StoredSettings>();
  StoredSettings settings{std::string(*stored), {}};
  const json::Value object = json::Value::Parse(settings.json);
  for (const auto& [name, size] : object["long"].members()) {
    GANNET_ASSIGN_OR_RETURN(const auto value, txn.Get(main_, keys::LongSetting(name)));
    if (!value) return Status::Corruption("the setting " + name + " of " + dir_ + " is missing");
    settings.long_values.emplace(name, *value);
  }
  return std::make_shared<const StoredSettings>(std::move(settings));
}

Status Index::PutSettings(store::WriteTransaction& txn, const StoredSettings* before,
                          const StoredSettings* after) {
  if (after == nullptr) return Status::Ok();
  static const StoredSettings kNeverSet;
  const auto& old = (before == nullptr ? kNeverSet : *before).long_values;
  for (const auto& [name, value] : old) {
    if (!after->long_values.contains(name))
      GANNET_RETURN_IF_ERROR(txn.Delete(main_, keys::LongSetting(name)));
  }
  for (const auto& [name, value] : after->long_values) {
    const auto same = old.find(name);
    if (same == old.end() || same->second != value)
      GANNET_RETURN_IF_ERROR(txn.Put(main_, keys::LongSetting(name), value));
  }
  return txn.Put(main_, keys::kSettings, after->json);
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
  // What opening reads, all at once.
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

Status Index::PutSums(store::WriteTransaction& txn, const FileSums& sums) {
  std::string bytes;
  sums.AppendTo(bytes);
  return txn.Put(main_, keys::kFileSums, bytes);
}

Status Index::WriteMissingSums() {
  {
    GANNET_ASSIGN_OR_RETURN(const auto txn, env_->Read());
    GANNET_ASSIGN_OR_RETURN(const auto stored, txn.Get(main_, keys::kFileSums));
    if (stored || snapshot_->segments.empty()) return Status::Ok();
  }
  GANNET_ASSIGN_OR_RETURN(auto txn, env_->Write());
  GANNET_RETURN_IF_ERROR(PutSums(txn, SumsOf(*snapshot_)));
  return txn.Commit();
}

Status Index::Write(Commit& commit, const Snapshot& before, const Snapshot& after) {
  GANNET_ASSIGN_OR_RETURN(auto txn, env_->Write());
  if (commit.clear) GANNET_RETURN_IF_ERROR(txn.Clear(external_ids_));
  for (const std::string& id : commit.removed_external_ids) {
    GANNET_RETURN_IF_ERROR(txn.Delete(external_ids_, ExternalIdKey(id)));
  }
  // Sorted, so that neighbouring pages are written once: 16 times faster than in random order.
  std::sort(commit.new_external_ids.begin(), commit.new_external_ids.end(),
            [](const auto& a, const auto& b) { return HasKeyBefore(a.first, b.first); });
  for (const auto& [id, docid] : commit.new_external_ids) {
    GANNET_RETURN_IF_ERROR(txn.Put(external_ids_, ExternalIdKey(id),
                                   {reinterpret_cast<const char*>(&docid), sizeof(docid)}));
  }
  if (env_->form() != store::Environment::kForm)
    GANNET_RETURN_IF_ERROR(env_->PutForm(txn, store::Environment::kForm));
  std::string bytes;
  for (const auto& segment : after.segments) {
    const auto old = std::find_if(before.segments.begin(), before.segments.end(),
                                  [&](const auto& s) { return s->files.id == segment->files.id; });
    const bool same =
        old != before.segments.end() && ((*old) == segment || (*old)->dead == segment->dead);
    if (!same && !segment->dead.empty()) {
      bytes.clear();
      segment->dead.AppendTo(bytes);
      GANNET_RETURN_IF_ERROR(txn.Put(main_, keys::Dead(segment->files.id), bytes));
    }
  }
  for (const auto& segment : before.segments) {
    const bool kept = std::any_of(after.segments.begin(), after.segments.end(),
                                  [&](const auto& s) { return s->files.id == segment->files.id; });
    if (!kept) GANNET_RETURN_IF_ERROR(txn.Delete(main_, keys::Dead(segment->files.id)));
  }
  GANNET_RETURN_IF_ERROR(txn.Put(main_, keys::kManifest, ManifestOf(after)));
  if (const std::string graphs = GraphsOf(after); graphs != GraphsOf(before)) {
    GANNET_RETURN_IF_ERROR(graphs.empty() ? txn.Delete(main_, keys::kGraphs)
                                          : txn.Put(main_, keys::kGraphs, graphs));
  }
  if (const FileSums sums = SumsOf(after); sums != SumsOf(before))
    GANNET_RETURN_IF_ERROR(PutSums(txn, sums));
  bytes.clear();
  PutFixed<uint64_t>(bytes, next_number_.load());
  GANNET_RETURN_IF_ERROR(txn.Put(main_, keys::kNextNumber, bytes));
  GANNET_RETURN_IF_ERROR(PutSettings(txn, before.stored_settings.get(), commit.settings.get()));
  if (commit.text_form)
    GANNET_RETURN_IF_ERROR(txn.Put(main_, keys::kTextForm, TextFormValue(*commit.text_form)));
  if (commit.fields) {
    bytes.clear();
    commit.fields->AppendTo(bytes);
    GANNET_RETURN_IF_ERROR(txn.Put(main_, keys::kFields, bytes));
  }
  if (commit.primary_key)
    GANNET_RETURN_IF_ERROR(txn.Put(main_, keys::kPrimaryKey, *commit.primary_key));
  if (commit.distribution) {
    bytes.clear();
    for (const auto& [field, count] : *commit.distribution) {
      PutVarint(bytes, field);
      PutVarint(bytes, count);
    }
    GANNET_RETURN_IF_ERROR(txn.Put(main_, keys::kDistribution, bytes));
  }
  if (commit.dictionary)
    GANNET_RETURN_IF_ERROR(txn.Put(main_, keys::kDictionary, *commit.dictionary));
  if (commit.updated_at)
    GANNET_RETURN_IF_ERROR(txn.Put(main_, keys::kUpdatedAt, *commit.updated_at));
  if (commit.last_batch)
    GANNET_RETURN_IF_ERROR(txn.Put(main_, keys::kLastBatch, *commit.last_batch));
  return txn.Commit();
}

NewFiles::~NewFiles() {
  for (const uint64_t number : numbers_) index_.RemoveFile(number);
}

// Without memory of its own: it must not fail when there is none.
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
  return manifest.value_or("") == ManifestOf(after) && graphs.value_or("") == GraphsOf(after) &&
         last_batch.value_or("") == after.last_batch;
}

Result<std::shared_ptr<const SegmentView>> Index::Changed(const SegmentView& segment,
                                                          const Commit& commit) {
  const uint64_t columns_file = FileOf(commit.columns, segment.files.id),
                 graphs_file = FileOf(commit.graphs, segment.files.id);
  if (columns_file == 0 && graphs_file == 0 && !commit.dead.Intersects(segment.live))
    return std::shared_ptr<const SegmentView>();
  auto copy = std::make_shared<SegmentView>(segment);
  if (commit.dead.Intersects(segment.live)) {
    const DocSet died = commit.dead & segment.live;
    copy->embedding_count -= CountEmbeddings(*segment.vectors, died);
    copy->dead |= died;
    copy->live -= commit.dead;
    copy->dead_bits = std::make_shared<DocBits>(copy->dead);
  }
  if (graphs_file != 0) {
    copy->files.graphs_file = graphs_file;
    GANNET_ASSIGN_OR_RETURN(const auto file, OpenFile(graphs_file));
    GANNET_ASSIGN_OR_RETURN(copy->graphs, segment::GraphsReader::Open(file, copy->vectors));
  }
  if (columns_file != 0) {
    copy->files.columns_file = columns_file;
    GANNET_ASSIGN_OR_RETURN(const auto file, OpenFile(columns_file));
    GANNET_ASSIGN_OR_RETURN(copy->columns, segment::ColumnsReader::Open(file));
  }
  return std::shared_ptr<const SegmentView>(std::move(copy));
}

Result<SegmentViews> Index::SegmentsAfter(const SegmentViews& before, const Commit& commit) {
  SegmentViews segments;
  // A segment without live documents is of no more use.
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
    if (!keep(std::move(segment))) RemoveFile(added.base_file);
  }
  return segments;
}

Status Index::Apply(Commit commit, const std::function<Status(const Snapshot&, Commit&)>& adjust,
                    NewFiles* files) {
  const std::lock_guard lock(commit_mutex_);
  const std::shared_ptr<const Snapshot> before = snapshot();
  NewFiles own(*this);
  if (files == nullptr) {
    for (const SegmentFiles& added : commit.added) own.Add(added.base_file);
    for (const auto& [id, file] : commit.columns) own.Add(file);
    for (const auto& [id, file] : commit.graphs) own.Add(file);
    files = &own;
  }
  if (adjust) GANNET_RETURN_IF_ERROR(adjust(*before, commit));
  auto after = std::make_shared<Snapshot>(*before);
  ++after->version;
  ApplyValues(commit, *after);
  GANNET_ASSIGN_OR_RETURN(after->segments, SegmentsAfter(after->segments, commit));
  after->documents.Clear();
  for (const auto& segment : after->segments) after->documents |= segment->live;

  if (!commit.added.empty() || !commit.columns.empty() || !commit.graphs.empty()) {
    GANNET_RETURN_IF_ERROR(segment::SyncFolder(dir_ + "/segments"));
  }
  if (const Status status = Write(commit, *before, *after); !status.ok()) {
    // A failed write of the root page may have reached the disk: the record tells.
    const auto stored = IsStored(*after);
    // Unknown: the files stay for the record that may name them; the next start sweeps those that
    // it does not.
    if (!stored.ok()) files->Keep();
    if (!stored.ok() || !*stored) return status;
  }
  files->Keep();
  Publish(*before, std::move(after));
  return Status::Ok();
}

Status Index::ReplaceSettings(StoredSettings settings) {
  Commit commit;
  commit.settings = std::make_shared<const StoredSettings>(std::move(settings));
  const Status stored = Apply(commit);
  if (stored.ok()) return stored;
  // What needs no room on the disk goes on without: the next opening tries again.
  const std::lock_guard lock(commit_mutex_);
  const std::shared_ptr<const Snapshot> before = snapshot();
  auto after = std::make_shared<Snapshot>(*before);
  ApplyValues(commit, *after);
  Publish(*before, std::move(after));
  return Status::Ok();
}

void Index::Publish(const Snapshot& before, std::shared_ptr<const Snapshot> after) {
  {
    const std::lock_guard publish(snapshot_mutex_);
    snapshot_ = after;
  }
  // Readers of older snapshots keep their maps; the names may go.
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
