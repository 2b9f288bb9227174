#include "indexing/document_state.h"

#include <algorithm>

#include "index/external_id.h"
#include "indexing/extract.h"
#include "indexing/vectors_field.h"

namespace gannet::indexing {

DocumentState::DocumentState(const DocumentSource& source)
    : source_(source),
      codec_(source.before->dictionary),
      vectors_(*source.before, *source.settings, source.embedders, source.remakes, source.made),
      vectors_field_(source.fields->Find(kVectorsField)) {}

Result<bool> DocumentState::Resolve(const Change& change) {
  const bool touched = change.touched != kNone;
  stored_ = !touched || source_.operations->touched()[change.touched].stored;
  kept_changed_ = false;
  old_row_ = {};
  old_fields_.clear();
  if (stored_) {
    GANNET_ASSIGN_OR_RETURN(old_row_, codec_.Expand(source_.before->FindRow(change.docid)));
    if (!segment::ParseRow(old_row_, old_fields_))
      return Status::Corruption("a stored document is damaged");
  }
  if (touched) {
    id_ = source_.operations->touched()[change.touched].id();
    return ApplyOperations(source_.operations->touched()[change.touched]);
  }
  fields_ = old_fields_;
  id_ = index::ExternalIdOf(fields_, *source_.before->fields, source_.before->primary_key);
  const std::string_view kept = TakeVectors(fields_);
  GANNET_RETURN_IF_ERROR(vectors_.BeginStored(id_, change.docid, kept));
  PutVectors();
  kept_changed_ = vectors_.kept() != kept;
  return true;
}

Result<bool> DocumentState::ApplyOperations(const TouchedDocument& touched) {
  fields_.clear();
  bool exists = touched.stored;
  if (exists) {
    fields_.assign(old_fields_.begin(), old_fields_.end());
    GANNET_RETURN_IF_ERROR(vectors_.BeginStored(touched.id(), touched.docid, TakeVectors(fields_)));
  } else {
    vectors_.BeginNew();
  }
  for (uint32_t at = touched.first; at != kNone; at = source_.operations->operation(at).next) {
    const Operation& operation = source_.operations->operation(at);
    if (operation.action == Action::kDelete) {
      exists = false;
      fields_.clear();
      vectors_.Delete();
      continue;
    }
    if (operation.skip_creation && !exists) continue;
    source_.payloads->Read(operation.document().size());
    RowFieldsOf(operation.document(), *source_.fields, sent_);
    vectors_.Apply(operation.action, TakeVectors(sent_));
    if (operation.action == Action::kUpdate && exists) {
      Merge();
    } else {
      fields_ = sent_;
    }
    exists = true;
  }
  if (exists) PutVectors();
  return exists;
}

// Removes `_vectors` from the fields of a row and returns its value; empty if it is absent.
std::string_view DocumentState::TakeVectors(std::vector<segment::RowField>& fields) const {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const auto& field) { return field.field == vectors_field_; });
  if (found == fields.end()) return {};
  const std::string_view value = found->value;
  fields.erase(found);
  return value;
}

// Adds the part of `_vectors` that the document keeps.
void DocumentState::PutVectors() {
  if (vectors_.kept().empty() || !vectors_field_) return;
  const auto at = std::find_if(fields_.begin(), fields_.end(),
                               [&](const auto& field) { return field.field > *vectors_field_; });
  fields_.insert(at, {*vectors_field_, vectors_.kept()});
}

// Replaces each field that was sent; the others stay.
void DocumentState::Merge() {
  merged_.clear();
  auto sent = sent_.begin();
  for (const segment::RowField& field : fields_) {
    while (sent != sent_.end() && sent->field < field.field) merged_.push_back(*sent++);
    merged_.push_back(sent != sent_.end() && sent->field == field.field ? *sent++ : field);
  }
  merged_.insert(merged_.end(), sent, sent_.end());
  fields_.swap(merged_);
}

}  // namespace gannet::indexing
