#include "compiler/analysis/lane_arithmetic.hpp"

#include <llvm/ADT/StringExtras.h>

namespace teeny::compiler {

using namespace mlir;

bool LaneTerm::depends_on(unsigned dimension) const { return llvm::is_contained(dimensions, int(dimension)); }

bool LaneExpression::is_uniform() const {
  return is_affine() && llvm::all_of(strides, [](const ScalarExpression &stride) { return stride.is_zero(); });
}

bool LaneExpression::is_affine() const { return terms.empty() && !lane_base; }

bool LaneExpression::is_affine(unsigned d) const {
  return !(lane_base && lane_base->depends_on(d)) &&
         llvm::none_of(terms, [&](const LaneTerm &term) { return term.depends_on(d); });
}

const LaneTerm *BlockAccess::wrapped(unsigned d) const {
  if (!strides[d].is_zero() || (lane_base && lane_base->depends_on(d))) return nullptr;
  const LaneTerm *found = nullptr;
  for (const LaneTerm &term : terms) {
    if (!term.depends_on(d)) continue;
    if (found || !term.wrap) return nullptr;
    found = &term;
  }
  return found;
}

bool LaneExpression::depends_on(unsigned d) const { return !strides[d].is_zero() || !is_affine(d); }

namespace {

// "expression*name", with parentheses where needed; "name" for 1.
std::string product_text(const ScalarExpression &factor, const std::string &name) {
  if (factor.constant() == 1) return name;
  std::string text = factor.to_string();
  return (factor.monomials().size() > 1 ? "(" + text + ")" : text) + "*" + name;
}

std::string term_text(const LaneTerm &term) {
  std::string name = value_name(term.tensor) + "[";
  for (auto [k, dimension] : llvm::enumerate(term.dimensions))
    name += (k ? ", " : "") + (dimension < 0 ? "0" : "i" + std::to_string(dimension));
  name += "]";
  if (term.wrap) name += "{" + term.wrap->start.to_string() + " wraps at " + term.wrap->modulus.to_string() + "}";
  return product_text(term.scale, name);
}

}  // namespace

std::string LaneExpression::to_string() const {
  SmallVector<std::string> parts;
  if (base) parts.push_back(value_name(base));
  if (lane_base) parts.push_back(term_text(*lane_base));
  if (!offset.is_zero()) parts.push_back(offset.to_string());
  for (auto [d, stride] : llvm::enumerate(strides))
    if (!stride.is_zero()) parts.push_back(product_text(stride, "i" + std::to_string(d)));
  for (const LaneTerm &term : terms) parts.push_back(term_text(term));
  return parts.empty() ? "0" : llvm::join(parts, " + ");
}

namespace {

// Adds a term, merging it with one of the same tensor.
void add_term(LaneExpression &lanes, const LaneTerm &term) {
  for (auto *other = lanes.terms.begin(); other != lanes.terms.end(); ++other) {
    if (other->tensor != term.tensor || other->dimensions != term.dimensions) continue;
    other->scale += term.scale;
    if (other->scale.is_zero()) lanes.terms.erase(other);
    return;
  }
  lanes.terms.push_back(term);
}

}  // namespace

std::optional<LaneExpression> add_lanes(const LaneExpression &a, const LaneExpression &b) {
  bool a_points = a.base || a.lane_base, b_points = b.base || b.lane_base;
  if (a_points && b_points) return std::nullopt;
  LaneExpression sum = b_points ? b : a;
  const LaneExpression &other = b_points ? a : b;
  sum.offset += other.offset;
  for (auto [stride, addend] : llvm::zip_equal(sum.strides, other.strides)) stride += addend;
  for (const LaneTerm &term : other.terms) add_term(sum, term);
  return sum;
}

std::optional<LaneExpression> scale_lanes(const LaneExpression &lanes, const ScalarExpression &factor) {
  if (lanes.base || lanes.lane_base) return std::nullopt;
  LaneExpression product;
  product.offset = lanes.offset * factor;
  for (const ScalarExpression &stride : lanes.strides) product.strides.push_back(stride * factor);
  for (LaneTerm term : lanes.terms) {
    term.scale = term.scale * factor;
    if (!term.scale.is_zero()) product.terms.push_back(std::move(term));
  }
  return product;
}

std::optional<LaneExpression> multiply_lanes(const LaneExpression &a, const LaneExpression &b) {
  if (!b.base && b.is_uniform()) return scale_lanes(a, b.offset);
  if (!a.base && a.is_uniform()) return scale_lanes(b, a.offset);
  return std::nullopt;
}

std::optional<LaneExpression> subtract_lanes(const LaneExpression &b, const LaneExpression &a) {
  if (a.base != b.base || a.lane_base != b.lane_base) return std::nullopt;
  LaneExpression minuend = b, subtrahend = a;
  minuend.base = subtrahend.base = {};
  minuend.lane_base = subtrahend.lane_base = {};
  return add_lanes(minuend, *scale_lanes(subtrahend, -1));
}

LaneExpression map_dimensions(const LaneExpression &lanes, ArrayRef<int> map, unsigned rank) {
  LaneExpression result;
  result.base = lanes.base;
  result.offset = lanes.offset;
  result.strides.resize(rank);
  for (auto [d, target] : llvm::enumerate(map))
    if (target >= 0) result.strides[target] = lanes.strides[d];
  auto map_term = [&](LaneTerm term) {
    for (int &dimension : term.dimensions)
      if (dimension >= 0) dimension = map[dimension];
    if (term.wrap) term.wrap->dimension = map[term.wrap->dimension];
    return term;
  };
  if (lanes.lane_base) result.lane_base = map_term(*lanes.lane_base);
  for (const LaneTerm &term : lanes.terms) result.terms.push_back(map_term(term));
  return result;
}

SmallVector<int, 4> expand_dimensions_map(unsigned source_rank, unsigned axis) {
  SmallVector<int, 4> map;
  for (unsigned d = 0; d < source_rank; ++d) map.push_back(int(d < axis ? d : d + 1));
  return map;
}

SmallVector<int, 4> transpose_map(ArrayRef<int32_t> order) {
  SmallVector<int, 4> map(order.size());
  for (auto [d, source] : llvm::enumerate(order)) map[source] = int(d);
  return map;
}

namespace {

// One step of a reshape: dimensions [from_begin, from_end) of the source hold the elements of [to_begin, to_end).
struct ReshapeGroup {
  SmallVector<unsigned, 4> from, to;  // without dimensions of extent 1
};

SmallVector<ReshapeGroup, 4> reshape_groups(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  SmallVector<ReshapeGroup, 4> groups;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    ReshapeGroup group;
    int64_t left = 1, right = 1;
    do {
      bool take_left = j == to.size() || (i < from.size() && left <= right);
      if (take_left) {
        if (from[i] != 1) group.from.push_back(i);
        left *= from[i++];
      } else {
        if (to[j] != 1) group.to.push_back(j);
        right *= to[j++];
      }
    } while (left != right && (i < from.size() || j < to.size()));
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace

std::optional<LaneExpression> reshape_lanes(const LaneExpression &lanes, ArrayRef<int64_t> from,
                                            ArrayRef<int64_t> to) {
  SmallVector<int, 4> map(from.size(), -1);
  SmallVector<std::pair<unsigned, ScalarExpression>> split_strides;
  for (const ReshapeGroup &group : reshape_groups(from, to)) {
    if (group.from.empty() && group.to.empty()) continue;
    if (group.from.size() == 1 && group.to.size() == 1) {
      map[group.from[0]] = int(group.to[0]);
      continue;
    }
    // Merge the source's dimensions into one, which needs each stride to be the next one's times its extent.
    for (unsigned d : group.from)
      if (!lanes.is_affine(d)) return std::nullopt;
    ScalarExpression stride = lanes.strides[group.from.back()];
    ScalarExpression expected = stride;
    for (unsigned d : llvm::reverse(group.from)) {
      if (lanes.strides[d] != expected) return std::nullopt;
      expected = expected * ScalarExpression(from[d]);
    }
    for (unsigned d : llvm::reverse(group.to)) {
      split_strides.push_back({d, stride});
      stride = stride * ScalarExpression(to[d]);
    }
  }
  LaneExpression result = map_dimensions(lanes, map, to.size());
  for (auto &[dimension, stride] : split_strides) result.strides[dimension] = stride;
  return result;
}

LaneExpression opaque_lanes(Value value, function_ref<bool(unsigned)> depends_on) {
  LaneExpression lanes;
  ArrayRef<int64_t> shape = tt::shape_of(value.getType());
  lanes.strides.resize(shape.size());
  bool points = isa<tt::PointerType>(tt::element_type(value.getType()));
  if (!isa<RankedTensorType>(value.getType())) {
    lanes.base = value;
    return lanes;
  }
  LaneTerm term{value};
  for (unsigned d = 0; d < shape.size(); ++d) term.dimensions.push_back(shape[d] != 1 && depends_on(d) ? int(d) : -1);
  if (points) lanes.lane_base = std::move(term);
  else lanes.terms.push_back(std::move(term));
  return lanes;
}

}  // namespace teeny::compiler
