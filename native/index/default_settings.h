// The defaults of the settings that the engine reads.
// Written by native/tools/gen-settings.mjs; do not edit.
#pragma once

namespace gannet::index {

inline constexpr char kDefaultSettings[] = R"json({
  "displayedAttributes": [
    "*"
  ],
  "searchableAttributes": [
    "*"
  ],
  "filterableAttributes": [],
  "sortableAttributes": [],
  "rankingRules": [
    "words",
    "typo",
    "proximity",
    "attribute",
    "sort",
    "exactness"
  ],
  "stopWords": [],
  "separatorTokens": [],
  "nonSeparatorTokens": [],
  "dictionary": [],
  "synonyms": {},
  "distinctAttribute": null,
  "expiresAtAttribute": null,
  "substringAttributes": [],
  "proximityPrecision": "byWord",
  "typoTolerance": {
    "enabled": true,
    "minWordSizeForTypos": {
      "oneTypo": 5,
      "twoTypos": 9
    },
    "disableOnWords": [],
    "disableOnAttributes": [],
    "disableOnNumbers": false
  },
  "faceting": {
    "maxValuesPerFacet": 100,
    "sortFacetValuesBy": {
      "*": "alpha"
    }
  },
  "pagination": {
    "maxTotalHits": 1000
  },
  "semanticCutoff": "off",
  "searchCutoffMs": 1500,
  "localizedAttributes": [],
  "embedders": {},
  "facetSearch": true,
  "prefixSearch": "indexingTime",
  "defaultMatchingStrategy": "last"
})json";

}  // namespace gannet::index
