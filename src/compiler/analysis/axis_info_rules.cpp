#include "compiler/analysis/axis_info_rules.hpp"

#include <numeric>

#include <llvm/ADT/TypeSwitch.h>
#include <mlir/IR/Matchers.h>

namespace teeny::compiler {

using namespace mlir;
using arith::CmpIPredicate;

namespace {

using Operands = ArrayRef<const AxisInfo *>;

AxisInfo uniform_info(Type type, int64_t divisibility) {
  AxisInfo info = AxisInfo::unknown(type);
  info.divisibility.assign(info.rank(), divisibility);
  ArrayRef<int64_t> shape = tt::shape_of(type);
  if (!shape.empty()) info.constancy.assign(shape.begin(), shape.end());
  return info;
}

AxisInfo constant_info(Type type, int64_t value) {
  AxisInfo info = uniform_info(type, power_of_two_divisor(value));
  info.constant = value;
  info.non_negative = value >= 0;
  return info;
}

// A power of two that divides every element.
int64_t common_divisibility(const AxisInfo &info) {
  int64_t divisibility = 1;
  for (unsigned d = 0; d < info.rank(); ++d)
    if (info.contiguity[d] == 1) divisibility = std::max(divisibility, info.divisibility[d]);
  return info.constant ? power_of_two_divisor(*info.constant) : divisibility;
}

int64_t saturated_product(int64_t a, int64_t b) { return a > max_divisibility / b ? max_divisibility : a * b; }

// Bytes between neighbours of a contiguous run; 1 for integers.
int64_t unit_of(Type type) {
  return isa<tt::PointerType>(tt::element_type(type)) ? element_bytes(tt::pointee_type(type)) : 1;
}

// a + b, a - b, and pointer + b, where b counts elements of `bytes`.
AxisInfo sum_info(const AxisInfo &a, const AxisInfo &b, bool subtract, int64_t bytes) {
  AxisInfo info = AxisInfo::unknown(a.rank());
  for (unsigned d = 0; d < a.rank(); ++d) {
    int64_t left = std::gcd(a.contiguity[d], b.constancy[d]);
    int64_t right = subtract ? 1 : std::gcd(b.contiguity[d], a.constancy[d]);
    int64_t run = info.contiguity[d] = std::max(left, right);
    info.divisibility[d] = std::min(a.divisibility_at(d, run, bytes),
                                    saturated_product(b.divisibility_at(d, run), power_of_two_divisor(bytes)));
    info.constancy[d] = std::gcd(a.constancy[d], b.constancy[d]);
  }
  if (a.constant && b.constant) {
    uint64_t right = subtract ? -uint64_t(*b.constant) : uint64_t(*b.constant);
    info.constant = int64_t(uint64_t(*a.constant) + right * uint64_t(bytes));
  }
  info.non_negative = info.constant ? *info.constant >= 0 : !subtract && a.non_negative && b.non_negative;
  return info;
}

AxisInfo product_info(const AxisInfo &a, const AxisInfo &b) {
  if (a.constant == 1) return b;
  if (b.constant == 1) return a;
  AxisInfo info = AxisInfo::unknown(a.rank());
  int64_t divisibility = saturated_product(common_divisibility(a), common_divisibility(b));
  for (unsigned d = 0; d < a.rank(); ++d) {
    info.divisibility[d] = divisibility;
    info.constancy[d] = std::gcd(a.constancy[d], b.constancy[d]);
  }
  if (a.constant && b.constant) info.constant = int64_t(uint64_t(*a.constant) * uint64_t(*b.constant));
  info.non_negative = info.constant ? *info.constant >= 0 : a.non_negative && b.non_negative;
  return info;
}

// Of a / b and a rem b: the length of aligned runs of a, starting at multiples of it, within which no multiple of b is
// crossed. Only numbers >= 0 are so regular: division truncates.
int64_t run_between_multiples(const AxisInfo &a, const AxisInfo &b, unsigned d) {
  if (!a.non_negative) return 1;
  int64_t run = std::gcd(a.contiguity[d], b.constancy[d]);
  return std::gcd(run, std::min(a.divisibility_at(d, run), b.divisibility_at(d, run)));
}

AxisInfo quotient_info(const AxisInfo &a, const AxisInfo &b, bool is_signed) {
  if (b.constant == 1) return a;
  AxisInfo info = AxisInfo::unknown(a.rank());
  for (unsigned d = 0; d < a.rank(); ++d)
    info.constancy[d] = std::max(std::gcd(a.constancy[d], b.constancy[d]), run_between_multiples(a, b, d));
  if (b.constant && std::has_single_bit(uint64_t(*b.constant))) {
    int64_t divisibility = std::max<int64_t>(1, common_divisibility(a) / *b.constant);
    info.divisibility.assign(info.rank(), divisibility);
  }
  if (a.constant && b.constant && *a.constant >= 0 && *b.constant > 0) info.constant = *a.constant / *b.constant;
  info.non_negative = a.non_negative && (b.non_negative || !is_signed);
  return info;
}

AxisInfo remainder_info(const AxisInfo &a, const AxisInfo &b, bool is_signed) {
  AxisInfo info = AxisInfo::unknown(a.rank());
  for (unsigned d = 0; d < a.rank(); ++d) {
    int64_t run = info.contiguity[d] = run_between_multiples(a, b, d);
    info.divisibility[d] = std::min(a.divisibility_at(d, run), b.divisibility_at(d, run));
    info.constancy[d] = std::gcd(a.constancy[d], b.constancy[d]);
  }
  if (a.constant && b.constant && *a.constant >= 0 && *b.constant > 0) info.constant = *a.constant % *b.constant;
  info.non_negative = a.non_negative && (is_signed || b.non_negative);
  return info;
}

// A run x, x + 1, … that starts at a multiple of its length, compared with a multiple of that length, is all less or
// all not less.
AxisInfo comparison_info(CmpIPredicate predicate, const AxisInfo &a, const AxisInfo &b) {
  bool left_run = false, right_run = false;
  switch (predicate) {
    case CmpIPredicate::slt: case CmpIPredicate::ult: case CmpIPredicate::sge: case CmpIPredicate::uge:
      left_run = true;
      break;
    case CmpIPredicate::sgt: case CmpIPredicate::ugt: case CmpIPredicate::sle: case CmpIPredicate::ule:
      right_run = true;
      break;
    default: break;
  }
  auto aligned_run = [](const AxisInfo &run, const AxisInfo &bound, unsigned d) {
    int64_t length = std::gcd(run.contiguity[d], bound.constancy[d]);
    return std::gcd(length, std::min(run.divisibility_at(d, length), bound.divisibility_at(d, length)));
  };
  AxisInfo info = AxisInfo::unknown(a.rank());
  for (unsigned d = 0; d < a.rank(); ++d) {
    int64_t constancy = std::gcd(a.constancy[d], b.constancy[d]);
    if (left_run) constancy = std::max(constancy, aligned_run(a, b, d));
    if (right_run) constancy = std::max(constancy, aligned_run(b, a, d));
    info.constancy[d] = constancy;
  }
  return info;
}

AxisInfo selection_info(const AxisInfo &condition, bool scalar_condition, const AxisInfo &a, const AxisInfo &b) {
  AxisInfo info = AxisInfo::unknown(a.rank());
  for (unsigned d = 0; d < a.rank(); ++d) {
    int64_t same = scalar_condition ? 0 : condition.constancy[d];  // gcd(x, 0) = x
    int64_t run = info.contiguity[d] = std::gcd(std::gcd(a.contiguity[d], b.contiguity[d]), same);
    info.divisibility[d] = std::min(a.divisibility_at(d, run), b.divisibility_at(d, run));
    info.constancy[d] = std::gcd(std::gcd(a.constancy[d], b.constancy[d]), same);
  }
  if (a.constant == b.constant) info.constant = a.constant;
  info.non_negative = a.non_negative && b.non_negative;
  return info;
}

// Any element-wise operation: equal operands give equal results.
AxisInfo element_wise_info(Type type, Operands operands) {
  AxisInfo info = AxisInfo::unknown(type);
  for (unsigned d = 0; d < info.rank(); ++d) {
    int64_t constancy = 0;
    for (const AxisInfo *operand : operands)
      if (operand->rank() == info.rank()) constancy = std::gcd(constancy, operand->constancy[d]);
    info.constancy[d] = std::max<int64_t>(1, constancy);
  }
  return info;
}

AxisInfo expanded_info(const AxisInfo &source, bool from_scalar, unsigned axis) {
  if (from_scalar) return source;
  AxisInfo info = source;
  info.contiguity.insert(info.contiguity.begin() + axis, 1);
  info.divisibility.insert(info.divisibility.begin() + axis, common_divisibility(source));
  info.constancy.insert(info.constancy.begin() + axis, 1);
  return info;
}

AxisInfo transposed_info(const AxisInfo &source, ArrayRef<int32_t> order) {
  AxisInfo info = source;
  for (auto [d, from] : llvm::enumerate(order)) {
    info.contiguity[d] = source.contiguity[from];
    info.divisibility[d] = source.divisibility[from];
    info.constancy[d] = source.constancy[from];
  }
  return info;
}

// Row-major order keeps runs of the last dimension, cut at the result's rows.
AxisInfo reshaped_info(const AxisInfo &source, RankedTensorType from, RankedTensorType to) {
  AxisInfo info = AxisInfo::unknown(to);
  info.divisibility.assign(info.rank(), common_divisibility(source));
  info.constant = source.constant;
  info.non_negative = source.non_negative;
  // The last dimensions of extent other than 1 hold the runs.
  int last_from = from.getRank() - 1, last_to = to.getRank() - 1;
  while (last_from > 0 && from.getDimSize(last_from) == 1) --last_from;
  while (last_to > 0 && to.getDimSize(last_to) == 1) --last_to;
  if (last_from < 0 || last_to < 0) return info;
  int64_t run = std::gcd(source.contiguity[last_from], to.getDimSize(last_to));
  info.contiguity[last_to] = run;
  info.divisibility[last_to] = source.divisibility_at(last_from, run, unit_of(from));
  info.constancy[last_to] = std::gcd(source.constancy[last_from], to.getDimSize(last_to));
  return info;
}

// What a program promises of a value of `type`: lengths of runs, multiples that the first element of every run is,
// lengths of groups of equal elements; one number a dimension, or none. A run may be longer than is known, and its
// first element alone is promised to be a multiple; where nothing else follows, elements further on are multiples of
// less.
void apply_promises(Type type, ArrayRef<int64_t> multiples, ArrayRef<int64_t> runs, ArrayRef<int64_t> equal,
                    AxisInfo &info) {
  const AxisInfo known = info;
  ArrayRef<int64_t> shape = tt::shape_of(type);
  for (unsigned d = 0; d < info.rank(); ++d) {
    if (d < equal.size()) info.constancy[d] = std::max(known.constancy[d], equal[d]);
    if (d < runs.size() && runs[d] > known.contiguity[d]) {
      info.contiguity[d] = runs[d];
      info.divisibility[d] = known.divisibility_at(d, runs[d], unit_of(type));
    }
    if (d >= multiples.size()) continue;
    int64_t multiple = power_of_two_divisor(multiples[d]), run = info.contiguity[d];
    bool every_run_begins_a_group = shape.empty() || run >= shape[d] || info.constancy[d] > 1;
    if (!every_run_begins_a_group)
      multiple = std::min(multiple, power_of_two_divisor(run) * power_of_two_divisor(unit_of(type)));
    info.divisibility[d] = std::max(info.divisibility[d], multiple);
  }
}

std::optional<int64_t> constant_integer(Operation *operation) {
  Attribute attribute;
  if (!matchPattern(operation, m_Constant(&attribute))) return std::nullopt;
  if (auto dense = dyn_cast<DenseElementsAttr>(attribute)) {
    if (!dense.isSplat()) return std::nullopt;
    attribute = dense.getSplatValue<Attribute>();
  }
  auto integer = dyn_cast<IntegerAttr>(attribute);
  if (!integer) return std::nullopt;
  return integer.getValue().getBitWidth() == 1 ? int64_t(integer.getValue().getZExtValue())
                                               : integer.getValue().getSExtValue();
}

std::optional<AxisInfo> transfer_shape(Operation *operation, Operands operands) {
  Type type = operation->getResult(0).getType();
  return llvm::TypeSwitch<Operation *, std::optional<AxisInfo>>(operation)
      .Case([&](tt::MakeRangeOp range) {
        AxisInfo info = AxisInfo::unknown(type);
        int64_t start = int32_t(range.getStart());
        info.contiguity[0] = tt::shape_of(type)[0];
        info.divisibility[0] = power_of_two_divisor(start);
        info.non_negative = start >= 0;
        return info;
      })
      .Case([&](tt::SplatOp) {
        AxisInfo info = uniform_info(type, common_divisibility(*operands[0]));
        info.constant = operands[0]->constant;
        info.non_negative = operands[0]->non_negative;
        return info;
      })
      .Case([&](tt::ExpandDimsOp expand) {
        bool from_scalar = tt::shape_of(expand.getSrc().getType()).empty();
        return expanded_info(*operands[0], from_scalar, expand.getAxis());
      })
      .Case([&](tt::BroadcastOp broadcast) {
        AxisInfo info = *operands[0];
        auto from = tt::shape_of(broadcast.getSrc().getType()), to = tt::shape_of(type);
        for (auto [d, extent] : llvm::enumerate(from))
          if (extent == 1) info.constancy[d] = to[d];
        return info;
      })
      .Case([&](tt::TransOp trans) { return transposed_info(*operands[0], trans.getOrder()); })
      .Case([&](tt::ReshapeOp reshape) {
        if (reshape.getAllowReorder()) return AxisInfo::unknown(type);
        return reshaped_info(*operands[0], cast<RankedTensorType>(reshape.getSrc().getType()),
                             cast<RankedTensorType>(type));
      })
      .Case([&](tt::HintOp hint) {
        AxisInfo info = *operands[0];
        auto numbers = [](std::optional<ArrayRef<int64_t>> given) { return given.value_or(ArrayRef<int64_t>()); };
        apply_promises(type, numbers(hint.getDivisibility()), numbers(hint.getContiguity()), {}, info);
        return info;
      })
      .Case<tt::GetProgramIdOp, tt::GetNumProgramsOp>([&](Operation *) {
        AxisInfo info = AxisInfo::unknown(type);
        info.non_negative = true;
        return info;
      })
      .Default([](Operation *) { return std::nullopt; });
}

// Pointers and conversions between them and integers. Divisibility counts bytes on both sides.
std::optional<AxisInfo> transfer_pointer(Operation *operation, Operands operands) {
  if (isa<tt::AddPtrOp>(operation))
    return sum_info(*operands[0], *operands[1], false, unit_of(operation->getResult(0).getType()));
  if (!isa<tt::BitcastOp, tt::IntToPtrOp, tt::PtrToIntOp>(operation)) return std::nullopt;
  Type from = operation->getOperand(0).getType(), to = operation->getResult(0).getType();
  AxisInfo info = *operands[0];
  info.non_negative = false;
  if (unit_of(from) == unit_of(to)) return info;
  for (unsigned d = 0; d < info.rank(); ++d) {
    info.divisibility[d] = operands[0]->divisibility_at(d, 1, unit_of(from));
    info.contiguity[d] = 1;
  }
  return info;
}

std::optional<AxisInfo> transfer_arithmetic(Operation *operation, Operands operands) {
  auto a = [&]() -> const AxisInfo & { return *operands[0]; };
  auto b = [&]() -> const AxisInfo & { return *operands[1]; };
  return llvm::TypeSwitch<Operation *, std::optional<AxisInfo>>(operation)
      .Case([&](arith::AddIOp) { return sum_info(a(), b(), false, 1); })
      .Case([&](arith::SubIOp) { return sum_info(a(), b(), true, 1); })
      .Case([&](arith::MulIOp) { return product_info(a(), b()); })
      .Case([&](arith::ShLIOp shift) -> std::optional<AxisInfo> {
        if (!b().constant || *b().constant < 0 || *b().constant >= 62) return std::nullopt;
        return product_info(a(), constant_info(shift.getType(), int64_t(1) << *b().constant));
      })
      .Case([&](arith::DivSIOp) { return quotient_info(a(), b(), true); })
      .Case([&](arith::RemSIOp) { return remainder_info(a(), b(), true); })
      .Case([&](arith::DivUIOp) -> std::optional<AxisInfo> {
        // Numbers that differ when read as unsigned are not regular.
        if (!a().non_negative) return std::nullopt;
        return quotient_info(a(), b(), false);
      })
      .Case([&](arith::RemUIOp) -> std::optional<AxisInfo> {
        if (!a().non_negative) return std::nullopt;
        return remainder_info(a(), b(), false);
      })
      .Case([&](arith::CmpIOp comparison) { return comparison_info(comparison.getPredicate(), a(), b()); })
      .Case([&](arith::SelectOp select) {
        bool scalar_condition = !isa<RankedTensorType>(select.getCondition().getType());
        return selection_info(a(), scalar_condition, b(), *operands[2]);
      })
      .Case<arith::ExtSIOp, arith::IndexCastOp>([&](Operation *cast) -> std::optional<AxisInfo> {
        if (getElementTypeOrSelf(cast->getOperand(0).getType()).isInteger(1)) return std::nullopt;
        return a();
      })
      .Case<arith::ExtUIOp>([&](Operation *cast) {
        unsigned width = getElementTypeOrSelf(cast->getOperand(0).getType()).getIntOrFloatBitWidth();
        AxisInfo info = width == 1 ? element_wise_info(cast->getResult(0).getType(), operands) : a();
        if (!a().non_negative) {
          // Where the sign bit was set, 2^width is added: a run breaks between -1 and 0 unless it begins there.
          info.constant.reset();
          for (unsigned d = 0; d < info.rank(); ++d) {
            info.contiguity[d] = std::gcd(info.contiguity[d], info.divisibility[d]);
            info.divisibility[d] =
                std::min(a().divisibility_at(d, info.contiguity[d]), int64_t(1) << std::min(62u, width));
          }
        }
        info.non_negative = true;
        return info;
      })
      .Case<arith::TruncIOp>([&](Operation *cast) {
        AxisInfo info = a();
        info.constant.reset();
        info.non_negative = false;
        unsigned width = getElementTypeOrSelf(cast->getResult(0).getType()).getIntOrFloatBitWidth();
        for (unsigned d = 0; d < info.rank(); ++d) {
          // Below the width of index arithmetic a run may wrap round.
          if (width < 32) info.divisibility[d] = a().divisibility_at(d, 1), info.contiguity[d] = 1;
        }
        return info;
      })
      .Default([](Operation *) { return std::nullopt; });
}

// A number, an array, or dense integers: one number a dimension.
SmallVector<int64_t> numbers_of(Attribute attribute) {
  if (auto integer = dyn_cast_or_null<IntegerAttr>(attribute)) return {integer.getInt()};
  if (auto array = dyn_cast_or_null<DenseI64ArrayAttr>(attribute)) return SmallVector<int64_t>(array.asArrayRef());
  if (auto array = dyn_cast_or_null<DenseI32ArrayAttr>(attribute))
    return llvm::to_vector_of<int64_t>(array.asArrayRef());
  SmallVector<int64_t> numbers;
  if (auto dense = dyn_cast_or_null<DenseIntElementsAttr>(attribute))
    for (const APInt &number : dense.getValues<APInt>()) numbers.push_back(number.getSExtValue());
  return numbers;
}

}  // namespace

AxisInfo transfer_axis_info(Operation *operation, Operands operands) {
  Type type = operation->getResult(0).getType();
  if (auto constant = constant_integer(operation)) return constant_info(type, *constant);
  if (auto info = transfer_shape(operation, operands)) return *info;
  if (auto info = transfer_pointer(operation, operands)) return *info;
  if (auto info = transfer_arithmetic(operation, operands)) return *info;
  bool element_wise = operation->hasTrait<OpTrait::Elementwise>() && isMemoryEffectFree(operation);
  return element_wise ? element_wise_info(type, operands) : AxisInfo::unknown(type);
}

AxisInfo entry_axis_info(Value value) {
  AxisInfo info = AxisInfo::unknown(value.getType());
  auto argument = dyn_cast<BlockArgument>(value);
  auto function = argument ? dyn_cast<tt::FuncOp>(argument.getOwner()->getParentOp()) : tt::FuncOp();
  if (!function || !argument.getOwner()->isEntryBlock()) return info;
  auto numbers = [&](StringRef name) { return numbers_of(function.getArgAttr(argument.getArgNumber(), name)); };
  apply_promises(value.getType(), numbers("tt.divisibility"), numbers("tt.contiguity"), numbers("tt.constancy"), info);
  return info;
}

void apply_attributes(Operation *operation, AxisInfo &info) {
  auto numbers = [&](StringRef name) { return numbers_of(operation->getDiscardableAttr(name)); };
  apply_promises(operation->getResult(0).getType(), numbers("tt.divisibility"), numbers("tt.contiguity"),
                 numbers("tt.constancy"), info);
}

}  // namespace teeny::compiler
