// scf with tensors carried as scalars, and the function itself.
#include <mlir/Dialect/SCF/IR/SCF.h>

#include "compiler/gpu/to_thread/emitter.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

static SmallVector<Value> flatten(Emitter &emitter, ValueRange values) {
  SmallVector<Value> all;
  for (Value value : values) llvm::append_range(all, emitter.scalars(value));
  return all;
}

static SmallVector<Type> flatten(TypeRange types) {
  SmallVector<Type> all;
  for (Type type : types) all.append(Emitter::registers(type), Emitter::scalar_type(type));
  return all;
}

static void bind_all(Emitter &emitter, ValueRange values, ValueRange scalars) {
  for (Value value : values) {
    size_t count = Emitter::registers(value.getType());
    emitter.bind(value, Scalars(scalars.take_front(count)));
    scalars = scalars.drop_front(count);
  }
}

static LogicalResult emit_for(Emitter &emitter, scf::ForOp loop) {
  OpBuilder &builder = emitter.builder;
  OpBuilder::InsertionGuard guard(builder);
  auto made = scf::ForOp::create(builder, emitter.location, emitter.scalar(loop.getLowerBound()),
                                 emitter.scalar(loop.getUpperBound()), emitter.scalar(loop.getStep()),
                                 flatten(emitter, loop.getInitArgs()), nullptr, loop.getUnsignedCmp());
  made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  Block &body = *made.getBody();
  if (!body.empty()) body.back().erase();
  builder.setInsertionPointToEnd(&body);
  emitter.bind(loop.getInductionVar(), {made.getInductionVar()});
  bind_all(emitter, loop.getRegionIterArgs(), made.getRegionIterArgs());
  if (failed(emitter.emit_region(*loop.getBody()))) return failure();
  scf::YieldOp::create(builder, loop.getLoc(), flatten(emitter, loop.getBody()->getTerminator()->getOperands()));
  bind_all(emitter, loop.getResults(), made.getResults());
  return success();
}

static LogicalResult emit_branch(Emitter &emitter, Region &source, Region &target) {
  if (source.empty()) return success();
  if (target.empty()) target.emplaceBlock();
  if (!target.front().empty()) target.front().back().erase();
  emitter.builder.setInsertionPointToEnd(&target.front());
  if (failed(emitter.emit_region(source.front()))) return failure();
  Operation *yield = source.front().getTerminator();
  scf::YieldOp::create(emitter.builder, yield->getLoc(), flatten(emitter, yield->getOperands()));
  return success();
}

static LogicalResult emit_if(Emitter &emitter, scf::IfOp branch) {
  OpBuilder &builder = emitter.builder;
  OpBuilder::InsertionGuard guard(builder);
  auto made = scf::IfOp::create(builder, emitter.location, flatten(branch.getResultTypes()),
                                emitter.scalar(branch.getCondition()), !branch.getElseRegion().empty());
  if (failed(emit_branch(emitter, branch.getThenRegion(), made.getThenRegion())) ||
      failed(emit_branch(emitter, branch.getElseRegion(), made.getElseRegion())))
    return failure();
  bind_all(emitter, branch.getResults(), made.getResults());
  return success();
}

static LogicalResult emit_while(Emitter &emitter, scf::WhileOp loop) {
  OpBuilder &builder = emitter.builder;
  OpBuilder::InsertionGuard guard(builder);
  auto made = scf::WhileOp::create(builder, emitter.location, flatten(loop.getResultTypes()),
                                   flatten(emitter, loop.getInits()));
  auto enter = [&](Block &source, Region &target) {
    SmallVector<Type> types = flatten(source.getArgumentTypes());
    Block *block = builder.createBlock(&target, {}, types, SmallVector<Location>(types.size(), loop.getLoc()));
    bind_all(emitter, source.getArguments(), block->getArguments());
    return emitter.emit_region(source);
  };
  if (failed(enter(*loop.getBeforeBody(), made.getBefore()))) return failure();
  scf::ConditionOp condition = loop.getConditionOp();
  scf::ConditionOp::create(builder, condition.getLoc(), emitter.scalar(condition.getCondition()),
                           flatten(emitter, condition.getArgs()));
  if (failed(enter(*loop.getAfterBody(), made.getAfter()))) return failure();
  scf::YieldOp::create(builder, loop.getLoc(), flatten(emitter, loop.getYieldOp().getOperands()));
  bind_all(emitter, loop.getResults(), made.getResults());
  return success();
}

LogicalResult emit_control(Emitter &emitter, Operation *operation) {
  if (auto loop = dyn_cast<scf::ForOp>(operation)) return emit_for(emitter, loop);
  if (auto branch = dyn_cast<scf::IfOp>(operation)) return emit_if(emitter, branch);
  return emit_while(emitter, cast<scf::WhileOp>(operation));
}

func::FuncOp to_thread(tt::FuncOp function, const Capability &capability, const GpuOptions &options) {
  if (!function.getBody().hasOneBlock() || function.getFunctionType().getNumResults() != 0) {
    InFlightDiagnostic error = function.emitOpError("must be one block without results; got ")
                               << function.getBody().getBlocks().size() << " blocks";
    error.attachNote() << "help: structure the control flow and inline calls first";
    return nullptr;
  }
  OpBuilder builder(function);
  auto type = builder.getFunctionType(flatten(function.getArgumentTypes()), {});
  auto made = func::FuncOp::create(builder, function.getLoc(), function.getName(), type);
  for (StringRef name : {thread::warps_attribute, thread::lanes_attribute, thread::shared_bytes_attribute})
    if (Attribute attribute = function->getAttr(name)) made->setAttr(name, attribute);
  if (ArrayAttr attributes = function.getAllArgAttrs()) made.setAllArgAttrs(attributes);
  builder.setInsertionPointToStart(made.addEntryBlock());
  Emitter emitter(function, builder, capability, options);
  bind_all(emitter, function.getBody().getArguments(), made.getArguments());
  if (failed(emitter.emit_block(function.getBody().front()))) {
    made.erase();
    return nullptr;
  }
  func::ReturnOp::create(builder, function.getLoc());
  function.erase();
  return made;
}

}  // namespace teeny::compiler::gpu
