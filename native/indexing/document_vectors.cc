#include "indexing/document_vectors.h"

#include "base/json.h"
#include "base/json_reader.h"

namespace gannet::indexing {
namespace {

Status WrongDimensions(std::string_view document_id, const segment::EmbedderShape& shape,
                       size_t found) {
  return Status::Invalid("An embedding of the document `" + std::string(document_id) +
                             "` for the embedder `" + shape.name + "` has " +
                             std::to_string(found) + " dimensions; " +
                             std::to_string(shape.dimensions) + " are expected.",
                         "invalid_vector_dimensions");
}

}  // namespace

std::vector<segment::EmbedderShape> ShapesOf(const index::Settings& settings,
                                             std::span<const uint32_t> dimensions) {
  std::vector<segment::EmbedderShape> shapes;
  for (size_t i = 0; i < settings.embedders.size(); ++i) {
    shapes.push_back(
        {settings.embedders[i].name, dimensions[i], settings.embedders[i].binary_quantised});
  }
  return shapes;
}

DocumentVectors::DocumentVectors(const index::Snapshot& before, const index::Settings& after,
                                 std::vector<segment::EmbedderShape> shapes,
                                 std::vector<Remake> remakes, const MadeEmbeddings* made)
    : before_(before),
      after_(after),
      shapes_(std::move(shapes)),
      remakes_(std::move(remakes)),
      made_(made),
      states_(shapes_.size()) {
  for (const index::EmbedderSettings& embedder : before.settings->embedders) {
    if (after.Embedder(embedder.name) == nullptr) removed_.push_back(&embedder);
  }
}

void DocumentVectors::BeginNew() {
  for (State& state : states_) {
    const bool changed = state.changed || state.from != From::kNothing;
    state = {};
    state.changed = changed;
  }
  exists_ = false;
  kept_.clear();
  kept_text_.clear();
}

Status DocumentVectors::BeginStored(std::string_view document_id, DocId docid,
                                    std::string_view kept) {
  states_.assign(states_.size(), {});
  kept_.clear();
  kept_text_.clear();
  exists_ = true;
  if (states_.empty() && removed_.empty() && kept.empty()) return Status::Ok();
  VectorsMembers members;
  if (!kept.empty()) {
    auto read = ReadVectorsMembers(document_id, kept);
    // What older versions stored without checking is not lost.
    if (read.ok()) members = std::move(*read);
  }
  const size_t members_before = members.size();
  const index::SegmentView* segment = before_.FindSegment(docid);
  const auto find = [&](const std::string& name, State& state) {
    state.stored = segment == nullptr ? nullptr : segment->vectors->Find(name);
    const int64_t local = state.stored == nullptr ? -1 : state.stored->local_docids().Find(docid);
    if (local < 0) return false;
    state.local = static_cast<size_t>(local);
    state.flags = state.stored->flags(state.local);
    state.from = From::kStored;
    return true;
  };
  for (size_t i = 0; i < states_.size(); ++i) {
    const index::EmbedderSettings& embedder = after_.embedders[i];
    const bool known = before_.settings->Embedder(embedder.name) != nullptr;
    if (known && find(embedder.name, states_[i])) {
      State& state = states_[i];
      state.make = RemakeOf(i) != Remake::kNone && (state.flags & segment::kRegenerate) != 0;
      continue;
    }
    // A new embedder: a value stored in the document counts as if it were sent now.
    const auto found = members.find(embedder.name);
    if (found == members.end()) {
      if (known && RemakeOf(i) != Remake::kAll) continue;
      if (!embedder.computes) return MissingVectors(document_id, embedder.name, members);
      ApplyAbsent(i, false);
      continue;
    }
    GANNET_ASSIGN_OR_RETURN(
        const VectorsEntry entry,
        ReadVectorsEntry(document_id, embedder.name, found->second, shapes_[i].dimensions));
    if (!embedder.computes && entry.regenerate && !entry.given() && !entry.removed) {
      return MissingVectors(document_id, embedder.name, members);
    }
    ApplyEntry(i, entry, false);
    members.erase(found);
  }
  for (const auto& [name, value] : members) kept_.emplace(name, value);
  for (const index::EmbedderSettings* embedder : removed_) {
    State state;
    // The stored bits are not the numbers that the document was sent with.
    if (embedder->binary_quantised || !find(embedder->name, state) ||
        (state.flags & segment::kRegenerate) != 0)
      continue;
    std::string text = "{\"regenerate\":false,\"embeddings\":";
    GANNET_RETURN_IF_ERROR(segment::AppendEmbeddings(*state.stored, state.local, text));
    kept_[embedder->name] = text + "}";
  }
  if (removed_.empty() && members.size() == members_before) {
    kept_text_ = kept;
  } else {
    WriteKept();
  }
  return Status::Ok();
}

void DocumentVectors::ApplyEntry(size_t embedder, const VectorsEntry& entry, bool document_exists) {
  State& state = states_[embedder];
  const uint8_t flags_before = state.flags;
  const bool had_entry = state.from != From::kNothing;
  state.flags = entry.regenerate ? segment::kRegenerate : 0;
  if (entry.given()) {
    state.from = From::kGiven;
    state.given = entry;
    state.flags |= segment::kUserProvided;
    state.make = false;
  } else if (entry.removed) {
    state.from = From::kNone;
    state.make = false;
  } else if (entry.regenerate) {
    // If embeddings were not regenerated so far, new ones are always made: the present ones do not
    // count as made from the text.
    if (!document_exists || (flags_before & segment::kRegenerate) == 0) state.from = From::kNone;
    if (!had_entry) state.from = From::kNone;
    state.make = true;
  } else {
    // The present embeddings stay, for good.
    state.flags |= flags_before & segment::kUserProvided;
    if (!had_entry) state.from = From::kNone;
    state.make = false;
  }
  state.changed = true;
}

void DocumentVectors::ApplyAbsent(size_t embedder, bool document_exists) {
  State& state = states_[embedder];
  if (!after_.embedders[embedder].computes) return;
  if (document_exists && state.from != From::kNothing) {
    state.make |= (state.flags & segment::kRegenerate) != 0;
    return;
  }
  state.from = From::kNone;
  state.flags = segment::kRegenerate;
  state.make = true;
  state.changed = true;
}

void DocumentVectors::Apply(Action action, std::string_view vectors) {
  const bool existed = std::exchange(exists_, true);
  if (vectors.empty() || json::KindOf(vectors) != json::Kind::kObject) {
    for (size_t i = 0; i < states_.size(); ++i) ApplyAbsent(i, existed);
    if (action == Action::kReplace) {
      kept_.clear();
      kept_text_.clear();
    }
    return;
  }
  // It was checked when it was collected.
  VectorsMembers members = *ReadVectorsMembers({}, vectors);
  for (size_t i = 0; i < states_.size(); ++i) {
    const auto found = members.find(shapes_[i].name);
    if (found == members.end()) {
      ApplyAbsent(i, existed);
      continue;
    }
    const auto entry = ReadVectorsEntry({}, found->first, found->second, shapes_[i].dimensions);
    if (entry.ok()) ApplyEntry(i, *entry, existed);
    members.erase(found);
  }
  if (action == Action::kReplace) kept_.clear();
  for (const auto& [name, value] : members) {
    const auto entry = ReadVectorsEntry({}, name, value, 0);
    if (!entry.ok()) continue;
    std::string& text = kept_[name];
    text.clear();
    AppendKeptEntry(value, *entry, text);
  }
  WriteKept();
}

void DocumentVectors::WriteKept() {
  kept_text_.clear();
  for (const auto& [name, value] : kept_) {
    kept_text_ += kept_text_.empty() ? '{' : ',';
    AppendJsonString(kept_text_, name);
    kept_text_ += ':';
    kept_text_ += value;
  }
  if (!kept_text_.empty()) kept_text_ += '}';
}

std::optional<MadeEmbeddings::Rows> DocumentVectors::Made(size_t embedder, DocId docid) const {
  if (made_ == nullptr || !states_[embedder].make) return std::nullopt;
  return made_->Find(embedder, docid);
}

void DocumentVectors::AppendWants(std::vector<Want>& out) const {
  for (size_t i = 0; i < states_.size(); ++i) {
    const State& state = states_[i];
    if (!state.make) continue;
    const bool stored = state.from == From::kStored;
    out.push_back(
        {i, !stored || RemakeOf(i) == Remake::kAll, stored ? state.stored : nullptr, state.local});
  }
}

bool DocumentVectors::Changed(DocId docid) const {
  for (size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].changed || Made(i, docid)) return true;
  }
  return false;
}

Status DocumentVectors::AddTo(std::string_view document_id, DocId docid,
                              segment::VectorsWriter& vectors) const {
  for (size_t i = 0; i < states_.size(); ++i) {
    const State& state = states_[i];
    if (state.from == From::kNothing) continue;
    const segment::EmbedderShape& shape = vectors.shape(i);
    if (const auto made = Made(i, docid)) {
      vectors.BeginDocument(i, docid, state.flags & ~segment::kUserProvided);
      const size_t rows = made->sources.size();
      if (rows == 0) continue;
      const size_t dimensions = made->numbers.size() / rows;
      if (shape.dimensions != 0 && dimensions != shape.dimensions)
        return WrongDimensions(document_id, shape, dimensions);
      for (size_t row = 0; row < rows; ++row) {
        vectors.AddRow(i, made->numbers.subspan(row * dimensions, dimensions), made->sources[row]);
      }
    } else if (state.from == From::kStored) {
      if (!state.stored->rows_of(state.local).empty() && shape.dimensions != 0 &&
          state.stored->dimensions() != shape.dimensions) {
        return WrongDimensions(document_id, shape, state.stored->dimensions());
      }
      GANNET_RETURN_IF_ERROR(vectors.CopyDocument(i, *state.stored, state.local, state.flags));
    } else {
      vectors.BeginDocument(i, docid, state.flags);
      if (state.from == From::kGiven) {
        const std::vector<segment::RowSpan> spans = PassagesOf(state.given);
        size_t next = 0;
        ForEachEmbedding(state.given, [&](std::span<const float> row) {
          vectors.AddRow(i, row, {.span = next < spans.size() ? spans[next] : segment::RowSpan{}});
          ++next;
        });
      }
    }
  }
  return Status::Ok();
}

}  // namespace gannet::indexing
