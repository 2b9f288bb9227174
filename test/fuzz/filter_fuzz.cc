// Any bytes as a filter, as an expression and as JSON: the parser ends, and what it accepts is well
// formed.
#include <cstdint>
#include <cstdlib>

#include "filter/parser.h"

namespace {

using gannet::filter::Node;

void Check(const Node& node) {
  const auto require = [](bool good) {
    if (!good) std::abort();
  };
  switch (node.kind) {
    case Node::Kind::kTrue: break;
    case Node::Kind::kAnd:
    case Node::Kind::kOr: require(node.children.size() >= 2); break;
    case Node::Kind::kNot:
      require(node.children.size() == 1 && node.children[0]->kind != Node::Kind::kNot);
      break;
    default:
      require(node.children.empty() && node.source != nullptr && node.span.start < node.span.end);
      require(node.kind != Node::Kind::kGeoPolygon || node.points.size() >= 3);
  }
  for (const auto& child : node.children) {
    require(child->kind != Node::Kind::kTrue);
    Check(*child);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto expression = gannet::filter::ParseFilter(text, {.contains = true, .multimodal = true});
  if (expression.ok()) Check(**expression);
  const auto json = gannet::filter::ParseFilterJson(text, {});
  if (json.ok()) Check(**json);
  return 0;
}
