// Changes of settings that leave the words as they are: columns of the stored segments made anew,
// and places of stored documents checked.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "indexing/job/batch.h"
#include "segment/rows.h"

namespace gannet::indexing {

// Whether stored documents hold right places, where a change of settings makes it matter.
class GeoPointCheck {
 public:
  GeoPointCheck(const index::Snapshot& before, const index::Settings& after)
      : key_(before.fields->Find(before.primary_key)) {
    const index::Settings& settings = *before.settings;
    if (after.GeoEnabled() && !settings.GeoEnabled()) geo_ = before.fields->Find("_geo");
    if (after.GeoJsonEnabled() && !settings.GeoJsonEnabled())
      shape_ = before.fields->Find("_geojson");
  }
  bool needed() const { return geo_ || shape_; }
  // errors  as CheckGeo and CheckGeoJson
  Status Check(std::span<const segment::RowField> row) const;
  // Of all stored documents.
  Status CheckAll(Batch& batch) const;

 private:
  std::optional<FieldId> key_, geo_, shape_;
};

// Makes the columns that `traits` want and no segment has; of new places only those that are right.
// errors  as GeoPointCheck
Status BuildColumns(Batch& batch, const std::vector<index::FieldTraits>& traits,
                    const GeoPointCheck& geo_points);

}  // namespace gannet::indexing
