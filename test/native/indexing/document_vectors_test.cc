// The life of `_vectors` under any history of documents, settings and merges, compared with a map
// that follows the tables of embedders.md 10 and 11 one by one. The embeddings of one embedder are
// made from the documents' texts.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "comparisons.h"
#include "index/verify.h"
#include "indexing/embed_calls.h"
#include "indexing/vectors_field.h"
#include "indexing/write_path_model.h"
#include "search/vectors/stored_vectors.h"

namespace gannet::indexing {
namespace {

using Random = std::mt19937_64;

struct NaiveEmbedder {
  bool user_provided;
  int dimensions;
  bool bits = false;
};
using NaiveSettings = std::map<std::string, NaiveEmbedder>;

// A `_vectors` entry as a test sends it and as the model reads it.
struct Sent {
  std::string json;
  bool valid = true;   // its shape is valid
  int dimensions = 0;  // of its embeddings; 0: none
  std::vector<std::vector<std::string>> rows;
  bool given = false, removed = false, regenerate = false, object = false, nothing = false;
  std::string passages;  // JSON; empty: none
};

// The embedding made from a text, and a number that identifies the text.
std::vector<std::string> EmbeddingOf(const std::string& text) {
  return {text.substr(1), text == "t1" ? "-2" : "0.5", "-0.25"};
}
uint64_t HashOf(const std::string& text) {
  return 0x8000'0000'0000'0001 + static_cast<uint64_t>(text.back());
}

// The passage that the embedding of a text is made from.
std::string PassageOf(const std::string& text) {
  return "[{\"start\":1,\"length\":" + std::to_string(text.size() - 1) + "}]";
}

struct NaiveEntry {
  std::vector<std::vector<std::string>> rows;
  std::string passages;  // JSON; empty: none
  bool regenerate = false;
  std::optional<std::string> made_of;  // the text; none: embeddings were given, or there are none
};
// The state of an entry while a batch runs.
struct NaiveMaking {
  bool make = false;   // from the text, unless the present embeddings are from the same text
  bool always = true;  // whatever the text was
};
struct NaiveDocument {
  std::string text;
  std::map<std::string, NaiveEntry> entries;  // of embedders
  std::map<std::string, Sent> kept;           // of other names
};

using Row = std::vector<std::string>;

std::string RowsText(const std::vector<Row>& rows) {
  std::string out = "[";
  for (const Row& row : rows) {
    out += out.size() > 1 ? ",[" : "[";
    for (size_t i = 0; i < row.size(); ++i) out += (i > 0 ? "," : "") + row[i];
    out += "]";
  }
  return out + "]";
}

// Embeddings as a response shows them: for bits only the signs, and every number with a fraction.
std::vector<Row> ShownRows(std::vector<Row> rows, bool bits) {
  for (Row& row : rows) {
    for (std::string& number : row) {
      if (bits) number = number[0] != '-' && number != "0" ? "1" : "0";
      if (number.find_first_of(".e") == number.npos) number += ".0";
    }
  }
  return rows;
}

Sent RandomSent(Random& random, int dimensions) {
  static const char* const kNumbers[] = {"0",  "1",   "-1",    "0.5",   "0.25",
                                         "-3", "2.5", "1e+20", "-0.125"};
  Sent sent;
  if (random() % 12 == 0) {
    static const char* const kWrong[] = {"true",
                                         "\"text\"",
                                         "7",
                                         "[1,\"x\"]",
                                         "[[1],2]",
                                         "{}",
                                         "{\"embeddings\":[1]}",
                                         "{\"regenerate\":1}",
                                         "{\"regenerate\":true,\"more\":1}",
                                         "[null]",
                                         "[[[1]]]",
                                         "[1e300]",
                                         "{\"regenerate\":true,\"embeddings\":[1],\"passages\":{}}",
                                         "{\"regenerate\":true,\"passages\":[{\"start\":-1}]}",
                                         "{\"regenerate\":true,\"passages\":[7]}",
                                         "{\"regenerate\":false,\"embeddings\":{}}"};
    sent.json = kWrong[random() % std::size(kWrong)];
    sent.valid = false;
    return sent;
  }
  sent.dimensions = random() % 16 == 0 ? dimensions + 1 : dimensions;
  const size_t count = random() % 5 == 0 ? 2 : 1;
  for (size_t i = 0; i < count; ++i) {
    sent.rows.emplace_back();
    for (int j = 0; j < sent.dimensions; ++j)
      sent.rows.back().emplace_back(kNumbers[random() % std::size(kNumbers)]);
  }
  std::string embeddings = RowsText(sent.rows);
  if (count == 1 && random() % 2 == 0) embeddings = embeddings.substr(1, embeddings.size() - 2);
  switch (random() % 6) {
    case 0:
    case 1:
      sent.given = true;
      sent.json = embeddings;
      break;
    case 2:
      sent.removed = true;
      sent.json = random() % 2 == 0 ? "null" : " [ ] ";
      break;
    default:
      sent.object = true;
      sent.regenerate = random() % 2 == 0;
      sent.json = std::string("{\"regenerate\": ") + (sent.regenerate ? "true" : "false");
      if (const auto kind = random() % 4; kind == 0) {
        sent.removed = true;
        sent.json += ", \"embeddings\": []";
      } else if (kind == 1) {
        sent.nothing = true;
        if (random() % 2 == 0) sent.json += ", \"embeddings\": null";
      } else {
        sent.given = true;
        sent.json += ", \"embeddings\": " + embeddings;
        if (random() % 2 == 0) {
          for (size_t i = 0; i < count; ++i) {
            sent.passages += (i > 0 ? ",{\"start\":" : "[{\"start\":") + std::to_string(i * 7) +
                             ",\"length\":" + std::to_string(1 + random() % 9) + "}";
          }
          sent.passages += "]";
          sent.json += ", \"passages\": " + sent.passages;
        }
      }
      sent.json += "}";
  }
  if (!sent.given) sent.rows.clear();
  return sent;
}

// How a name that is not an embedder is shown.
std::string KeptText(const Sent& sent) {
  if (!sent.object) return sent.removed ? "[]" : sent.json;
  const size_t at = sent.json.find("\"embeddings\": ");
  const size_t end = std::min(sent.json.size() - 1, sent.json.find(", \"passages\""));
  const std::string embeddings =
      at == std::string::npos ? "null" : sent.json.substr(at + 14, end - at - 14);
  return std::string("{\"regenerate\":") + (sent.regenerate ? "true" : "false") +
         ",\"embeddings\":" + embeddings +
         (sent.passages.empty() ? "" : ",\"passages\":" + sent.passages) + "}";
}

void ToBits(NaiveEntry& entry) {
  for (auto& row : entry.rows) {
    for (std::string& number : row) number = number[0] != '-' && number != "0" ? "1" : "0";
  }
}

class Naive {
 public:
  NaiveSettings settings;
  std::map<std::string, NaiveDocument> documents;

  // The error code, or an empty string.
  std::string Check(const std::string& id, const std::map<std::string, Sent>& vectors) const {
    // Types of the whole document first, then lengths, then missing vectors that cannot be made.
    for (const auto& [name, sent] : vectors) {
      if (!sent.valid) return "invalid_vectors_type";
    }
    for (const auto& [name, embedder] : settings) {
      const auto found = vectors.find(name);
      if (found != vectors.end() && found->second.given &&
          found->second.dimensions != embedder.dimensions)
        return "invalid_vector_dimensions";
    }
    for (const auto& [name, embedder] : settings) {
      const auto found = vectors.find(name);
      if (found != vectors.end() && embedder.user_provided && found->second.nothing &&
          found->second.regenerate)
        return "vector_embedding_error";
    }
    if (documents.contains(id)) return "";
    for (const auto& [name, embedder] : settings) {
      if (embedder.user_provided && !vectors.contains(name)) return "vector_embedding_error";
    }
    return "";
  }

  static std::string CheckOne(const NaiveEmbedder& embedder, const Sent& sent) {
    if (!sent.valid) return "invalid_vectors_type";
    if (sent.given && sent.dimensions != embedder.dimensions) return "invalid_vector_dimensions";
    if (embedder.user_provided && sent.nothing && sent.regenerate) return "vector_embedding_error";
    return "";
  }

  void BeginBatch() {
    making_.clear();
    texts_before_.clear();
    for (const auto& [id, document] : documents) {
      texts_before_[id] = document.text;
      for (const auto& [name, entry] : document.entries) making_[{id, name}].always = false;
    }
  }
  void Delete(const std::string& id) {
    documents.erase(id);
    for (const auto& [name, embedder] : settings) making_.erase({id, name});
  }
  void Send(const std::string& id, const std::map<std::string, Sent>& vectors, bool update,
            bool has_member, const std::string& text) {
    const bool existed = documents.contains(id);
    NaiveDocument& document = documents[id];
    document.text = text;
    for (const auto& [name, embedder] : settings) {
      const auto found = vectors.find(name);
      NaiveMaking& making = making_[{id, name}];
      if (found != vectors.end()) {
        ApplyOne(document, name, embedder, found->second, making);
      } else if (!existed && !embedder.user_provided) {
        document.entries[name] = {{}, {}, true, {}};
        making = {true, true};
      } else if (existed) {
        making.make = making.make || document.entries[name].regenerate;
      }
    }
    if (!update) document.kept.clear();
    if (!has_member) return;
    for (const auto& [name, sent] : vectors) {
      if (!settings.contains(name)) document.kept[name] = sent;
    }
  }
  void EndBatch() {
    for (auto& [id, document] : documents) {
      for (auto& [name, entry] : document.entries) {
        if (settings.at(name).user_provided || !making_[{id, name}].make) continue;
        if (!making_[{id, name}].always &&
            entry.made_of.value_or(texts_before_[id]) == document.text)
          continue;
        entry.rows = {EmbeddingOf(document.text)};
        entry.passages = PassageOf(document.text);
        entry.made_of = document.text;
        if (settings.at(name).bits) ToBits(entry);
      }
    }
  }
  static void ApplyOne(NaiveDocument& document, const std::string& name,
                       const NaiveEmbedder& embedder, const Sent& sent, NaiveMaking& making) {
    NaiveEntry& entry = document.entries[name];
    const bool was_kept = !entry.regenerate;
    entry.regenerate = sent.regenerate;
    making.make = !sent.given && !sent.removed && sent.regenerate;
    if (sent.given) {
      entry.rows = sent.rows;
      entry.passages = sent.passages;
      if (embedder.bits) ToBits(entry);
    } else if (sent.removed || (sent.regenerate && was_kept)) {
      entry.rows.clear();
      entry.passages.clear();
    } else {
      return;
    }
    entry.made_of.reset();
    making.always = true;
  }

  // order: of all documents, by docid. Returns the first fault.
  std::string ChangeSettings(const NaiveSettings& next, const std::vector<std::string>& order) {
    auto after = documents;
    for (const std::string& id : order) {
      NaiveDocument& document = after.at(id);
      for (const auto& [name, embedder] : next) {
        if (settings.contains(name)) {
          if (embedder.bits && document.entries.contains(name)) ToBits(document.entries[name]);
          continue;
        }
        NaiveMaking& making = making_[{id, name}];
        const auto kept = document.kept.find(name);
        if (kept == document.kept.end()) {
          if (embedder.user_provided) return "vector_embedding_error";
          document.entries[name] = {{}, {}, true, {}};
          making = {true, true};
          continue;
        }
        if (const std::string code = CheckOne(embedder, kept->second); !code.empty()) return code;
        ApplyOne(document, name, embedder, kept->second, making);
        document.kept.erase(kept);
      }
      for (const auto& [name, embedder] : settings) {
        if (next.contains(name)) continue;
        const auto entry = document.entries.find(name);
        if (entry == document.entries.end()) continue;
        if (!entry->second.regenerate && !embedder.bits) {
          Sent sent;
          sent.object = true;
          sent.rows = entry->second.rows;
          sent.given = !sent.rows.empty();
          sent.removed = sent.rows.empty();
          sent.dimensions = sent.given ? static_cast<int>(sent.rows[0].size()) : 0;
          // The engine writes it, and so in the form of a response.
          sent.json =
              "{\"regenerate\": false, \"embeddings\": " + RowsText(ShownRows(sent.rows, false)) +
              "}";
          document.kept[name] = sent;
        }
        document.entries.erase(entry);
      }
    }
    documents = after;
    settings = next;
    return "";
  }

  std::string Shown(const NaiveDocument& document) const {
    std::map<std::string, std::string> members;
    for (const auto& [name, embedder] : settings) {
      const auto found = document.entries.find(name);
      const NaiveEntry entry = found == document.entries.end() ? NaiveEntry{} : found->second;
      members[name] =
          "{\"embeddings\":" + RowsText(ShownRows(entry.rows, embedder.bits)) +
          ",\"regenerate\":" + (entry.regenerate ? "true" : "false") +
          (entry.regenerate && !entry.passages.empty() ? ",\"passages\":" + entry.passages + "}"
                                                       : "}");
    }
    for (const auto& [name, sent] : document.kept) members[name] = KeptText(sent);
    std::string out;
    for (const auto& [name, text] : members) out += name + " " + text + "\n";
    return out;
  }

 private:
  std::map<std::pair<std::string, std::string>, NaiveMaking> making_;  // by id and embedder
  std::map<std::string, std::string> texts_before_;                    // by id
};

template <typename Number>
void Put(std::string& out, Number number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// The result for a chunk of documents; see src/embedding/chunk-result.ts.
std::string ResponseTo(const std::string& chunk) {
  std::string out;
  const json::Value documents = json::Value::Parse(chunk);
  for (const json::Value& document : documents.items()) {
    const std::string& text = document["doc"]["text"].string();
    for (const json::Value& want : document["want"].items()) {
      const auto& stored = want.items()[2].items();
      const auto hash_of = [](const json::Value& row) {
        return std::stoull(row.items()[1].string(), nullptr, 16);
      };
      bool same = stored.size() == 1 && hash_of(stored[0]) == HashOf(text);
      const bool unknown = std::all_of(stored.begin(), stored.end(),
                                       [&](const auto& row) { return hash_of(row) == 0; });
      if (unknown && document["old"].is_object())
        same = same || document["old"]["text"].string() == text;
      if (want.items()[1].number() != 0) same = false;
      Put<uint8_t>(out, same ? 0 : 1);
      if (same) continue;
      Put<uint16_t>(out, 1);
      Put<uint8_t>(out, 0);
      Put<uint8_t>(out, 0);
      Put<uint64_t>(out, HashOf(text));
      Put<uint32_t>(out, 1);
      Put<uint32_t>(out, static_cast<uint32_t>(text.size() - 1));
      const auto numbers = EmbeddingOf(text);
      Put<uint32_t>(out, static_cast<uint32_t>(numbers.size()));
      for (const std::string& number : numbers) Put<float>(out, std::stof(number));
    }
  }
  return out;
}

// Runs a batch whose embeddings are made at once.
Result<std::string> RunMaking(index::Index& index, const std::string& steps,
                              const std::vector<std::string>& payloads) {
  EmbedCalls* there = nullptr;
  EmbedCalls calls([&](uint32_t call, const std::string& documents) {
    there->Respond(call, ResponseTo(documents));
  });
  there = &calls;
  JobOptions options;
  options.embed_calls = &calls;
  return RunSteps(index, steps, payloads, options);
}

std::string SettingsText(const NaiveSettings& settings) {
  std::string embedders, states;
  for (const auto& [name, embedder] : settings) {
    const std::string key = std::string(embedders.empty() ? "\"" : ",\"") + name + "\":{";
    embedders += key + "\"dimensions\":" + std::to_string(embedder.dimensions) +
                 ",\"binaryQuantized\":" + (embedder.bits ? "true" : "false") + "}";
    states += key + "\"computes\":" + (embedder.user_provided ? "false" : "true") + "}";
  }
  return "{\"embedders\":{" + embedders + "},\"embedderStates\":{" + states + "}}";
}

std::string CodeIn(const std::string& outcome) {
  const size_t at = outcome.find("\"code\":\"");
  return at == std::string::npos ? "" : outcome.substr(at + 8, outcome.find('"', at + 8) - at - 8);
}

void ExpectSame(index::Index& index, const Naive& naive) {
  const auto snapshot = index.snapshot();
  ASSERT_EQ(snapshot->documents.size(), naive.documents.size());
  auto opened_ids = index.ReadExternalIds();
  ASSERT_TRUE(opened_ids.ok());
  auto& ids = *opened_ids;
  segment::RowCodec codec(snapshot->dictionary);
  uint64_t embeddings = 0, embedded = 0;
  for (const auto& [id, document] : naive.documents) {
    const auto docid = ids.Find(id);
    ASSERT_TRUE(docid);
    std::vector<segment::RowField> fields;
    ASSERT_TRUE(segment::ParseRow(*codec.Expand(snapshot->FindRow(*docid)), fields));
    std::string text, shown;
    ASSERT_TRUE(search::AppendStoredVectors(*snapshot, *docid, fields, text).ok());
    std::map<std::string, std::string> members;
    json::ForEachMember(text, [&](std::string_view name, std::string_view value) {
      members[std::string(name)] = value;
    });
    for (const auto& [name, value] : members) shown += name + " " + value + "\n";
    ASSERT_EQ(shown, naive.Shown(document)) << "document " << id;
    uint64_t rows = 0;
    for (const auto& [name, entry] : document.entries) rows += entry.rows.size();
    embeddings += rows;
    embedded += rows > 0 ? 1 : 0;
  }
  ASSERT_EQ(snapshot->CountEmbeddings().embeddings, embeddings);
  ASSERT_EQ(snapshot->CountEmbeddings().documents, embedded);
}

TEST(DocumentVectors, AnyHistoryGivesWhatTheTablesSay) {
  Random random(TestSeed() + 5);
  const NaiveSettings possible = {{"a", {true, 2}}, {"b", {false, 3}}, {"c", {true, 2}}};
  for (Comparisons comparisons(60); comparisons.Left();) {
    TestFolder folder;
    auto index = *index::Index::Open(folder.path());
    Naive naive;
    for (int batch = 0; batch < 12 && comparisons.Next(); ++batch) {
      naive.BeginBatch();
      if (random() % 3 == 0) {
        NaiveSettings next;
        for (const auto& [name, embedder] : possible) {
          const auto now = naive.settings.find(name);
          if (random() % 3 == 0 ? now == naive.settings.end() : now != naive.settings.end()) {
            next[name] = now == naive.settings.end() ? embedder : now->second;
            next[name].bits |= random() % 6 == 0;
          }
        }
        std::vector<std::string> order;
        for (const auto& [id, document] : naive.documents) order.push_back(id);
        {
          auto ids = index->ReadExternalIds();
          ASSERT_TRUE(ids.ok());
          std::sort(order.begin(), order.end(),
                    [&](const auto& a, const auto& b) { return *ids->Find(a) < *ids->Find(b); });
        }
        const auto outcome = RunMaking(*index, SettingsStep(SettingsText(next)), {});
        const std::string code = naive.ChangeSettings(next, order);
        ASSERT_EQ(outcome.ok() ? CodeIn(*outcome) : outcome.status().detail(), code);
      } else {
        // Several tasks in one batch, each with its own outcome.
        std::string steps;
        std::vector<std::string> payloads, codes;
        for (size_t task = 0; task < 1 + random() % 3; ++task) {
          if (random() % 5 == 0) {
            const std::string id = std::to_string(random() % 12);
            steps += (steps.empty() ? "" : ",") +
                     std::string("{\"task\":1,\"kind\":\"deleteIds\",\"ids\":[\"") + id + "\"]}";
            naive.Delete(id);
            codes.emplace_back();
            continue;
          }
          const bool update = random() % 2 == 0;
          std::map<std::string, std::map<std::string, Sent>> sent;
          std::set<std::string> bare;
          std::map<std::string, std::string> texts;
          std::string payload, code;
          for (size_t i = 0; i < 1 + random() % 4; ++i) {
            const std::string id = std::to_string(random() % 12);
            if (sent.contains(id)) continue;
            auto& vectors = sent[id];
            std::string text;
            for (const char* name : {"a", "b", "c", "other"}) {
              if (random() % 4 == 0) continue;
              vectors[name] = RandomSent(random, name[0] == 'b' ? 3 : 2);
              text +=
                  (text.empty() ? "\"" : ", \"") + std::string(name) + "\":" + vectors[name].json;
            }
            texts[id] = "t" + std::to_string(random() % 3);
            payload += (payload.empty() ? "{\"id\":" : ",{\"id\":") + id + ",\"text\":\"" +
                       texts[id] + "\"";
            if (vectors.empty() && random() % 2 == 0) {
              bare.insert(id);
              if (random() % 2 == 0) payload += ",\"_vectors\":null";
            } else {
              payload += ",\"_vectors\":{" + text + "}";
            }
            payload += "}";
            (void)code;
          }
          payloads.push_back("[" + payload + "]");
          steps += (steps.empty() ? "" : ",") + DocumentsStep(payloads.size() - 1, update);
          std::set<std::string> found;
          for (const auto& [id, vectors] : sent) {
            if (const std::string fault = naive.Check(id, vectors); !fault.empty())
              found.insert(fault);
          }
          // If there are several faults, their order decides which is reported.
          codes.push_back(found.empty() ? "" : found.size() == 1 ? *found.begin() : "any");
          if (!found.empty()) continue;
          for (const auto& [id, vectors] : sent)
            naive.Send(id, vectors, update, !bare.contains(id), texts[id]);
        }
        const auto outcome = RunMaking(*index, steps, payloads);
        ASSERT_TRUE(outcome.ok()) << outcome.status().message();
        const json::Value results = json::Value::Parse(*outcome);
        for (size_t i = 0; i < codes.size(); ++i) {
          const std::string& code = results["results"].items()[i]["error"]["code"].string();
          if (codes[i] == "any") {
            ASSERT_NE(code, "");
          } else {
            ASSERT_EQ(code, codes[i]) << *outcome;
          }
        }
      }
      naive.EndBatch();
      ExpectSame(*index, naive);
      if (::testing::Test::HasFatalFailure()) return;
      if (random() % 4 == 0) {
        ASSERT_TRUE(MergeToOne(*index).ok());
        ExpectSame(*index, naive);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
    index.reset();
    const auto report = index::VerifyIndex(folder.path());
    for (const auto& fault : report.faults)
      ADD_FAILURE() << fault.structure << ": " << fault.message;
    index = *index::Index::Open(folder.path());
    ExpectSame(*index, naive);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(DocumentVectors, NumbersAreTheNearestDoubleInSinglePrecision) {
  Random random(TestSeed());
  for (Comparisons comparisons(20000); comparisons.Next();) {
    std::string text = random() % 2 == 0 ? "-" : "";
    const auto digits = [&](size_t digits_max) {
      for (size_t i = 0, count = 1 + random() % digits_max; i < count; ++i)
        text += static_cast<char>('0' + random() % 10);
    };
    if (random() % 2 == 0) {
      text += "0";
    } else {
      text += static_cast<char>('1' + random() % 9);
      digits(10);
    }
    if (random() % 4 != 0) {
      text += ".";
      digits(24);
    }
    if (random() % 8 == 0) {
      text += random() % 2 == 0 ? "e-" : "E+";
      digits(2);
    }
    const char* at = text.data();
    const auto expected = static_cast<float>(std::strtod(text.c_str(), nullptr));
    const float read = ReadSingle(at, text.data() + text.size());
    ASSERT_EQ(at, text.data() + text.size()) << text;
    if (std::isfinite(expected)) {
      ASSERT_EQ(read, expected) << text;
    }
  }
}

}  // namespace
}  // namespace gannet::indexing
