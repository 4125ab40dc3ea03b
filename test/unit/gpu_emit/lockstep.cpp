#include "lockstep.hpp"

#include <gtest/gtest.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

#include "compiler/dialect/thread/thread.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

static int64_t bytes_of(Type type) { return (type.getIntOrFloatBitWidth() + 7) / 8; }

void Lockstep::set(Value value, int thread, double number) {
  std::vector<double>& numbers = values_[value];
  numbers.resize(threads_);
  Type type = value.getType();
  if (type.isInteger(1))
    number = int64_t(number) & 1;
  else if (type.isInteger())
    number = double(llvm::SignExtend64(uint64_t(int64_t(number)), type.getIntOrFloatBitWidth()));
  numbers[thread] = number;
}

Lockstep::Cell& Lockstep::cell(Value array, int64_t index) {
  auto reference = array.getDefiningOp<thread::SharedRefOp>();
  EXPECT_GE(index, 0);
  EXPECT_LT(index, int64_t(reference.getElements()));
  Type element = cast<thread::SharedType>(array.getType()).getElement();
  return shared_[int64_t(reference.getOffset()) + index * bytes_of(element)];
}

static void touch(int& by, int thread) { by = by == -1 || by == thread ? thread : -2; }

static double scalar(Operation& operation, ArrayRef<double> x) {
  auto a = [&](size_t k) { return int64_t(x[k]); };
  StringRef name = operation.getName().getStringRef();
  if (auto compare = dyn_cast<arith::CmpIOp>(operation)) {
    switch (compare.getPredicate()) {
      case arith::CmpIPredicate::eq:
        return a(0) == a(1);
      case arith::CmpIPredicate::ne:
        return a(0) != a(1);
      case arith::CmpIPredicate::slt:
        return a(0) < a(1);
      case arith::CmpIPredicate::sge:
        return a(0) >= a(1);
      default:
        ADD_FAILURE() << "an unknown predicate";
        return 0;
    }
  }
  if (auto compare = dyn_cast<arith::CmpFOp>(operation)) {
    EXPECT_EQ(compare.getPredicate(), arith::CmpFPredicate::OGE);
    return x[0] >= x[1];
  }
  if (name == "arith.addi" || name == "arith.addf") return x[0] + x[1];
  if (name == "arith.subi") return x[0] - x[1];
  if (name == "arith.muli") {
    uint64_t product = uint64_t(a(0)) * uint64_t(a(1));  // a double holds 53 bits of it
    return operation.getResult(0).getType().isInteger(64) ? double(int64_t(product)) : double(int32_t(product));
  }
  if (name == "arith.divui") return double(a(0) / a(1));
  if (name == "arith.remui") return double(a(0) % a(1));
  if (name == "arith.andi") return double(a(0) & a(1));
  if (name == "arith.ori") return double(a(0) | a(1));
  if (name == "arith.xori") return double(a(0) ^ a(1));
  if (name == "arith.shli") return double(a(0) << a(1));
  if (name == "arith.shrui") return double(a(0) >> a(1));  // of places, which are not negative
  if (name == "arith.maxnumf") return std::max(x[0], x[1]);
  if (name == "arith.select") return x[0] != 0 ? x[1] : x[2];
  if (name == "arith.extsi" || name == "arith.extui" || name == "arith.trunci") return x[0];
  ADD_FAILURE() << "cannot run " << name.str();
  return 0;
}

void Lockstep::run_scalar(Operation& operation, int thread) {
  std::vector<double> operands;
  for (Value operand : operation.getOperands()) operands.push_back(get(operand, thread));
  set(operation.getResult(0), thread, scalar(operation, operands));
}

void Lockstep::shuffle(Operation& operation) {
  auto shuffle = cast<thread::ShuffleOp>(operation);
  for (int thread = 0; thread < threads_; ++thread) {
    int lane = thread % lanes_, distance = int(get(shuffle.getLane(), thread)), other = lane;
    switch (shuffle.getKind()) {
      case thread::ShuffleKind::XOR:
        other = lane ^ distance;
        break;
      case thread::ShuffleKind::INDEX:
        other = distance;
        break;
      case thread::ShuffleKind::UP:
        other = lane - distance;
        break;
      case thread::ShuffleKind::DOWN:
        other = lane + distance;
        break;
    }
    if (other < 0 || other >= lanes_) other = lane;
    set(shuffle.getResult(), thread, get(shuffle.getValue(), thread - lane + other));
  }
}

void Lockstep::run_memory(Operation& operation, int thread) {
  auto masked = [&](Value mask) { return mask && get(mask, thread) == 0; };
  auto at = [&](auto access, Type type, size_t k) -> double& {
    return global[int64_t(get(access.getAddress(), thread)) + access.getOffset() + int64_t(k) * bytes_of(type)];
  };
  if (auto load = dyn_cast<thread::LoadOp>(operation)) {
    for (auto [k, value] : llvm::enumerate(load.getValues()))
      set(value, thread, masked(load.getMask()) ? 0 : at(load, value.getType(), k));
  } else if (auto store = dyn_cast<thread::StoreOp>(operation)) {
    for (auto [k, value] : llvm::enumerate(store.getValues()))
      if (!masked(store.getMask())) at(store, value.getType(), k) = get(value, thread);
  } else if (auto atomic = dyn_cast<thread::AtomicRMWOp>(operation)) {
    EXPECT_EQ(atomic.getKind(), tt::RMWOp::ADD);
    set(atomic.getResult(), thread, -1);  // undefined without the mask
    if (masked(atomic.getMask())) return;
    double& memory = at(atomic, atomic.getValue().getType(), 0);
    set(atomic.getResult(), thread, memory);
    memory += get(atomic.getValue(), thread);
  }
}

void Lockstep::run_shared(Operation& operation, int thread) {
  auto masked = [&](Value mask) { return mask && get(mask, thread) == 0; };
  if (auto load = dyn_cast<thread::SharedLoadOp>(operation)) {
    int64_t first = int64_t(get(load.getIndex(), thread)) + load.getOffset();
    for (auto [k, value] : llvm::enumerate(load.getValues())) {
      set(value, thread, 0);
      if (masked(load.getMask())) continue;
      EXPECT_EQ(first % int64_t(load.getValues().size()), 0);
      Cell& from = cell(load.getArray(), first + int64_t(k));
      EXPECT_TRUE(from.defined) << "nothing stands there";
      EXPECT_TRUE(from.written_by == -1 || from.written_by == thread) << "a barrier is missing before a load";
      touch(from.read_by, thread);
      set(value, thread, from.value);
    }
  } else if (auto store = dyn_cast<thread::SharedStoreOp>(operation)) {
    int64_t first = int64_t(get(store.getIndex(), thread)) + store.getOffset();
    for (auto [k, value] : llvm::enumerate(store.getValues())) {
      if (masked(store.getMask())) continue;
      EXPECT_EQ(first % int64_t(store.getValues().size()), 0);
      Cell& to = cell(store.getArray(), first + int64_t(k));
      EXPECT_TRUE(to.read_by == -1 || to.read_by == thread) << "a barrier is missing before a store";
      EXPECT_EQ(to.written_by, -1) << "an element is stored twice";
      touch(to.written_by, thread);
      to.value = get(value, thread);
      to.defined = true;
    }
  }
}

void Lockstep::run_loop(Operation& operation, int thread) {
  auto loop = cast<scf::ForOp>(operation);
  std::vector<double> carried;
  for (Value value : loop.getInitArgs()) carried.push_back(get(value, thread));
  int64_t last = int64_t(get(loop.getUpperBound(), thread)), step = int64_t(get(loop.getStep(), thread));
  for (int64_t k = int64_t(get(loop.getLowerBound(), thread)); k < last; k += step) {
    set(loop.getInductionVar(), thread, double(k));
    for (auto [argument, number] : llvm::zip_equal(loop.getRegionIterArgs(), carried)) set(argument, thread, number);
    for (Operation& inner : loop.getBody()->without_terminator()) run(inner, thread);
    for (auto [number, value] : llvm::zip_equal(carried, loop.getBody()->getTerminator()->getOperands()))
      number = get(value, thread);
  }
  for (auto [result, number] : llvm::zip_equal(loop.getResults(), carried)) set(result, thread, number);
}

void Lockstep::run(Operation& operation, int thread) {
  if (isa<thread::ShuffleOp, thread::BarrierOp>(operation)) {
    ADD_FAILURE() << "lanes meet where not all of them come";
  } else if (auto constant = dyn_cast<arith::ConstantOp>(operation)) {
    auto integer = dyn_cast<IntegerAttr>(constant.getValue());
    set(constant, thread,
        integer ? double(integer.getValue().getSExtValue()) : cast<FloatAttr>(constant.getValue()).getValueAsDouble());
  } else if (isa<thread::LaneIdOp>(operation)) {
    set(operation.getResult(0), thread, thread % lanes_);
  } else if (isa<thread::WarpIdOp>(operation)) {
    set(operation.getResult(0), thread, thread / lanes_);
  } else if (isa<thread::LoadOp, thread::StoreOp, thread::AtomicRMWOp>(operation)) {
    run_memory(operation, thread);
  } else if (isa<thread::SharedLoadOp, thread::SharedStoreOp>(operation)) {
    run_shared(operation, thread);
  } else if (isa<scf::ForOp>(operation)) {
    run_loop(operation, thread);
  } else if (!isa<func::ReturnOp, thread::SharedRefOp>(operation)) {
    run_scalar(operation, thread);
  }
}

void Lockstep::run(Operation& operation) {
  if (isa<thread::ShuffleOp>(operation)) return shuffle(operation);
  if (isa<thread::BarrierOp>(operation)) {
    for (auto& [offset, cell] : shared_) cell.written_by = cell.read_by = -1;
    return;
  }
  for (int thread = 0; thread < threads_; ++thread) run(operation, thread);
}

void Lockstep::run(func::FuncOp function, const std::vector<double>& arguments) {
  for (auto [argument, number] : llvm::zip_equal(function.getArguments(), arguments))
    for (int thread = 0; thread < threads_; ++thread) set(argument, thread, number);
  for (Operation& operation : function.getBody().front()) run(operation);
}

}  // namespace teeny::compiler::gpu
