// Loop nests over a block: outer dimensions one by one, the lane dimension in chunks of vectors. A chunk of width w
// always starts at a multiple of w. Where masks bound the rows, whole chunks that they leave on run without them.
#include <llvm/IR/Constants.h>
#include <mlir/Dialect/Arith/IR/Arith.h>

#include "compiler/cpu/emitter.hpp"

namespace teeny::compiler::cpu {

namespace {

// Element-wise operations and loads that one chunk of all expressions takes, each counted once.
unsigned operations_in(const Plan& plan, llvm::ArrayRef<mlir::Value> expressions) {
  llvm::SmallVector<mlir::Value> work(expressions);
  llvm::DenseSet<mlir::Value> seen;
  unsigned count = 0;
  while (!work.empty()) {
    mlir::Value value = work.pop_back_val();
    mlir::Operation* operation = value.getDefiningOp();
    if (!operation || !seen.insert(value).second || !is_expression(operation)) continue;
    if (plan.is_stored(value) && !llvm::is_contained(expressions, value)) continue;
    bool is_address =
        mlir::isa<tt::PointerType>(tt::element_type(value.getType())) || tt::element_type(value.getType()).isInteger(1);
    if (is_address) continue;
    count += mlir::isa<tt::LoadOp>(operation) || is_elementwise(operation);
    llvm::append_range(work, operation->getOperands());
  }
  return count;
}

}  // namespace

void Emitter::loop(llvm::Value* low, llvm::Value* high, std::uint64_t step,
                   const std::function<void(llvm::Value*)>& body) {
  auto *first = llvm::dyn_cast<llvm::ConstantInt>(low), *end = llvm::dyn_cast<llvm::ConstantInt>(high);
  bool is_static = first && end;
  if (is_static && first->getSExtValue() >= end->getSExtValue()) return;
  if (is_static && first->getSExtValue() + static_cast<std::int64_t>(step) >= end->getSExtValue()) return body(low);
  llvm::BasicBlock *preheader = builder_.GetInsertBlock(), *inside = block("loop"), *exit = block("done");
  if (is_static)
    builder_.CreateBr(inside);
  else
    builder_.CreateCondBr(builder_.CreateICmpSLT(low, high), inside, exit);
  levels_.emplace_back().preheader = preheader;
  builder_.SetInsertPoint(inside);
  llvm::PHINode* counter = builder_.CreatePHI(builder_.getInt64Ty(), 2);
  counter->addIncoming(low, preheader);
  body(counter);
  llvm::Value* next = builder_.CreateNUWAdd(counter, index(static_cast<std::int64_t>(step)));
  counter->addIncoming(next, builder_.GetInsertBlock());
  builder_.CreateCondBr(builder_.CreateICmpSLT(next, high), inside, exit);
  levels_.pop_back();
  builder_.SetInsertPoint(exit);
}

// ---- the shape of a nest

unsigned Emitter::lanes_for(llvm::ArrayRef<mlir::Value> expressions) {
  unsigned bytes = 1;
  for (mlir::Value value : expressions) {
    plan_.leaves(value, [&](mlir::Value leaf, bool) {
      mlir::Type element = tt::element_type(leaf.getType());
      if (mlir::isa<mlir::RankedTensorType>(leaf.getType()) && !mlir::isa<tt::PointerType>(element))
        bytes = std::max(bytes, memory_bytes(element));
    });
    mlir::Type element = tt::element_type(value.getType());
    if (element.isF16() || element.isBF16())
      bytes = std::max(bytes, 4u);
    else if (!mlir::isa<tt::PointerType>(element))
      bytes = std::max(bytes, memory_bytes(element));
  }
  return static_cast<unsigned>(target_.vector_bytes) / std::max(bytes, 2u);
}

// Memory accesses vote for the dimensions along which they are contiguous. dimensions[d] is the nest's dimension that
// runs along dimension d of the value, or -1.
// Each value votes once for each way in which it lies in the nest: expressions share their parts.
void Emitter::vote(mlir::Value value, llvm::ArrayRef<int> dimensions, llvm::MutableArrayRef<int> votes, Voted& voted) {
  mlir::Operation* operation = value.getDefiningOp();
  if (!mlir::isa<mlir::RankedTensorType>(value.getType())) return;
  bool is_root = voted.empty();
  if (!voted.emplace(value.getAsOpaquePointer(), std::vector<int>(dimensions.begin(), dimensions.end())).second) return;
  auto shape = tt::shape_of(value.getType());
  if ((!is_root && plan_.is_stored(value)) || !operation || !is_expression(operation)) {
    for (int d = static_cast<int>(shape.size()) - 1; d >= 0; --d) {
      if (shape[d] == 1) continue;
      if (dimensions[d] >= 0) ++votes[dimensions[d]];
      return;
    }
    return;
  }
  llvm::SmallVector<int, 4> inner(dimensions);
  if (auto load = mlir::dyn_cast<tt::LoadOp>(operation)) {
    // Probe each dimension with the affine rules on the pointer's structure.
    for (auto [d, target] : llvm::enumerate(dimensions))
      if (target >= 0 && shape[d] > 1 && unit_stride(load.getPtr(), static_cast<unsigned>(d))) votes[target] += 2;
    return;
  }
  if (auto expand = mlir::dyn_cast<tt::ExpandDimsOp>(operation)) {
    inner.erase(inner.begin() + expand.getAxis());
  } else if (auto trans = mlir::dyn_cast<tt::TransOp>(operation)) {
    for (auto [target, source] : llvm::enumerate(trans.getOrder())) inner[source] = dimensions[target];
  } else if (mlir::isa<tt::ReshapeOp>(operation)) {
    auto from = tt::shape_of(operation->getOperand(0).getType());
    inner.assign(from.size(), -1);
    if (from.back() == shape.back()) inner.back() = dimensions.back();
  } else if (mlir::isa<tt::SplatOp, tt::MakeRangeOp>(operation)) {
    return;
  }
  for (mlir::Value operand : operation->getOperands()) vote(operand, inner, votes, voted);
}

int Emitter::choose_lane(llvm::ArrayRef<std::int64_t> shape, llvm::ArrayRef<mlir::Value> expressions) {
  llvm::SmallVector<int, 4> votes(shape.size(), 0), identity(shape.size());
  for (size_t d = 0; d < shape.size(); ++d) identity[d] = static_cast<int>(d);
  for (mlir::Value value : expressions) {
    if (mlir::isa<tt::PointerType>(tt::element_type(value.getType()))) {
      for (size_t d = 0; d < shape.size(); ++d)
        if (shape[d] > 1 && unit_stride(value, static_cast<unsigned>(d))) votes[d] += 3;
    } else if (tt::shape_of(value.getType()) == shape) {
      Voted voted;
      vote(value, identity, votes, voted);
    }
  }
  int best = -1;
  for (int d = static_cast<int>(shape.size()) - 1; d >= 0; --d)
    if (shape[d] > 1 && (best < 0 || votes[d] > votes[best])) best = d;
  return best;
}

Nest Emitter::make_nest(llvm::ArrayRef<std::int64_t> shape, llvm::ArrayRef<mlir::Value> expressions) {
  Nest nest;
  nest.shape.assign(shape.begin(), shape.end());
  nest.expressions.assign(expressions.begin(), expressions.end());
  nest.lane = choose_lane(shape, expressions);
  if (nest.lane < 0) return nest;
  std::int64_t extent = shape[nest.lane];
  nest.width = std::max(1u, lanes_for(expressions));
  while (nest.width > extent) nest.width /= 2;
  unsigned work = operations_in(plan_, expressions);
  nest.unroll = work <= 16 ? 4 : work <= 64 ? 2 : 1;
  while (nest.unroll > 1 && static_cast<std::int64_t>(nest.width) * nest.unroll > extent) nest.unroll /= 2;
  return nest;
}

// ---- emission

void Emitter::emit_nest(const Nest& nest, llvm::ArrayRef<NestBody*> bodies) {
  levels_.assign(1, {});
  for (NestBody* body : bodies) body->before();
  Coordinates at;
  at.dimensions.resize(nest.shape.size());
  emit_rows(nest, 0, at, bodies);
  for (NestBody* body : bodies) body->after();
  levels_.assign(1, {});
}

void Emitter::emit_rows(const Nest& nest, unsigned dimension, Coordinates at, llvm::ArrayRef<NestBody*> bodies) {
  if (dimension == nest.shape.size()) return emit_row(nest, at, bodies);
  if (static_cast<int>(dimension) == nest.lane) return emit_rows(nest, dimension + 1, at, bodies);
  loop(index(0), index(nest.shape[dimension]), 1, [&](llvm::Value* position) {
    at.dimensions[dimension] = {position, Coordinate::uniform, static_cast<unsigned>(levels_.size() - 1)};
    if (llvm::isa<llvm::Constant>(position)) at.dimensions[dimension].level = 0;
    emit_rows(nest, dimension + 1, at, bodies);
  });
}

void Emitter::emit_row(const Nest& nest, Coordinates at, llvm::ArrayRef<NestBody*> bodies) {
  if (nest.lane < 0) {
    for (NestBody* body : bodies) body->begin_row(at);
    for (NestBody* body : bodies) body->chunk(at, 0);
    for (NestBody* body : bodies) body->end_row(at);
    return;
  }
  Coordinates row = at;
  unsigned row_level = static_cast<unsigned>(levels_.size() - 1);
  row.dimensions[nest.lane] = {index(0), Coordinate::lane, row_level};
  row.width = nest.width;
  for (NestBody* body : bodies) body->begin_row(row);
  std::int64_t extent = nest.shape[nest.lane], width = nest.width, group = width * nest.unroll,
               whole = extent / width * width;
  masks_.clear();
  visited_.clear();
  if (width > 1) {
    for (mlir::Value value : nest.expressions) find_masks(value, row);
    for (mlir::Value mask : nest.masks) add_mask(mask, row);
  }
  llvm::Value* full = masks_.empty() ? index(extent) : whole >= 4 * width ? full_prefix(nest, row) : nullptr;
  llvm::Value* start = index(0);
  if (full) {
    // Whole groups below `full`.
    llvm::Value* end = llvm::isa<llvm::ConstantInt>(full)
                           ? index(llvm::cast<llvm::ConstantInt>(full)->getSExtValue() / group * group)
                           : builder_.CreateMul(builder_.CreateUDiv(full, index(group)), index(group));
    emit_full_groups(nest, row, end, bodies);
    start = end;
  }
  loop(start, index(whole), width,
       [&](llvm::Value* position) { emit_chunks(nest, row, position, nest.width, 1, bodies, masks_.empty()); });
  for (std::int64_t rest = whole, piece = width / 2; rest < extent; piece /= 2) {
    if (rest + piece > extent) continue;
    emit_chunks(nest, row, index(rest), static_cast<unsigned>(piece), 1, bodies, masks_.empty());
    rest += piece;
  }
  for (NestBody* body : bodies) body->end_row(row);
}

// Groups of whole chunks from index 0 to `end`; twice, with and without non-temporal stores, where these need
// alignment.
void Emitter::emit_full_groups(const Nest& nest, const Coordinates& row, llvm::Value* end,
                               llvm::ArrayRef<NestBody*> bodies) {
  auto groups = [&] {
    loop(index(0), end, nest.width * nest.unroll,
         [&](llvm::Value* position) { emit_chunks(nest, row, position, nest.width, nest.unroll, bodies, true); });
  };
  llvm::Value* aligned = nest.streams.empty() ? nullptr : streaming_condition(nest, row);
  if (!aligned) return groups();
  llvm::BasicBlock *past = block("streaming"), *through = block("cached"), *done = block("stored");
  builder_.CreateCondBr(aligned, past, through);
  // What one branch computes for the row is unknown to the other.
  Level before = levels_.back();
  for (llvm::BasicBlock* branch : {past, through}) {
    levels_.back() = before;
    builder_.SetInsertPoint(branch);
    streaming_ = branch == past;
    groups();
    builder_.CreateBr(done);
  }
  streaming_ = false;
  levels_.back() = before;
  builder_.SetInsertPoint(done);
}

void Emitter::emit_chunks(const Nest& nest, const Coordinates& row, llvm::Value* start, unsigned width, unsigned count,
                          llvm::ArrayRef<NestBody*> bodies, bool full) {
  unsigned level = static_cast<unsigned>(levels_.size() - 1);
  for (unsigned slot = 0; slot < count; ++slot) {
    Coordinates at = row;
    at.width = width;
    llvm::Value* position = slot == 0 ? start : builder_.CreateAdd(start, index(slot * width));
    Coordinate lane{position, width == 1 ? Coordinate::uniform : Coordinate::lane, level};
    at.dimensions[nest.lane] = lane;
    if (full) {
      for (auto& [mask, place] : masks_) {
        Coordinates here = place;
        here.width = width;
        here.dimensions[here.lane()] = lane;
        levels_[here.level()].values[{mask.getAsOpaquePointer(), intern(here, false)}] = builder_.getTrue();
      }
    }
    for (NestBody* body : bodies) body->chunk(at, slot);
  }
}

// Masks of the loads that a value reads, and conditions of its selections, at the coordinates of a row.
void Emitter::find_masks(mlir::Value value, const Coordinates& place) {
  mlir::Operation* operation = value.getDefiningOp();
  if (!mlir::isa<mlir::RankedTensorType>(value.getType()) || !operation || buffers_.contains(value)) return;
  Coordinates at = canonical(place, tt::shape_of(value.getType()));
  if (at.lane() < 0 || !is_expression(operation)) return;
  if (!visited_.insert({value.getAsOpaquePointer(), intern(at, false)}).second) return;
  if (auto load = mlir::dyn_cast<tt::LoadOp>(operation)) {
    if (load.getMask()) add_mask(load.getMask(), at);
    return;
  }
  if (mlir::isa<tt::SplatOp, tt::MakeRangeOp, mlir::arith::ConstantOp, tt::ReshapeOp>(operation)) return;
  if (mlir::isa<tt::ExpandDimsOp, tt::BroadcastOp, tt::TransOp>(operation))
    return find_masks(operation->getOperand(0), source_coordinates(operation, at));
  if (auto select = mlir::dyn_cast<mlir::arith::SelectOp>(operation);
      select && mlir::isa<mlir::RankedTensorType>(select.getCondition().getType()))
    add_mask(select.getCondition(), at);
  for (mlir::Value operand : operation->getOperands()) find_masks(operand, at);
}

void Emitter::add_mask(mlir::Value mask, const Coordinates& place) {
  Coordinates at = canonical(place, tt::shape_of(mask.getType()));
  if (at.lane() < 0) return;
  for (auto& [known, where] : masks_)
    if (known == mask && intern(where, false) == intern(at, false)) return;
  masks_.push_back({mask, at});
}

// The number of leading elements of the row for which every mask in masks_ is true; masks of which nothing is known
// leave the list. Null: none is left.
llvm::Value* Emitter::full_prefix(const Nest& nest, const Coordinates&) {
  std::int64_t extent = nest.shape[nest.lane];
  llvm::Value* full = nullptr;
  llvm::SmallVector<std::pair<mlir::Value, Coordinates>> known;
  for (auto& [mask, place] : masks_) {
    llvm::Value* prefix = true_prefix(mask, place, extent);
    if (!prefix) continue;
    known.push_back({mask, place});
    full = full ? builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, full, prefix) : prefix;
  }
  masks_.assign(known.begin(), known.end());
  return full;
}

}  // namespace teeny::compiler::cpu
