// Changes of settings that leave the words as they are: rebuilds columns of the stored segments,
// and checks the geo points and shapes of stored documents.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "indexing/job/batch.h"
#include "segment/rows.h"

namespace gannet::indexing {

// Checks the geo points and shapes of stored documents, if a change of settings requires it.
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
  // errors  those of CheckGeo and CheckGeoJson
  Status Check(std::span<const segment::RowField> row) const;
  // Checks all stored documents.
  Status CheckAll(Batch& batch) const;

 private:
  std::optional<FieldId> key_, geo_, shape_;
};

// Builds the columns that `traits` require and that segments lack, after checking geo points and
// shapes that become relevant.
// errors  those of GeoPointCheck
Status BuildColumns(Batch& batch, const std::vector<index::FieldTraits>& traits,
                    const GeoPointCheck& geo_points);

}  // namespace gannet::indexing
