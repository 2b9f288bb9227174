#include "index/verify.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/bytes.h"
#include "base/json_reader.h"
#include "base/json_value.h"
#include "index/external_id.h"
#include "index/file_sums.h"
#include "index/index.h"
#include "index/keys.h"
#include "segment/verify.h"

namespace gannet::index {
namespace {

constexpr const char* kDatabase = "index.mdb";

uint64_t HashOf(std::string_view id) { return std::hash<std::string_view>()(id); }

class Verifier {
 public:
  explicit Verifier(const std::string& dir) : dir_(dir) {}

  IndexReport Run() {
    if (OpenDatabase()) {
      ReadRecords();
      ReadExternalIds();
      for (const SegmentFiles& files : manifest_) ReadSegment(files);
      CheckDocuments();
      ListFiles();
    }
    return std::move(report_);
  }

 private:
  void Fault(std::string file, std::string structure, std::string message) {
    report_.faults.push_back({std::move(file), std::move(structure), std::move(message)});
  }
  void Fault(std::string structure, std::string message) {
    Fault(kDatabase, std::move(structure), std::move(message));
  }
  // The value of a key; empty if it is absent or cannot be read (which is a fault).
  std::string Record(std::string_view key) {
    const auto record = txn_->Get(main_, key);
    if (!record.ok()) Fault("main", std::string(key) + ": " + record.status().message());
    return std::string(record.ok() ? record->value_or("") : "");
  }

  bool IsStored(std::string_view key) {
    const auto record = txn_->Get(main_, key);
    return record.ok() && record->has_value();
  }

  bool OpenDatabase() {
    auto env = store::Environment::OpenReadOnly(dir_ + "/" + kDatabase);
    if (!env.ok()) {
      Fault("file", env.status().message());
      return false;
    }
    env_ = std::move(*env);
    auto txn = env_->Read();
    if (!txn.ok()) {
      Fault("file", txn.status().message());
      return false;
    }
    txn_.emplace(std::move(*txn));
    const auto main = txn_->FindTable("main");
    const auto ids = txn_->FindTable("external_ids");
    if (!main || !ids) {
      Fault("tables",
            std::string("the table `") + (main ? "external_ids" : "main") + "` is missing");
      return false;
    }
    main_ = *main;
    external_ids_ = *ids;
    report_.bytes += env_->Sizes().first;
    return true;
  }

  // Checks the table `main`: each record, and whether they agree.
  void ReadRecords() {
    ReadFields();
    ReadSettings();
    const uint64_t next_number = ReadNextNumber();
    ReadDistribution();
    const std::set<uint64_t> ids = ReadManifest(next_number);
    sums_ = FileSums::Parse(Record(keys::kFileSums));
    store::Cursor cursor(*txn_, main_);
    for (bool more = cursor.First(); more; more = cursor.Next()) {
      if (!cursor.value()) {
        Fault("main", "the value of `" + std::string(cursor.key()) + "` is damaged");
      } else if (cursor.key().starts_with(keys::kDeadPrefix)) {
        ReadDead(cursor.key(), *cursor.value(), ids);
      } else if (cursor.key().starts_with(keys::kLongSettingPrefix)) {
        ReadLongSetting(cursor.key(), *cursor.value());
      } else if (!keys::IsKnown(cursor.key())) {
        Fault("tables", "the table `main` has the unknown key `" + std::string(cursor.key()) + "`");
      }
    }
  }

  void ReadFields() {
    const std::string fields = Record(keys::kFields);
    ByteReader reader(fields);
    while (!reader.done()) {
      const std::string_view name = reader.LengthPrefixed();
      if (!reader.ok() || fields_.Find(name) || !fields_.Add(name).ok()) {
        Fault("fields", "a name is cut off, repeated or one too many");
        break;
      }
    }
    if (const auto lat = fields_.Find("_geo.lat"), lng = fields_.Find("_geo.lng"); lat && lng) {
      point_fields_.emplace(*lat, *lng);
    }
    vectors_field_ = fields_.Find("_vectors");
  }

  // Checks the other records that stand alone.
  void ReadSettings() {
    const auto settings = Record(keys::kSettings), last_batch = Record(keys::kLastBatch);
    if (!settings.empty() && (!json::IsValid(settings) || settings[0] != '{')) {
      Fault("settings", "not a JSON object");
    } else {
      const json::Value object = json::Value::Parse(settings);
      for (const auto& [name, size] : object["long"].members()) {
        long_settings_[name] = size.integer();
        if (!IsStored(keys::LongSetting(name))) Fault("settings", "`" + name + "` is missing");
      }
    }
    if (!last_batch.empty() && (!json::IsValid(last_batch) || last_batch[0] != '{')) {
      Fault("last_batch", "not a JSON object");
    } else {
      report_.last_batch = last_batch;
    }
    primary_key_ = Record(keys::kPrimaryKey);
    // An empty dictionary counts too: rows name it.
    const bool has_dictionary = IsStored(keys::kDictionary);
    if (const auto dictionary = Record(keys::kDictionary); has_dictionary) {
      dictionary_ = std::make_shared<const segment::RowDictionary>(dictionary);
    }
  }

  void ReadLongSetting(std::string_view key, std::string_view value) {
    const auto named = long_settings_.find(key.substr(keys::kLongSettingPrefix.size()));
    if (named == long_settings_.end() || named->second != value.size() || !json::IsValid(value))
      Fault("settings", "`" + std::string(key) + "` is not the value that the settings name");
  }

  void ReadDistribution() {
    const std::string distribution = Record(keys::kDistribution);
    if (auto stored = Distribution::Parse(distribution, fields_)) {
      stored_distribution_ = std::move(*stored);
    } else {
      Fault("distribution", "a field is unknown, out of order or without documents");
    }
  }

  // The number of the next file; all files have lower numbers.
  uint64_t ReadNextNumber() {
    const auto number = Record(keys::kNextNumber);
    if (number.size() == 8) return LoadFixed<uint64_t>(number.data());
    if (!number.empty()) Fault("next_number", "it has " + std::to_string(number.size()) + " bytes");
    return 0;
  }

  std::map<SegmentId, uint64_t> ReadGraphs() {
    const std::string graphs = Record(keys::kGraphs);
    std::map<SegmentId, uint64_t> files;
    for (ByteReader pairs(graphs); !pairs.done();) {
      const SegmentId id = pairs.Varint();
      if (!files.emplace(id, pairs.Varint()).second || !pairs.ok()) {
        Fault("graphs", "a segment is cut off or named twice");
        break;
      }
    }
    return files;
  }

  // Returns the ids of the segments.
  std::set<uint64_t> ReadManifest(uint64_t next_number) {
    std::map<SegmentId, uint64_t> graph_files = ReadGraphs();
    const std::string manifest = Record(keys::kManifest);
    std::set<uint64_t> ids, numbers;
    for (ByteReader segments(manifest); !segments.done();) {
      SegmentFiles files;
      files.id = segments.Varint();
      files.base_file = segments.Varint();
      files.columns_file = segments.Varint();
      if (const auto file = graph_files.find(files.id); file != graph_files.end()) {
        files.graphs_file = file->second;
        graph_files.erase(file);
      }
      const bool own_columns = files.columns_file != files.base_file;
      if (!segments.ok() || !ids.insert(files.id).second ||
          !numbers.insert(files.base_file).second ||
          (own_columns && !numbers.insert(files.columns_file).second) ||
          (files.graphs_file != 0 && !numbers.insert(files.graphs_file).second) ||
          std::max({files.id, files.base_file, files.columns_file, files.graphs_file}) >=
              next_number) {
        Fault("manifest", "a segment is cut off, named twice or has a number that was never given");
        break;
      }
      manifest_.push_back(files);
    }
    if (!graph_files.empty()) Fault("graphs", "of a segment that the manifest does not name");
    report_.segments = manifest_.size();
    return ids;
  }

  void ReadDead(std::string_view key, std::string_view bytes, const std::set<uint64_t>& ids) {
    const auto id =
        std::find_if(ids.begin(), ids.end(), [&](uint64_t one) { return keys::Dead(one) == key; });
    if (id == ids.end())
      return Fault("dead documents", "of a segment that the manifest does not name");
    auto dead = DocSet::Parse(bytes);
    if (!dead.ok())
      return Fault("dead documents",
                   "of segment " + std::to_string(*id) + ": " + dead.status().message());
    if (dead->empty())
      return Fault("dead documents",
                   "of segment " + std::to_string(*id) + ": an empty set is stored");
    dead_[*id] = std::move(*dead);
  }

  void ReadExternalIds() {
    store::Cursor cursor(*txn_, external_ids_);
    for (bool more = cursor.First(); more; more = cursor.Next()) {
      const std::optional<std::string> whole = ExternalIdOfKey(cursor.key());
      if (!whole) {
        Fault("external_ids",
              "a key of " + std::to_string(cursor.key().size()) + " bytes is that of no id");
        continue;
      }
      const std::string id = whole->substr(0, 100);
      if (!cursor.value() || cursor.value()->size() != sizeof(DocId)) {
        Fault("external_ids", "the value of `" + id + "` is no docid");
        continue;
      }
      const auto docid = LoadFixed<DocId>(cursor.value()->data());
      if (ids_of_docids_.Contains(docid)) {
        Fault("external_ids", "`" + id + "` and another id name the same document");
        continue;
      }
      ids_of_docids_.Add(docid);
      if (docid >= id_hashes_.size())
        id_hashes_.resize(std::max<size_t>(size_t{docid} + 1, id_hashes_.size() * 2));
      id_hashes_[docid] = HashOf(*whole);
    }
  }

  void ReadSegment(const SegmentFiles& files) {
    const auto name = [](uint64_t number) { return "segments/" + std::to_string(number); };
    const auto add = [&](uint64_t number, const std::vector<segment::Fault>& faults) {
      for (const auto& [structure, message] : faults) Fault(name(number), structure, message);
    };
    const auto found = dead_.find(files.id);
    const DocSet dead = found == dead_.end() ? DocSet() : std::move(found->second);
    segment::SegmentContext context;
    context.field_count = fields_.size();
    context.dictionary = dictionary_;
    context.point_fields = point_fields_;
    context.on_row = [&](DocId docid, std::span<const segment::RowField> row) {
      if (dead.Contains(docid)) return;
      ++rows_read_;
      distribution_.Count(row, vectors_field_, 1);
      if (id_fault_ || !ids_of_docids_.Contains(docid)) return;
      const std::string id = ExternalIdOf(row, fields_, primary_key_);
      if (id_hashes_[docid] == HashOf(id)) return;
      id_fault_ = true;
      Fault("external_ids", "another id than `" + id + "` names the document with that id");
    };
    const segment::SegmentContent content =
        segment::VerifyBase(dir_ + "/" + name(files.base_file), context);
    add(files.base_file, content.faults);
    report_.words += content.words;
    report_.tokens += content.tokens;
    for (const uint64_t number : {files.base_file, files.columns_file, files.graphs_file}) {
      if (number != 0) CheckSum(number);
    }
    if (content.docids.empty()) {
      documents_known_ = false;
      return;
    }
    const DocSet documents = DocSet::FromSorted(content.docids);
    if (!dead.IsSubsetOf(documents)) {
      Fault("dead documents",
            "of segment " + std::to_string(files.id) + ": a document that is not in it");
    }
    const DocSet live = documents - dead;
    if (live.empty())
      Fault("manifest", "segment " + std::to_string(files.id) + " has no live document");
    if (live.Intersects(live_)) {
      Fault("dead documents", "a document of segment " + std::to_string(files.id) +
                                  " is live in another one as well");
    }
    live_ |= live;
    auto faults =
        segment::VerifyColumns(dir_ + "/" + name(files.columns_file), content.docids, context);
    // Damage of a shared file is reported once.
    if (files.columns_file == files.base_file) {
      std::erase_if(faults, [&](const segment::Fault& fault) {
        return std::any_of(
            content.faults.begin(), content.faults.end(), [&](const segment::Fault& known) {
              return known.structure == fault.structure && known.message == fault.message;
            });
      });
    }
    add(files.columns_file, faults);
    if (files.graphs_file != 0) {
      add(files.graphs_file, segment::VerifyGraphs(dir_ + "/" + name(files.graphs_file),
                                                   dir_ + "/" + name(files.base_file)));
    }
  }

  // A file that cannot be opened has faults of its own.
  void CheckSum(uint64_t number) {
    const std::string name = "segments/" + std::to_string(number);
    const auto file = segment::SegmentFile::Open(dir_ + "/" + name);
    if (file.ok() && !sums_.Matches(number, **file))
      Fault(name, "file", "it is another one than that which the index wrote");
  }

  void CheckDocuments() {
    report_.documents = live_.size();
    if (!documents_known_) return;
    const DocSet nowhere = ids_of_docids_ - live_, nameless = live_ - ids_of_docids_;
    if (!nowhere.empty()) {
      Fault("external_ids", std::to_string(nowhere.size()) + " ids point nowhere, one to docid " +
                                std::to_string(nowhere.min()));
    }
    if (!nameless.empty()) {
      Fault("external_ids", std::to_string(nameless.size()) +
                                " documents have no id, one is docid " +
                                std::to_string(nameless.min()));
    }
    if (!live_.empty() && primary_key_.empty())
      Fault("primary_key", "there are documents but no primary key");
    if (rows_read_ == live_.size() && distribution_ != stored_distribution_) {
      Fault("distribution", "it differs from the fields of the documents");
    }
  }

  void ListFiles() {
    std::set<std::string> named;
    for (const SegmentFiles& files : manifest_) {
      named.insert(std::to_string(files.base_file));
      named.insert(std::to_string(files.columns_file));
      named.insert(std::to_string(files.graphs_file));
    }
    DIR* listing = opendir((dir_ + "/segments").c_str());
    if (listing == nullptr) {
      // A copy of an index without documents may lack the empty folder; it is made when the index
      // is opened.
      if (errno != ENOENT || !named.empty()) Fault("segments", "folder", "it cannot be read");
      return;
    }
    while (const dirent* entry = readdir(listing)) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      struct stat status {};
      if (!named.contains(name)) {
        report_.unused.push_back("segments/" + name);
      } else if (stat((dir_ + "/segments/" + name).c_str(), &status) == 0) {
        report_.bytes += static_cast<uint64_t>(status.st_size);
      }
    }
    closedir(listing);
    std::sort(report_.unused.begin(), report_.unused.end());
  }

  const std::string dir_;
  IndexReport report_;
  std::unique_ptr<store::Environment> env_;
  std::optional<store::ReadTransaction> txn_;
  store::Table main_{}, external_ids_{};

  std::map<std::string, uint64_t, std::less<>> long_settings_;  // bytes by name
  FieldMap fields_;
  std::string primary_key_;
  std::shared_ptr<const segment::RowDictionary> dictionary_;
  std::optional<std::pair<FieldId, FieldId>> point_fields_;
  std::optional<FieldId> vectors_field_;
  std::vector<SegmentFiles> manifest_;
  FileSums sums_;
  std::map<SegmentId, DocSet> dead_;
  Distribution stored_distribution_,
      distribution_;  // the second is counted from the rows
  uint64_t rows_read_ = 0;
  bool documents_known_ = true, id_fault_ = false;

  DocSet ids_of_docids_, live_;
  std::vector<uint64_t> id_hashes_;  // by docid
};

}  // namespace

IndexReport VerifyIndex(const std::string& dir) { return Verifier(dir).Run(); }

}  // namespace gannet::index
