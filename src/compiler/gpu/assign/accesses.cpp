// The layouts of accesses to memory: neighbouring lanes read and write neighbouring addresses, as wide as they may.
#include <mlir/Dialect/SCF/IR/SCF.h>

#include "compiler/gpu/assign/homes.hpp"
#include "compiler/layout/layouts.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;
using tile::DistAttr;

constexpr int64_t sector_bytes = 32;  // what memory moves at least

Value pointers_of(Operation *access) {
  Value pointers;
  if (auto load = dyn_cast<tt::LoadOp>(access)) pointers = load.getPtr();
  if (auto store = dyn_cast<tt::StoreOp>(access)) pointers = store.getPtr();
  if (auto atomic = dyn_cast<tt::AtomicRMWOp>(access)) pointers = atomic.getPtr();
  if (auto atomic = dyn_cast<tt::AtomicCASOp>(access)) pointers = atomic.getPtr();
  return pointers && tensor_of(pointers) ? pointers : Value();
}

static Value mask_of(Operation *access) {
  if (auto load = dyn_cast<tt::LoadOp>(access)) return load.getMask();
  if (auto store = dyn_cast<tt::StoreOp>(access)) return store.getMask();
  if (auto atomic = dyn_cast<tt::AtomicRMWOp>(access)) return atomic.getMask();
  return {};
}

static int64_t floor_power(int64_t number) {
  return number < 1 ? 1 : int64_t(1) << llvm::Log2_64(uint64_t(number));
}

Homes::Homes(tt::FuncOp function, const Capability &capability, int warps)
    : axis_info_(function), capability_(capability), warps_(warps), context_(function.getContext()) {
  function.walk([&](Operation *operation) {
    if (auto dot = dyn_cast<tt::DotOp>(operation)) {
      DotPlan &plan = plans_.try_emplace(dot, plan_dot(dot, capability, warps, axis_info_)).first->second;
      accumulators_.insert(DistAttr::get(context_, plan.accumulators));
    }
    if (pointers_of(operation)) note_access(operation);
  });
}

Homes::Shape Homes::shape_of_access(Value pointers) const {
  Shape shape;
  shape.extents.assign(tensor_of(pointers).getShape());
  AxisInfo info = axis_info_.of(pointers);
  for (unsigned d = shape.extents.size(); d-- > 0;) shape.order.push_back(d);
  auto is_faster = [&](unsigned a, unsigned b) {
    return std::pair(info.contiguity[a], a) > std::pair(info.contiguity[b], b);
  };
  llvm::sort(shape.order, is_faster);
  return shape;
}

void Homes::note_access(Operation *access) {
  Value pointers = pointers_of(access);
  Shape shape = shape_of_access(pointers);
  int64_t threads = int64_t(warps_) * capability_.lanes, width = 1;
  if (!shape.order.empty()) {
    int64_t bytes = element_bytes(tt::pointee_type(pointers.getType()));
    width = axis_info_.vector_width(pointers, mask_of(access), shape.order[0]);
    width = std::min({width, capability_.max_vector_bytes / bytes, shape.extents[shape.order[0]],
                      tensor_of(pointers).getNumElements() / threads});
  }
  int64_t &agreed = widths_[shape];
  agreed = std::max(agreed, floor_power(width));
}

// Lanes, then warps, fill the dimensions from the fastest; those left over hold copies, along the slowest.
DistAttr Homes::blocked(const Shape &shape, int64_t width) const {
  size_t rank = shape.extents.size();
  SmallVector<unsigned> registers(rank, 1), lanes(rank, 1), warps(rank, 1);
  if (rank) registers[shape.order[0]] = unsigned(width);
  int64_t lanes_left = capability_.lanes, warps_left = warps_;
  for (unsigned d : shape.order) {
    int64_t extent = shape.extents[d] / registers[d];
    lanes[d] = unsigned(std::min(lanes_left, extent));
    warps[d] = unsigned(std::min(warps_left, extent / lanes[d]));
    lanes_left /= lanes[d], warps_left /= warps[d];
  }
  if (rank) lanes[shape.order.back()] *= unsigned(lanes_left), warps[shape.order.back()] *= unsigned(warps_left);
  return DistAttr::get(context_, blocked_layout(shape.extents, registers, lanes, warps, shape.order));
}

DistAttr Homes::coalesced(Operation *access) {
  Shape shape = shape_of_access(pointers_of(access));
  return blocked(shape, widths_.at(shape));
}

// As the accesses of this shape do, if there are any; 4 bytes a lane are enough otherwise.
DistAttr Homes::default_layout(RankedTensorType type) {
  Shape shape;
  shape.extents.assign(type.getShape());
  for (unsigned d = shape.extents.size(); d-- > 0;) shape.order.push_back(d);
  for (const auto &[other, width] : widths_)
    if (other.extents == shape.extents) return blocked(other, width);
  return blocked(shape, 1);
}

// Whether a store straight from `layout` writes whole sectors with each instruction, so that an exchange gains nothing.
bool Homes::stores_well(Operation *store, Value value, DistAttr layout) const {
  Value pointers = pointers_of(store), mask = mask_of(store);
  if (!is_rebuildable(pointers) || !is_rebuildable(mask)) return false;
  RankedTensorType type = tensor_of(value);
  // An exchange and its barrier take longer than a few partial sectors.
  if (type.getNumElements() <= int64_t(warps_) * capability_.lanes) return true;
  unsigned fastest = shape_of_access(pointers).order[0];
  int64_t contiguous = axis_info_.of(pointers).contiguity[fastest];
  if (contiguous == 1) return true;
  int64_t bytes = element_bytes(type.getElementType());
  LinearLayout places = layout.layout(type.getShape());
  int64_t covered = std::min<int64_t>({places.consecutive_registers(index_axis(fastest)),
                                       axis_info_.vector_width(pointers, mask, fastest),
                                       capability_.max_vector_bytes / bytes});
  auto is_next = [&](int bit) {
    const LinearLayout::Basis &basis = places.basis(Axis::lane, bit);
    for (size_t d = 0; d < basis.size(); ++d)
      if (basis[d] != (d == fastest ? covered : 0)) return false;
    return true;
  };
  for (bool grown = true; grown;) {
    grown = false;
    for (int bit = 0; bit < places.input_bits(Axis::lane); ++bit)
      if (is_next(bit)) covered *= 2, grown = true;
  }
  return covered >= std::min({sector_bytes / bytes, contiguous, type.getShape()[fastest]});
}

// A row that is spread over a larger tensor is loaded where it is wanted: the copies come from the cache, without an
// exchange. Other loads are coalesced.
DistAttr Homes::load_home(tt::LoadOp load) {
  auto spreads = [](Operation *user) {
    while (user->getNumResults() == 1 && user->hasOneUse() && !isa<tt::ExpandDimsOp>(user)) {
      const LayoutRules *rules = rules_of(user);
      if (!rules || isa<tt::ReduceOp, tt::ScanOp>(user)) return false;
      user = *user->getUsers().begin();
    }
    return isa<tt::ExpandDimsOp>(user);
  };
  bool can_move = is_rebuildable(load.getPtr()) && is_rebuildable(load.getMask()) && is_rebuildable(load.getOther());
  if (can_move && !load->use_empty() && llvm::all_of(load->getUsers(), spreads))
    if (DistAttr home = wanted(load.getResult())) return home;
  return coalesced(load);
}

DistAttr Homes::of_access(Operation *access) {
  if (DistAttr known = accesses_.lookup(access)) return known;
  accesses_[access] = coalesced(access);  // for users that ask meanwhile
  DistAttr home = accesses_[access];
  if (auto load = dyn_cast<tt::LoadOp>(access)) home = load_home(load);
  if (auto store = dyn_cast<tt::StoreOp>(access))
    if (DistAttr value = forward(store.getValue()))
      if (value != home && stores_well(store, store.getValue(), value)) home = value;
  return accesses_[access] = home;
}

}  // namespace teeny::compiler::gpu
