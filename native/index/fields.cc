#include "index/fields.h"

#include "base/bytes.h"

namespace gannet::index {

std::optional<FieldId> FieldMap::Find(std::string_view name) const {
  const auto found = ids_.find(name);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

Result<FieldId> FieldMap::Add(std::string_view name, size_t expected) {
  if (const auto found = Find(name, expected)) return *found;
  if (names_.size() >= kFieldsMax) {
    return Status::Invalid("A document or index holds at most 65,535 attributes.",
                           "max_fields_limit_exceeded");
  }
  const auto field = static_cast<FieldId>(names_.size());
  names_.emplace_back(name);
  ids_.emplace(names_.back(), field);
  return field;
}

void FieldMap::AppendTo(std::string& out) const {
  for (const std::string& name : names_) PutBytes(out, name);
}

FieldMap FieldMap::Parse(std::string_view bytes) {
  FieldMap fields;
  ByteReader reader(bytes);
  while (!reader.done()) {
    const std::string_view name = reader.LengthPrefixed();
    if (!reader.ok() || !fields.Add(name).ok()) break;
  }
  return fields;
}

std::vector<FieldTraits> PlanFields(const FieldMap& fields, const Settings& settings) {
  std::vector<FieldTraits> plan(fields.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    const std::string& name = fields.name(static_cast<FieldId>(i));
    plan[i].searchable = settings.Searchable(name);
    plan[i].faceted = settings.Faceted(name);
    // The columns of `_geo` have numbers where documents have texts.
    plan[i].elements = plan[i].faceted && settings.FiltersElements(name) && !Covers("_geo", name);
    plan[i].typo_tolerant = settings.TypoTolerant(name);
    plan[i].found_by_parts = plan[i].searchable && settings.FoundByParts(name);
    plan[i].weight = settings.Weight(name);
    if (const LocalizedRule* rule = settings.Localized(name)) plan[i].locales = rule->locales;
  }
  return plan;
}

segment::FieldSet FieldsFoundByParts(const std::vector<FieldTraits>& traits) {
  segment::FieldSet fields;
  for (size_t f = 0; f < traits.size(); ++f) {
    if (traits[f].found_by_parts) fields.Add(static_cast<FieldId>(f));
  }
  return fields;
}

}  // namespace gannet::index
