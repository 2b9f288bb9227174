// The reference model of the write path: documents in a map, from which the content of a segment is
// computed one document at a time; and what the readers of a snapshot return. Both in the same
// form, with names instead of numbers.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/json_value.h"
#include "index/index.h"
#include "indexing/job.h"
#include "indexing/merge.h"
#include "text/normalize.h"

namespace gannet::indexing {

// A temporary folder, removed by the destructor.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "gannet-test-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline Result<DocSet> FilterByList(const index::Snapshot& snapshot, std::string_view docids_json) {
  DocSet docids;
  const json::Value list = json::Value::Parse(docids_json);
  for (const json::Value& docid : list.items()) docids.Add(static_cast<DocId>(docid.integer()));
  return docids & snapshot.documents;
}

inline std::string Quoted(std::string_view text) {
  std::string out;
  AppendJsonString(out, text);
  return out;
}

// Runs `steps` (JSON objects separated by commas) as one batch.
inline Result<std::string> RunSteps(index::Index& index, const std::string& steps,
                                    const std::vector<std::string>& payloads,
                                    JobOptions options = {}) {
  const std::string job =
      "{\"batchUid\":7,\"taskUids\":[1],\"now\":\"2024-01-01T00:00:00Z\",\"steps\":[" + steps +
      "]}";
  std::vector<std::string_view> views(payloads.begin(), payloads.end());
  Progress progress;
  return RunBatch(index, *BatchJob::Parse(job), views, options, FilterByList, progress);
}

inline std::string DocumentsStep(size_t buffer, bool update = false, bool skip_creation = false,
                                 bool ndjson = false) {
  return "{\"task\":1,\"kind\":\"documents\",\"method\":\"" +
         std::string(update ? "update" : "replace") +
         "\",\"payload\":{\"buffer\":" + std::to_string(buffer) + "},\"format\":\"" +
         (ndjson ? "ndjson" : "json") +
         "\",\"primaryKey\":\"id\",\"skipCreation\":" + (skip_creation ? "true" : "false") + "}";
}
inline std::string SettingsStep(const std::string& settings) {
  return "{\"task\":1,\"kind\":\"settings\",\"settings\":" + settings + "}";
}

// Merges until the policy has nothing left to do.
inline void MergeAll(index::Index& index) {
  const std::atomic<bool> cancelled{false};
  while (const auto plan = PlanMerge(*index.snapshot())) {
    const Status status = RunMerge(index, *plan, cancelled, 0);
    ASSERT_TRUE(status.ok()) << status.message();
  }
}
// Merges chosen segments, whatever the policy says.
inline Status MergeThese(index::Index& index, const std::vector<size_t>& which) {
  const std::atomic<bool> cancelled{false};
  MergePlan plan;
  const auto snapshot = index.snapshot();
  for (const size_t i : which) plan.segments.push_back(snapshot->segments[i]->files.id);
  return RunMerge(index, plan, cancelled, 0);
}
inline Status MergeToOne(index::Index& index) {
  std::vector<size_t> all(index.snapshot()->segments.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all.empty() ? Status::Ok() : MergeThese(index, all);
}

using Fields = std::map<std::string, std::string>;  // name -> minified JSON

// The whole content of an index.
struct Content {
  std::map<DocId, Fields> rows;
  std::map<std::string, uint64_t> distribution;
  // docid -> field -> (position, word)
  std::map<DocId, std::map<std::string, std::vector<std::pair<uint32_t, std::string>>>> words;
  std::map<std::string, std::map<std::string, std::set<DocId>>>
      postings;  // word -> field -> documents
  struct Column {
    std::map<double, std::set<DocId>> numbers;
    std::map<std::string, std::set<DocId>> strings;  // normalised
    std::set<DocId> exists, null, empty;
    bool operator==(const Column&) const = default;
  };
  std::map<std::string, Column> columns;
};

// The first difference between two maps, for a readable message.
template <typename Map>
std::string FirstDifference(const Map& expected, const Map& actual) {
  for (const auto& [key, value] : expected) {
    const auto found = actual.find(key);
    if (found == actual.end()) return "missing: " + ::testing::PrintToString(key);
    if (!(found->second == value)) {
      if constexpr (requires { value.exists; }) {
        return "differs: " + ::testing::PrintToString(key);
      } else {
        return "at " + ::testing::PrintToString(key) + "\nexpected " +
               ::testing::PrintToString(value) + "\n  actual " +
               ::testing::PrintToString(found->second);
      }
    }
  }
  for (const auto& [key, value] : actual) {
    if (!expected.contains(key)) return "too much: " + ::testing::PrintToString(key);
  }
  return "";
}

class Model {
 public:
  struct Document {
    DocId docid;
    Fields fields;
  };
  std::map<std::string, Document> documents;  // by external id

  // Starts a batch. Call it before the steps, and EndBatch after them.
  void BeginBatch() {
    before_ = documents;
    touched_.clear();
    filtered_out_.clear();
    used_.clear();
    for (const auto& [id, document] : documents) used_.insert(document.docid);
  }
  void Clear() {
    documents.clear();
    before_.clear();
    touched_.clear();
    filtered_out_.clear();
    used_.clear();
  }
  void Add(const std::string& id, const Fields& sent, bool update, bool skip_creation) {
    Touch(id);
    auto found = documents.find(id);
    if (found == documents.end()) {
      if (!skip_creation) documents[id] = {0, sent};
      return;
    }
    if (!update) found->second.fields.clear();
    for (const auto& [name, value] : sent) found->second.fields[name] = value;
  }
  void Delete(const std::string& id) {
    Touch(id);
    documents.erase(id);
  }
  // Deletes documents of the state before the batch that no step has touched yet.
  void DeleteByDocids(const std::set<DocId>& docids) {
    for (const auto& [id, document] : before_) {
      if (!docids.contains(document.docid) || filtered_out_.contains(id)) continue;
      if (std::find(touched_.begin(), touched_.end(), id) != touched_.end()) continue;
      documents.erase(id);
      filtered_out_.insert(id);
    }
  }
  void EndBatch() {
    DocId next = 0;
    for (const std::string& id : touched_) {
      const auto found = documents.find(id);
      if (found == documents.end()) continue;
      const auto old = before_.find(id);
      if (old != before_.end() && !filtered_out_.contains(id)) {
        found->second.docid = old->second.docid;
        continue;
      }
      while (used_.contains(next)) ++next;
      found->second.docid = next;
      used_.insert(next);
    }
  }

  Content Expected(const index::Snapshot& snapshot) const;

 private:
  void Touch(const std::string& id) {
    if (std::find(touched_.begin(), touched_.end(), id) == touched_.end()) touched_.push_back(id);
  }
  std::map<std::string, Document> before_;
  std::vector<std::string> touched_;    // in order of first appearance
  std::set<std::string> filtered_out_;  // deleted by filter
  std::set<DocId> used_;
};

// One value of a field, as text for words and columns.
struct Leaf {
  json::Value::Kind kind;
  std::string text;
  double number = 0;
};

// A flattened document: the values of each dotted path, in order.
struct Flat {
  std::map<std::string, std::vector<Leaf>> leaves;
  std::set<std::string> exists, null, empty;

  void Walk(const std::string& path, const json::Value& value, bool own) {
    using Kind = json::Value::Kind;
    if (own) exists.insert(path);
    if (value.kind() == Kind::kObject || value.kind() == Kind::kArray) {
      if (own && value.members().empty() && value.items().empty()) empty.insert(path);
      for (const auto& [key, member] : value.members()) Walk(path + "." + key, member, true);
      for (const json::Value& item : value.items()) Walk(path, item, false);
      return;
    }
    if (own && value.is_null()) null.insert(path);
    if (own && value.is_string() && value.string().empty()) empty.insert(path);
    leaves[path].push_back({value.kind(),
                            value.is_string() ? value.string() : std::string(value.text()),
                            value.number()});
  }
};

// Top-level fields are visited in the order of their numbers.
inline Flat Flatten(const index::FieldMap& numbers, const Fields& fields) {
  std::vector<std::pair<FieldId, std::string>> order;
  for (const auto& [name, value] : fields) {
    const auto field = numbers.Find(name);
    EXPECT_TRUE(field) << name;
    if (field) order.emplace_back(*field, name);
  }
  std::sort(order.begin(), order.end());
  Flat flat;
  for (const auto& [field, name] : order)
    flat.Walk(name, json::Value::Parse(fields.at(name)), true);
  return flat;
}

inline std::string FacetForm(const std::string& text) {
  std::string out;
  text::NormalizeFacet(text, out);
  if (out.size() > kFacetStringBytesMax) {
    while (out.size() > kFacetStringBytesMax || (static_cast<uint8_t>(out.back()) & 0xc0) == 0x80)
      out.pop_back();
  }
  return out;
}

inline Content Model::Expected(const index::Snapshot& snapshot) const {
  Content content;
  text::TokenBuffer tokens;
  for (const auto& [id, document] : documents) {
    content.rows[document.docid] = document.fields;
    for (const auto& [name, value] : document.fields) ++content.distribution[name];
    const Flat flat = Flatten(*snapshot.fields, document.fields);
    for (const auto& [path, leaves] : flat.leaves) {
      if (!snapshot.settings->Searchable(path)) continue;
      uint32_t next = 0;
      for (const Leaf& leaf : leaves) {
        if (leaf.kind != json::Value::Kind::kNull && next <= kPositionMax) {
          const auto last = snapshot.analyzer->Words(
              leaf.text, {}, next, tokens, [&](std::string_view word, uint32_t position) {
                content.words[document.docid][path].emplace_back(position, word);
                content.postings[std::string(word)][path].insert(document.docid);
              });
          if (last) next = *last;
        }
        next += 8;
      }
    }
    const auto column = [&](const std::string& path) -> Content::Column* {
      return snapshot.settings->Faceted(path) ? &content.columns[path] : nullptr;
    };
    for (const auto& [path, leaves] : flat.leaves) {
      Content::Column* to = column(path);
      if (to == nullptr) continue;
      for (const Leaf& leaf : leaves) {
        if (leaf.kind == json::Value::Kind::kNumber) {
          to->numbers[leaf.number == 0 ? 0 : leaf.number].insert(document.docid);
        } else if (leaf.kind != json::Value::Kind::kNull) {
          const std::string form = FacetForm(leaf.text);
          if (!form.empty()) to->strings[form].insert(document.docid);
        }
      }
    }
    for (const std::string& path : flat.exists) {
      if (Content::Column* to = column(path)) to->exists.insert(document.docid);
    }
    for (const std::string& path : flat.null) {
      if (Content::Column* to = column(path)) to->null.insert(document.docid);
    }
    for (const std::string& path : flat.empty) {
      if (Content::Column* to = column(path)) to->empty.insert(document.docid);
    }
  }
  return content;
}

inline std::set<DocId> LiveOf(std::string_view postings, const DocSet& live) {
  std::set<DocId> out;
  PostingsReader(postings).ForEach([&](DocId docid) {
    if (live.Contains(docid)) out.insert(docid);
  });
  return out;
}

// How the document spells the values of a column, in order.
inline std::map<std::string, std::vector<std::string>> SpellingsIn(const index::FieldMap& numbers,
                                                                   const Fields& fields,
                                                                   const std::string& path) {
  Flat flat = Flatten(numbers, fields);
  std::map<std::string, std::vector<std::string>> out;
  for (const Leaf& leaf : flat.leaves[path]) {
    if (leaf.kind == json::Value::Kind::kNumber || leaf.kind == json::Value::Kind::kNull) continue;
    out[FacetForm(leaf.text)].push_back(leaf.text);
  }
  return out;
}

// Checks the lists of a segment that repeat content of its forward index.
inline void ExpectLists(
    const segment::TextReader& text,
    const std::map<std::pair<FieldId, uint32_t>, std::set<DocId>>& lengths,
    const std::map<std::pair<Ordinal, Ordinal>, std::map<DocId, uint32_t>>& neighbours) {
  const auto docids = [](auto&& add) {
    DocSetUnion join;
    add(join);
    std::vector<uint32_t> all;
    join.Finish().ToVector(all);
    return std::set<DocId>(all.begin(), all.end());
  };
  std::set<FieldId> fields;
  for (const auto& [key, set] : lengths) fields.insert(key.first);
  for (const FieldId field : fields) {
    for (uint32_t words = 0; words <= segment::kListedLengthMax; ++words) {
      const auto expected = lengths.find({field, words});
      EXPECT_EQ(docids([&](DocSetUnion& out) { text.lengths().Union(field, words, out); }),
                expected == lengths.end() ? std::set<DocId>() : expected->second);
    }
  }
  std::vector<Ordinal> frequent;
  for (Ordinal word = 0; word < text.terms().size(); ++word) {
    uint64_t documents = 0;
    text.ForEachField(
        word, [&](FieldId, std::string_view postings) { documents += PostingsCount(postings); });
    if (documents >= segment::FrequentMin(text.document_count())) frequent.push_back(word);
  }
  EXPECT_EQ(text.adjacency().words(), frequent);
  for (const Ordinal left : frequent) {
    for (const Ordinal right : frequent) {
      const auto expected = neighbours.find({left, right});
      std::map<DocId, uint32_t> distances;
      for (uint32_t distance = 1; distance <= segment::kAdjacencyDistances; ++distance) {
        for (const DocId docid :
             docids([&](DocSetUnion& out) { text.UnionAdjacency(left, right, distance, out); })) {
          EXPECT_TRUE(distances.emplace(docid, distance).second)
              << "a pair of words is listed twice for a document";
        }
      }
      EXPECT_EQ(distances, expected == neighbours.end() ? decltype(distances)() : expected->second);
    }
  }
}

// Reads everything back, and checks that the parts of a segment agree with each other.
inline Content Observe(const index::Snapshot& snapshot) {
  Content content;
  const auto name_of = [&](FieldId field) { return snapshot.fields->name(field); };
  DocSet seen;
  for (const auto& segment : snapshot.segments) {
    EXPECT_FALSE(seen.Intersects(segment->live)) << "a document is live in two segments";
    seen |= segment->live;
    EXPECT_TRUE(segment->live == *segment->documents - segment->dead);
    const auto docids = segment->rows->docids();
    segment::RowCodec codec(snapshot.dictionary);
    std::vector<segment::RowField> fields;
    const auto& terms = segment->text->terms();
    EXPECT_TRUE(terms.Verify().ok());
    std::map<std::pair<FieldId, uint32_t>, std::set<DocId>> lengths;
    std::map<std::pair<Ordinal, Ordinal>, std::map<DocId, uint32_t>>
        neighbours;  // the smallest distance
    for (uint32_t local = 0; local < docids.size(); ++local) {
      const DocId docid = docids[local];
      EXPECT_EQ(segment->text->Find(docid), local);
      std::vector<std::pair<uint32_t, Ordinal>> before;  // of the field: position, word
      segment->text->ForEachRun(
          segment->text->ForwardRecord(local),
          [&](FieldId id, uint32_t words) {
            lengths[{id, words}].insert(docid);
            before.clear();
          },
          [&](FieldId, uint32_t position, const segment::PackedOrdinals& run) {
            for (uint32_t i = 0; i < run.count; ++i) {
              for (const auto& [at, left] : before) {
                const uint32_t distance = position + i - at;
                if (distance > segment::kAdjacencyDistances) continue;
                uint32_t& lowest =
                    neighbours[{left, run.at(i)}].try_emplace(docid, distance).first->second;
                lowest = std::min(lowest, distance);
              }
              before.emplace_back(position + i, run.at(i));
            }
          });
      if (!segment->live.Contains(docid)) continue;
      const auto row = codec.Expand(segment->rows->at(local));
      EXPECT_TRUE(row.ok());
      EXPECT_TRUE(row.ok() && segment::ParseRow(*row, fields));
      for (const auto& field : fields) {
        content.rows[docid][name_of(field.field)] = field.value;
        ++content.distribution[name_of(field.field)];
      }
      std::string field;
      segment->text->ForEachRun(
          segment->text->ForwardRecord(local), [&](FieldId id, uint32_t) { field = name_of(id); },
          [&](FieldId, uint32_t position, const segment::PackedOrdinals& run) {
            for (uint32_t i = 0; i < run.count; ++i) {
              content.words[docid][field].emplace_back(position + i, terms.Word(run.at(i)));
            }
          });
    }
    for (auto at = terms.Begin(); at.Valid(); at.Next()) {
      DocSet all;
      DocSetUnion joined;
      segment->text->ForEachField(at.ordinal(), [&](FieldId field, std::string_view postings) {
        EXPECT_TRUE(ValidatePostings(postings).ok());
        UnionPostingsInto(postings, all);
        for (const DocId docid : LiveOf(postings, segment->live)) {
          content.postings[std::string(at.word())][name_of(field)].insert(docid);
        }
      });
      segment->text->UnionPostings(at.ordinal(), nullptr, joined);
      EXPECT_TRUE(all == joined.Finish());
      EXPECT_TRUE(all.IsSubsetOf(*segment->documents));
      EXPECT_EQ(segment->text->HasLive(at.ordinal(), nullptr, &segment->live),
                all.Intersects(segment->live));
    }
    ExpectLists(*segment->text, lengths, neighbours);
    for (const FieldId field : segment->columns->fields()) {
      const segment::ColumnReader* column = segment->columns->Find(field);
      if (column == nullptr) {
        ADD_FAILURE() << "a column is damaged";
        continue;
      }
      Content::Column found, by_value;
      for (uint32_t local = 0; local < docids.size(); ++local) {
        if (!segment->live.Contains(docids[local])) continue;
        const auto spellings =
            SpellingsIn(*snapshot.fields, content.rows[docids[local]], name_of(field));
        column->ForEachValue(local, [&](segment::ValueOrdinal value) {
          if (value < column->number_count()) {
            found.numbers[column->numbers()[value]].insert(docids[local]);
            return;
          }
          const uint32_t number = value - column->number_count();
          const std::string text(column->string(number));
          found.strings[text].insert(docids[local]);
          // The stored spelling is that of the first document, and of all unless the flag says that
          // it varies.
          const auto own = spellings.find(text);
          if (own == spellings.end()) {
            ADD_FAILURE() << "the document does not hold the value " << text;
            return;
          }
          std::vector<uint32_t> members;
          PostingsReader(column->postings(value)).ToVector(members);
          if (members.at(0) == docids[local]) {
            EXPECT_EQ(own->second[0], column->spelling(number));
          }
          if (!column->spelling_varies(number)) {
            for (const std::string& spelling : own->second)
              EXPECT_EQ(spelling, column->spelling(number));
          }
        });
      }
      for (uint32_t value = 0; value < column->value_count(); ++value) {
        auto documents = LiveOf(column->postings(value), segment->live);
        if (documents.empty()) continue;
        if (value < column->number_count()) {
          by_value.numbers[column->numbers()[value]] = std::move(documents);
        } else {
          by_value.strings[std::string(column->string(value - column->number_count()))] =
              std::move(documents);
        }
      }
      EXPECT_TRUE(found.numbers == by_value.numbers && found.strings == by_value.strings)
          << "values by document and documents by value differ in " << name_of(field);
      found.exists = LiveOf(column->exists_bytes(), segment->live);
      found.null = LiveOf(column->null_bytes(), segment->live);
      found.empty = LiveOf(column->empty_bytes(), segment->live);
      if (found == Content::Column()) continue;
      Content::Column& to = content.columns[name_of(field)];
      for (auto& [value, documents] : found.numbers) to.numbers[value].merge(documents);
      for (auto& [value, documents] : found.strings) to.strings[value].merge(documents);
      to.exists.merge(found.exists);
      to.null.merge(found.null);
      to.empty.merge(found.empty);
    }
  }
  EXPECT_TRUE(seen == snapshot.documents);
  EXPECT_TRUE(snapshot.Health().ok());
  return content;
}

inline void ExpectSame(const Content& expected, const Content& actual) {
  EXPECT_EQ(FirstDifference(expected.rows, actual.rows), "") << "stored documents";
  EXPECT_EQ(FirstDifference(expected.distribution, actual.distribution), "")
      << "field distribution";
  EXPECT_EQ(FirstDifference(expected.words, actual.words), "") << "forward index";
  EXPECT_EQ(FirstDifference(expected.postings, actual.postings), "") << "postings";
  EXPECT_EQ(FirstDifference(expected.columns, actual.columns), "") << "columns";
}

inline void ExpectIndexHolds(index::Index& index, const Model& model) {
  const auto snapshot = index.snapshot();
  ExpectSame(model.Expected(*snapshot), Observe(*snapshot));
  std::map<std::string, int64_t> stored, counted;
  for (const auto& [field, share] : snapshot->distribution.shares())
    stored[snapshot->fields->name(field)] = share.documents;
  uint64_t bytes = 0;
  for (const auto& [id, document] : model.documents) {
    std::string json;
    for (const auto& [name, value] : document.fields) {
      ++counted[name];
      json += (json.empty() ? "{" : ",") + Quoted(name) + ":" + value;
    }
    bytes += json.size() + 1;
  }
  EXPECT_EQ(snapshot->distribution.JsonBytes(*snapshot->fields, snapshot->documents.size()), bytes);
  EXPECT_EQ(FirstDifference(counted, stored), "") << "stored field distribution";
  auto ids = index.ReadExternalIds();
  ASSERT_TRUE(ids.ok());
  for (const auto& [id, document] : model.documents) EXPECT_EQ(ids->Find(id), document.docid) << id;
}

// Documents that reach every branch of extraction.
class DocumentGenerator {
 public:
  explicit DocumentGenerator(std::mt19937_64& random) : random_(random) {}

  uint64_t Below(uint64_t end) { return random_() % end; }
  bool Chance(uint64_t one_in) { return Below(one_in) == 0; }

  Fields MakeFields() {
    static const char* const kNames[] = {"title", "tags",      "author", "price",
                                         "meta",  "meta.kind", "a b",    "Überschrift"};
    Fields fields;
    for (const char* name : kNames) {
      if (Chance(2)) fields[name] = MakeValue(name == std::string("meta") ? 3 : 2);
    }
    if (Chance(3)) fields["title"] = Quoted(MakeText(3 + Below(40)));
    if (Chance(3)) fields["color"] = Quoted(MakeColor());
    if (Chance(60)) fields["long"] = Quoted(std::string(100 + Below(800), 'x'));
    return fields;
  }

  // The id as a field: integers may be written as numbers or texts.
  std::string MakeId(const std::string& id) {
    return Chance(2) && std::all_of(id.begin(), id.end(), ::isdigit) ? id : Quoted(id);
  }

  // A document as a client may write it: any order, white space, repeated names of which the last
  // counts.
  std::string Spell(const Fields& fields) {
    std::vector<std::pair<std::string, std::string>> members(fields.begin(), fields.end());
    std::shuffle(members.begin(), members.end(), random_);
    std::string out = "{";
    if (Chance(10) && members[0].first != "id") out += Quoted(members[0].first) + ":[1],";
    for (size_t i = 0; i < members.size(); ++i) {
      if (i > 0) out += ',';
      out += Space() + Quoted(members[i].first) + Space() + ":" + Space() + members[i].second +
             Space();
    }
    return out + "}";
  }

 private:
  std::string Space() { return Chance(8) ? std::string(" \n\t\r").substr(Below(4), 1) : ""; }
  std::string MakeWord() {
    static const char* const kWords[] = {
        "red",   "Red",      "RED",      "blue", "the",  "of",      "naïve",  "été",
        "hello", "world",    "C++",      "x86",  "東京", "straße",  "don't",  "a",
        "zebra", "aardvark", "mid-size", "e.g.", "1.5",  "foo_bar", "Ünïcode"};
    if (Chance(5)) return "w" + std::to_string(Below(Chance(4) ? 100000 : 30));
    return kWords[Below(std::size(kWords))];
  }
  std::string MakeText(uint64_t words) {
    static const char* const kBetween[] = {" ", " ", " ", " ", ", ", ". ", "\n", "/"};
    std::string out;
    for (uint64_t i = 0; i < words; ++i) out += (i > 0 ? kBetween[Below(8)] : "") + MakeWord();
    return out;
  }
  std::string MakeColor() {
    static const char* const kColors[] = {"Red",   "red",  "RED",  "blue", "Blue",
                                          "green", "Grün", "grün", ""};
    return kColors[Below(std::size(kColors))];
  }
  std::string MakeValue(uint64_t depth) {
    static const char* const kNumbers[] = {"0",  "-0",  "1",  "1.0", "2",
                                           "10", "1.5", "-7", "1e3", "9007199254740993"};
    switch (Below(depth > 0 ? 9 : 6)) {
      case 0: return kNumbers[Below(std::size(kNumbers))];
      case 1: return Chance(2) ? "true" : "false";
      case 2: return "null";
      case 3: return Quoted(MakeColor());
      case 4: return Quoted(Chance(6) ? "" : MakeText(1 + Below(6)));
      case 5: return Quoted("quote \" slash \\ tab \t");
      case 6: {
        std::string out = "[";
        for (uint64_t i = 0, n = Below(4); i < n; ++i)
          out += (i > 0 ? "," : "") + MakeValue(depth - 1);
        return out + "]";
      }
      default: {
        static const char* const kKeys[] = {"kind", "name", "x", "x.y", ""};
        std::string out = "{";
        std::set<std::string> used;
        for (uint64_t i = 0, n = Below(4); i < n; ++i) {
          const std::string key = kKeys[Below(std::size(kKeys))];
          if (!used.insert(key).second) continue;
          out += (out.size() > 1 ? "," : "") + Quoted(key) + ":" + MakeValue(depth - 1);
        }
        return out + "}";
      }
    }
  }
  std::mt19937_64& random_;
};

}  // namespace gannet::indexing
