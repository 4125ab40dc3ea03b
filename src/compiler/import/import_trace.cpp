#include "compiler/import/import_trace.hpp"

#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/UB/IR/UBOps.h>

#include "compiler/import/operation_number.hpp"
#include "compiler/import/trace_importer.hpp"

namespace teeny::compiler {

using namespace mlir;
using trace::Opcode;

namespace {

Type element_of(DType dtype, MLIRContext& context) {
  switch (dtype) {
    case DType::f16: return Float16Type::get(&context);
    case DType::bf16: return BFloat16Type::get(&context);
    case DType::f32: return Float32Type::get(&context);
    case DType::f64: return Float64Type::get(&context);
    default: return IntegerType::get(&context, bits_of(dtype));
  }
}

}  // namespace

Type import_type(const trace::Type& type, MLIRContext& context) {
  Type element = element_of(type.dtype, context);
  if (type.form == trace::Type::Form::descriptor)
    return tt::TensorDescType::get(&context, RankedTensorType::get(type.shape, element));
  if (type.form == trace::Type::Form::pointer) element = tt::PointerType::get(element);
  return type.shape.empty() ? element : RankedTensorType::get(type.shape, element);
}

OwningOpRef<ModuleOp> import_trace(const trace::Body& body, StringRef kernel, MLIRContext& context) {
  context.loadDialect<tt::TTDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect, ub::UBDialect>();
  return TraceImporter(body, context).import(kernel);
}

OwningOpRef<ModuleOp> TraceImporter::import(StringRef kernel) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(location_);
  builder_.setInsertionPointToEnd(module->getBody());
  SmallVector<Type> inputs;
  for (trace::ValueId parameter : body_.parameters)
    inputs.push_back(import_type(body_.types[parameter], *builder_.getContext()));
  auto function = make<tt::FuncOp>(kernel, builder_.getFunctionType(inputs, {}));
  Block* entry = builder_.createBlock(&function.getBody());
  for (auto [parameter, type] : llvm::zip(body_.parameters, inputs))
    values_[parameter] = entry->addArgument(type, location_);
  for (const Op& op : body_.region.operations) operation(op);
  make<tt::ReturnOp>(ValueRange());
  return module;
}

SmallVector<Value> TraceImporter::operands(const Op& op, std::size_t from) const {
  SmallVector<Value> values;
  for (std::size_t i = from; i < op.operands.size(); ++i) values.push_back(operand(op, i));
  return values;
}

SmallVector<Type> TraceImporter::result_types(const Op& op) {
  SmallVector<Type> types;
  for (trace::ValueId result : op.results) types.push_back(import_type(body_.types[result], *builder_.getContext()));
  return types;
}

void TraceImporter::define(const Op& op, ValueRange results) {
  for (auto [id, value] : llvm::zip(op.results, results)) values_[id] = value;
}

// Fills `into` with one block: the region's arguments and operations.
void TraceImporter::region(const trace::Region& region, mlir::Region& into) {
  OpBuilder::InsertionGuard guard(builder_);
  Block* block = builder_.createBlock(&into);
  for (trace::ValueId argument : region.arguments)
    values_[argument] = block->addArgument(import_type(body_.types[argument], *builder_.getContext()), location_);
  for (const Op& op : region.operations) operation(op);
}

void TraceImporter::operation(const Op& op) {
  const Location outer = location_;
  location_ = operation_location(builder_.getContext(), number_++);
  switch (trace::info(op.opcode).kind) {
    case trace::Kind::leaf: define(op, leaf(op)); break;
    case trace::Kind::shape: define(op, shape(op)); break;
    case trace::Kind::unary:
    case trace::Kind::binary:
    case trace::Kind::comparison:
    case trace::Kind::ternary: define(op, element_wise(op)); break;
    case trace::Kind::memory:
      if (Value result = memory(op)) define(op, result);
      break;
    case trace::Kind::matrix: define(op, dot(op)); break;
    case trace::Kind::region: combine(op); break;
    case trace::Kind::control: control(op); break;
    case trace::Kind::hint:
      if (Value result = hint(op)) define(op, result);
      break;
    case trace::Kind::debug: debug(op); break;
  }
  location_ = outer;
}

Value TraceImporter::leaf(const Op& op) {
  Type type = result_type(op);
  const auto axis = static_cast<tt::ProgramIDDim>(op.integers[0]);
  switch (op.opcode) {
    case Opcode::program_id: return make<tt::GetProgramIdOp>(type, axis);
    case Opcode::num_programs: return make<tt::GetNumProgramsOp>(type, axis);
    case Opcode::arange:
      return make<tt::MakeRangeOp>(type, static_cast<std::uint32_t>(op.integers[0]),
                                   static_cast<std::uint32_t>(op.integers[1]));
    default: break;
  }
  const auto bits = static_cast<std::uint64_t>(op.integers[0]);
  if (auto real = dyn_cast<FloatType>(type)) {
    const llvm::APFloat value(real.getFloatSemantics(), APInt(real.getWidth(), bits));
    return make<arith::ConstantOp>(builder_.getFloatAttr(real, value));
  }
  return make<arith::ConstantOp>(builder_.getIntegerAttr(type, APInt(type.getIntOrFloatBitWidth(), bits)));
}

Value TraceImporter::shape(const Op& op) {
  Type type = result_type(op);
  Value source = operand(op, 0);
  switch (op.opcode) {
    case Opcode::splat: return make<tt::SplatOp>(type, source);
    case Opcode::expand_dims: return make<tt::ExpandDimsOp>(type, source, static_cast<std::uint32_t>(op.integers[0]));
    case Opcode::broadcast: return make<tt::BroadcastOp>(type, source);
    case Opcode::reshape: return make<tt::ReshapeOp>(type, source);
    default: break;
  }
  SmallVector<int32_t> order(op.integers.begin(), op.integers.end());
  return make<tt::TransOp>(type, source, order);
}

void TraceImporter::combine(const Op& op) {
  const auto axis = static_cast<std::uint32_t>(op.integers[0]);
  if (op.opcode == Opcode::reduce) {
    auto reduce = make<tt::ReduceOp>(result_types(op), operands(op), axis);
    region(op.regions[0], reduce.getCombineOp());
    define(op, reduce.getResults());
  } else {
    auto scan = make<tt::ScanOp>(result_types(op), operands(op), axis, op.integers[1] != 0);
    region(op.regions[0], scan.getCombineOp());
    define(op, scan.getResults());
  }
}

void TraceImporter::control(const Op& op) {
  if (op.opcode == Opcode::for_loop) {
    auto loop = make<scf::ForOp>(operand(op, 0), operand(op, 1), operand(op, 2), operands(op, 3),
                                 [](OpBuilder&, Location, Value, ValueRange) {});
    if (op.integers[0] > 0)
      loop->setAttr("tt.num_stages", builder_.getI32IntegerAttr(static_cast<int32_t>(op.integers[0])));
    if (op.integers[1] > 0)
      loop->setAttr("tt.loop_unroll_factor", builder_.getI32IntegerAttr(static_cast<int32_t>(op.integers[1])));
    loop.getRegion().getBlocks().clear();
    region(op.regions[0], loop.getRegion());
    define(op, loop.getResults());
  } else if (op.opcode == Opcode::while_loop) {
    auto loop = make<scf::WhileOp>(result_types(op), operands(op));
    region(op.regions[0], loop.getBefore());
    region(op.regions[1], loop.getAfter());
    define(op, loop.getResults());
  } else if (op.opcode == Opcode::if_else) {
    auto branch = make<scf::IfOp>(result_types(op), operand(op, 0), /*addThenBlock=*/false, /*addElseBlock=*/false);
    region(op.regions[0], branch.getThenRegion());
    region(op.regions[1], branch.getElseRegion());
    define(op, branch.getResults());
  } else {
    end_region(op);
  }
}

void TraceImporter::end_region(const Op& op) {
  Operation* parent = builder_.getInsertionBlock()->getParentOp();
  if (op.opcode == Opcode::condition) make<scf::ConditionOp>(operand(op, 0), operands(op, 1));
  else if (isa<tt::ReduceOp>(parent)) make<tt::ReduceReturnOp>(operands(op));
  else if (isa<tt::ScanOp>(parent)) make<tt::ScanReturnOp>(operands(op));
  else make<scf::YieldOp>(operands(op));
}

}  // namespace teeny::compiler
