// Operations that make each register of their result from registers of their operands, without other lanes.
#include <map>

#include <mlir/Dialect/Arith/IR/Arith.h>

#include "compiler/gpu/to_thread/emitter.hpp"
#include "compiler/layout/layouts.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

static LogicalResult refuse(Operation *operation) {
  InFlightDiagnostic error = operation->emitOpError("has no GPU lowering; got ") << operation->getOperandTypes();
  error.attachNote() << "help: express it by element-wise operations, loads and stores, or use a CPU target";
  return error;
}

static LogicalResult emit_constant(Emitter &emitter, arith::ConstantOp constant) {
  Type type = constant.getType();
  TypedAttr value = cast<TypedAttr>(constant.getValue());
  if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue())) {
    if (!dense.isSplat()) {
      InFlightDiagnostic error = constant.emitOpError("must hold one value on a GPU; got different elements");
      error.attachNote() << "help: load the table from memory";
      return error;
    }
    value = cast<TypedAttr>(dense.getSplatValue<Attribute>());
  }
  emitter.bind(constant.getResult(), Scalars(Emitter::registers(type), emitter.constant(value)));
  return success();
}

// expand_dims, trans and reshape keep registers where the result's layout is the natural one.
static LogicalResult keep_registers(Emitter &emitter, Operation *operation, const LinearLayout &natural) {
  Value result = operation->getResult(0);
  LinearLayout layout = tile::layout_of(result.getType());
  if (layout != natural) {
    InFlightDiagnostic error = operation->emitOpError("must have the layout that its source gives it; got ")
                               << layout.to_string() << ", expected " << natural.to_string();
    error.attachNote() << "help: a tile.convert_layout belongs behind it";
    return error;
  }
  emitter.bind(result, Scalars(emitter.scalars(operation->getOperand(0))));
  return success();
}

static LogicalResult emit_broadcast(Emitter &emitter, tt::BroadcastOp broadcast) {
  LinearLayout source = tile::layout_of(broadcast.getSrc().getType()), target = tile::layout_of(broadcast.getType());
  auto image = [](const LinearLayout &layout, int number, const LinearLayout &sizes) {
    SmallVector<int32_t> place;
    for (const LinearLayout::Output &output : sizes.outputs())
      place.push_back(output.size == 1 ? 0 : layout.apply({{Axis::reg, number}}, output.axis));
    return place;
  };
  for (Axis input : {Axis::lane, Axis::warp})
    for (int bit = 0; bit < target.input_bits(input); ++bit)
      for (const LinearLayout::Output &output : source.outputs())
        if (output.size != 1 && (bit >= source.input_bits(input) ||
                                 source.basis(input, bit, output.axis) != target.basis(input, bit, output.axis)))
          return broadcast.emitOpError("must spread lanes and warps as its source does; got ")
                 << target.to_string() << " of " << source.to_string();
  ArrayRef<Value> from = emitter.scalars(broadcast.getSrc());
  Scalars scalars;
  for (int number = 0; number < target.input_size(Axis::reg); ++number) {
    SmallVector<int32_t> place = image(target, number, source);
    auto found = llvm::find_if(llvm::seq<int>(0, from.size()), [&](int k) { return image(source, k, source) == place; });
    if (found == llvm::seq<int>(0, from.size()).end())
      return broadcast.emitOpError("needs an element that its source's registers lack; got ") << source.to_string();
    scalars.push_back(from[*found]);
  }
  emitter.bind(broadcast.getResult(), std::move(scalars));
  return success();
}

static void emit_pointer_sum(Emitter &emitter, tt::AddPtrOp addition) {
  OpBuilder &builder = emitter.builder;
  Type pointee = tt::pointee_type(addition.getType());
  Scalars scalars;
  Value bytes = emitter.constant(builder.getI64IntegerAttr(element_bytes(pointee)));
  Scalars pointers(emitter.scalars(addition.getPtr())), offsets(emitter.scalars(addition.getOffset()));
  for (auto [pointer, offset] : llvm::zip_equal(pointers, offsets)) {
    if (!offset.getType().isInteger(64)) offset = emitter.make<arith::ExtSIOp>({offset}, builder.getI64Type());
    offset = emitter.make<arith::MulIOp>({offset, bytes}, builder.getI64Type());
    scalars.push_back(emitter.make<arith::AddIOp>({pointer, offset}, builder.getI64Type()));
  }
  emitter.bind(addition.getResult(), std::move(scalars));
}

static void emit_range(Emitter &emitter, tt::MakeRangeOp range) {
  LinearLayout layout = tile::layout_of(range.getType());
  Scalars scalars;
  for (int number = 0; number < layout.input_size(Axis::reg); ++number)
    scalars.push_back(emitter.add(emitter.index_of(layout, number, Axis::index0), emitter.constant(range.getStart())));
  emitter.bind(range.getResult(), std::move(scalars));
}

// Whether all that is made of a number are offsets of addresses, which must not overflow; other integers wrap.
static bool is_offset(Value value) {
  SmallVector<Value> open{value};
  llvm::DenseSet<Value> seen{value};
  while (!open.empty())
    for (OpOperand &use : open.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (isa<tt::AddPtrOp>(user) && use.getOperandNumber() == 1) continue;
      if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::ExtSIOp, tt::SplatOp, tt::BroadcastOp,
               tt::ExpandDimsOp, tt::HintOp, tile::ConvertLayoutOp>(user))
        return false;
      if (seen.insert(user->getResult(0)).second) open.push_back(user->getResult(0));
    }
  return true;
}

// For each register of a value the lowest that is known to hold an equal element in every lane.
static SmallVector<int> equal_registers(Emitter &emitter, Value value) {
  const int count = Emitter::registers(value.getType());
  SmallVector<int> lowest;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  const AxisInfo info = type ? emitter.axis_info.of(value) : AxisInfo();
  if (!type || llvm::all_of(info.constancy, [](int64_t constancy) { return constancy <= 1; })) {
    llvm::append_range(lowest, llvm::seq(0, count));
    return lowest;
  }
  const LinearLayout layout = tile::layout_of(type);
  std::map<SmallVector<int32_t>, int> groups;
  for (int number = 0; number < count; ++number) {
    SmallVector<int32_t> group;
    for (auto [dimension, constancy] : llvm::enumerate(info.constancy)) {
      const int64_t aligned = constancy & -constancy;  // elements whose indices differ below it are equal
      group.push_back(layout.apply({{Axis::reg, number}}, index_axis(unsigned(dimension))) & int32_t(~(aligned - 1)));
    }
    lowest.push_back(groups.try_emplace(std::move(group), number).first->second);
  }
  return lowest;
}

// One scalar operation per register.
static LogicalResult emit_pointwise(Emitter &emitter, Operation *operation) {
  if (operation->getNumResults() == 0 || operation->getNumRegions() != 0 || !isMemoryEffectFree(operation))
    return refuse(operation);
  Type type = operation->getResult(0).getType();
  SmallVector<Scalars, 2> results(operation->getNumResults());
  bool whole = isa<arith::ExtSIOp>(operation) && !is_offset(operation->getResult(0));
  const SmallVector<int> lowest = equal_registers(emitter, operation->getResult(0));
  for (int number = 0; number < Emitter::registers(type); ++number) {
    if (lowest[number] != number) {
      for (Scalars &scalars : results) scalars.push_back(scalars[lowest[number]]);
      continue;
    }
    SmallVector<Value, 4> operands;
    for (Value operand : operation->getOperands()) {
      ArrayRef<Value> all = emitter.scalars(operand);
      operands.push_back(isa<RankedTensorType>(operand.getType()) ? all[number] : all.front());
    }
    if (results.size() == 1) {
      Type scalar = Emitter::scalar_type(type);
      DictionaryAttr attributes = operation->getAttrDictionary();
      results.front().push_back(whole ? emitter.number_whole(operation->getName(), operands, scalar, attributes)
                                      : emitter.number(operation->getName(), operands, scalar, attributes));
      continue;
    }
    OperationState state(emitter.location, operation->getName(), operands, {}, operation->getAttrs());
    for (Type result : operation->getResultTypes()) state.addTypes(Emitter::scalar_type(result));
    for (auto [scalars, value] : llvm::zip_equal(results, emitter.builder.create(state)->getResults()))
      scalars.push_back(value);
  }
  for (auto [result, scalars] : llvm::zip_equal(operation->getResults(), results))
    emitter.bind(result, std::move(scalars));
  return success();
}

static void emit_bitcast(Emitter &emitter, Value source, Value result) {
  Scalars scalars(emitter.scalars(source));
  Type type = Emitter::scalar_type(result.getType());
  for (Value &scalar : scalars)
    if (scalar.getType() != type) scalar = emitter.make<arith::BitcastOp>({scalar}, type);
  emitter.bind(result, std::move(scalars));
}

static LogicalResult emit_pointer_number(Emitter &emitter, Operation *operation) {
  Value source = operation->getOperand(0), result = operation->getResult(0);
  if (Emitter::scalar_type(source.getType()) != Emitter::scalar_type(result.getType())) return refuse(operation);
  emitter.bind(result, Scalars(emitter.scalars(source)));
  return success();
}

template <typename Op>
static void emit_program(Emitter &emitter, Operation *operation, tt::ProgramIDDim axis) {
  OpBuilder &builder = emitter.builder;
  auto attribute = builder.getNamedAttr("axis", tt::ProgramIDDimAttr::get(builder.getContext(), axis));
  auto name = OperationName(Op::getOperationName(), builder.getContext());
  emitter.bind(operation->getResult(0),
               {emitter.number(name, {}, builder.getI32Type(), builder.getDictionaryAttr(attribute))});
}

LogicalResult emit_elementwise(Emitter &emitter, Operation *operation) {
  if (auto constant = dyn_cast<arith::ConstantOp>(operation)) return emit_constant(emitter, constant);
  if (auto broadcast = dyn_cast<tt::BroadcastOp>(operation)) return emit_broadcast(emitter, broadcast);
  if (isa<tt::IntToPtrOp, tt::PtrToIntOp>(operation)) return emit_pointer_number(emitter, operation);
  if (isa<tt::AssumeOp>(operation)) return success();  // a fact for the analyses alone
  auto remainder = dyn_cast<arith::RemFOp>(operation);
  if (remainder && tt::element_type(remainder.getType()).isF64()) return emit_f64_remainder(emitter, remainder), success();
  if (auto expand = dyn_cast<tt::ExpandDimsOp>(operation))
    return keep_registers(emitter, operation, expand_layout(tile::layout_of(expand.getSrc().getType()), expand.getAxis()));
  if (auto trans = dyn_cast<tt::TransOp>(operation))
    return keep_registers(emitter, operation, transpose_layout(tile::layout_of(trans.getSrc().getType()), trans.getOrder()));
  if (auto reshape = dyn_cast<tt::ReshapeOp>(operation))
    return keep_registers(emitter, operation, reshape_layout(tile::layout_of(reshape.getSrc().getType()),
                                                             tt::shape_of(reshape.getType())));
  if (auto splat = dyn_cast<tt::SplatOp>(operation)) {
    emitter.bind(splat.getResult(), Scalars(Emitter::registers(splat.getType()), emitter.scalar(splat.getSrc())));
  } else if (isa<tt::HintOp>(operation)) {
    emitter.bind(operation->getResult(0), Scalars(emitter.scalars(operation->getOperand(0))));
  } else if (auto unsplat = dyn_cast<tt::UnsplatOp>(operation)) {
    emitter.bind(unsplat.getResult(), {emitter.scalar(unsplat.getSrc())});  // every lane holds the one element
  } else if (auto addition = dyn_cast<tt::AddPtrOp>(operation)) {
    emit_pointer_sum(emitter, addition);
  } else if (auto range = dyn_cast<tt::MakeRangeOp>(operation)) {
    emit_range(emitter, range);
  } else if (isa<tt::BitcastOp>(operation)) {
    emit_bitcast(emitter, operation->getOperand(0), operation->getResult(0));
  } else if (auto id = dyn_cast<tt::GetProgramIdOp>(operation)) {
    emit_program<thread::ProgramIdOp>(emitter, id, id.getAxis());
  } else if (auto count = dyn_cast<tt::GetNumProgramsOp>(operation)) {
    emit_program<thread::NumProgramsOp>(emitter, count, count.getAxis());
  } else if (isa<arith::ArithDialect>(operation->getDialect()) ||
             operation->getName().getDialectNamespace() == "math") {
    return emit_pointwise(emitter, operation);
  } else {
    return refuse(operation);
  }
  return success();
}

}  // namespace teeny::compiler::gpu
