// The encodings of the tile dialect and their text.
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/DialectImplementation.h>

#include "compiler/dialect/tile/tile.hpp"

#define GET_ATTRDEF_CLASSES
#include "compiler/dialect/tile/tile_attributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "compiler/dialect/tile/tile_types.cpp.inc"

namespace teeny::tile {

using namespace mlir;
using compiler::Axis;
using compiler::index_axis;
using compiler::LinearLayout;

void TileDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/dialect/tile/tile_attributes.cpp.inc"
      >();
}

void TileDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/dialect/tile/tile_types.cpp.inc"
      >();
}

namespace {

SmallVector<int32_t> flatten(const LinearLayout &layout, Axis input) {
  SmallVector<int32_t> numbers;
  for (int bit = 0; bit < layout.input_bits(input); ++bit)
    for (unsigned d = 0; d < layout.outputs().size(); ++d) numbers.push_back(layout.basis(input, bit, index_axis(d)));
  return numbers;
}

std::vector<LinearLayout::Basis> unflatten(unsigned rank, ArrayRef<int32_t> numbers) {
  std::vector<LinearLayout::Basis> bases;
  for (size_t i = 0; rank != 0 && i < numbers.size(); i += rank)
    bases.emplace_back(numbers.begin() + i, numbers.begin() + i + rank);
  if (rank == 0) bases.resize(numbers.size());
  return bases;
}

std::vector<LinearLayout::Output> outputs_of(ArrayRef<int64_t> shape) {
  std::vector<LinearLayout::Output> outputs;
  for (auto [d, size] : llvm::enumerate(shape)) outputs.push_back({index_axis(d), int32_t(size)});
  return outputs;
}

// keyword = [[1, 0], [2, 0]]
void print_bases(AsmPrinter &printer, StringRef keyword, unsigned rank, ArrayRef<int32_t> numbers) {
  printer << keyword << " = [";
  for (size_t i = 0; rank != 0 && i < numbers.size(); i += rank) {
    printer << (i ? ", [" : "[");
    llvm::interleaveComma(numbers.slice(i, rank), printer);
    printer << "]";
  }
  printer << "]";
}

// Sets `rank` at the first basis and holds the others to it.
ParseResult parse_bases(AsmParser &parser, StringRef keyword, std::optional<unsigned> &rank, SmallVectorImpl<int32_t> &numbers) {
  if (parser.parseKeyword(keyword) || parser.parseEqual()) return failure();
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    size_t before = numbers.size();
    auto location = parser.getCurrentLocation();
    auto number = [&] { return parser.parseInteger(numbers.emplace_back()); };
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, number)) return failure();
    unsigned count = numbers.size() - before;
    if (rank && *rank != count) return parser.emitError(location, "a basis has one number per dimension");
    rank = count;
    return success();
  });
}

}  // namespace

DistAttr DistAttr::get(MLIRContext *context, const LinearLayout &layout) {
  return DistAttr::get(context, layout.outputs().size(), flatten(layout, Axis::reg), flatten(layout, Axis::lane),
                       flatten(layout, Axis::warp), flatten(layout, Axis::block));
}

LinearLayout DistAttr::layout(ArrayRef<int64_t> shape) const {
  std::vector<LinearLayout::Input> inputs = {{Axis::reg, unflatten(getRank(), getRegisters())},
                                             {Axis::lane, unflatten(getRank(), getLanes())},
                                             {Axis::warp, unflatten(getRank(), getWarps())}};
  if (!getBlocks().empty()) inputs.push_back({Axis::block, unflatten(getRank(), getBlocks())});
  return LinearLayout(std::move(inputs), outputs_of(shape));
}

void DistAttr::print(AsmPrinter &printer) const {
  printer << "<";
  if (getRegisters().empty() && getLanes().empty() && getWarps().empty()) printer << "rank = " << getRank() << ", ";
  print_bases(printer, "register", getRank(), getRegisters());
  print_bases(printer, ", lane", getRank(), getLanes());
  print_bases(printer, ", warp", getRank(), getWarps());
  if (!getBlocks().empty()) print_bases(printer, ", block", getRank(), getBlocks());
  printer << ">";
}

Attribute DistAttr::parse(AsmParser &parser, Type) {
  std::optional<unsigned> rank;
  SmallVector<int32_t> registers, lanes, warps, blocks;
  if (parser.parseLess()) return {};
  if (succeeded(parser.parseOptionalKeyword("rank"))) {
    unsigned number = 0;
    if (parser.parseEqual() || parser.parseInteger(number) || parser.parseComma()) return {};
    rank = number;
  }
  if (parse_bases(parser, "register", rank, registers) || parser.parseComma() ||
      parse_bases(parser, "lane", rank, lanes) || parser.parseComma() || parse_bases(parser, "warp", rank, warps))
    return {};
  if (succeeded(parser.parseOptionalComma()) && parse_bases(parser, "block", rank, blocks)) return {};
  if (parser.parseGreater()) return {};
  return parser.getChecked<DistAttr>(parser.getContext(), rank.value_or(1), registers, lanes, warps, blocks);
}

LogicalResult DistAttr::verify(function_ref<InFlightDiagnostic()> error, unsigned rank, ArrayRef<int32_t> registers,
                               ArrayRef<int32_t> lanes, ArrayRef<int32_t> warps, ArrayRef<int32_t> blocks) {
  for (ArrayRef<int32_t> numbers : {registers, lanes, warps, blocks})
    if (rank == 0 ? !numbers.empty() : numbers.size() % rank != 0)
      return error() << "dist: rule: a basis has one number per dimension";
  return success();
}

SharedAttr SharedAttr::get(MLIRContext *context, const LinearLayout &layout, unsigned swizzle) {
  return SharedAttr::get(context, layout.outputs().size(), flatten(layout, Axis::offset), swizzle);
}

LinearLayout SharedAttr::layout(ArrayRef<int64_t> shape) const {
  return LinearLayout({{Axis::offset, unflatten(getRank(), getOffsets())}}, outputs_of(shape));
}

void SharedAttr::print(AsmPrinter &printer) const {
  printer << "<";
  if (getOffsets().empty()) printer << "rank = " << getRank() << ", ";
  print_bases(printer, "offset", getRank(), getOffsets());
  if (getSwizzle()) printer << ", swizzle = " << getSwizzle();
  printer << ">";
}

Attribute SharedAttr::parse(AsmParser &parser, Type) {
  std::optional<unsigned> rank;
  SmallVector<int32_t> offsets;
  unsigned swizzle = 0;
  if (parser.parseLess()) return {};
  if (succeeded(parser.parseOptionalKeyword("rank"))) {
    unsigned number = 0;
    if (parser.parseEqual() || parser.parseInteger(number) || parser.parseComma()) return {};
    rank = number;
  }
  if (parse_bases(parser, "offset", rank, offsets)) return {};
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("swizzle") || parser.parseEqual() || parser.parseInteger(swizzle)))
    return {};
  if (parser.parseGreater()) return {};
  return parser.getChecked<SharedAttr>(parser.getContext(), rank.value_or(1), offsets, swizzle);
}

LogicalResult SharedAttr::verify(function_ref<InFlightDiagnostic()> error, unsigned rank, ArrayRef<int32_t> offsets,
                                 unsigned swizzle) {
  if (rank == 0 ? !offsets.empty() : offsets.size() % rank != 0)
    return error() << "shared: rule: a basis has one number per dimension";
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
    return error() << "shared: rule: swizzle is 0, 32, 64 or 128; got " << swizzle;
  return success();
}

// ---- types
Type MemType::parse(AsmParser &parser) {
  int64_t buffers = 0;
  SmallVector<int64_t> shape;
  Type element;
  SharedAttr encoding;
  MemorySpace space = MemorySpace::SHARED;
  if (parser.parseLess()) return {};
  OptionalParseResult count = parser.parseOptionalInteger(buffers);
  if (count.has_value() && (failed(*count) || parser.parseKeyword("x"))) return {};
  auto extent = [&] { return parser.parseInteger(shape.emplace_back()); };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, extent) || parser.parseKeyword("x") ||
      parser.parseType(element) || parser.parseComma() || parser.parseAttribute(encoding))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    if (parser.parseKeyword("tensor")) return {};
    space = MemorySpace::TENSOR;
  }
  if (parser.parseGreater()) return {};
  return parser.getChecked<MemType>(parser.getContext(), buffers, shape, element, encoding, space);
}

void MemType::print(AsmPrinter &printer) const {
  printer << "<";
  if (getBuffers()) printer << getBuffers() << " x ";
  printer << "[";
  llvm::interleaveComma(getShape(), printer);
  printer << "] x " << getElement() << ", " << getEncoding();
  if (getSpace() == MemorySpace::TENSOR) printer << ", tensor";
  printer << ">";
}

LogicalResult MemType::verify(function_ref<InFlightDiagnostic()> error, int64_t buffers, ArrayRef<int64_t> shape, Type,
                              SharedAttr encoding, MemorySpace) {
  if (buffers < 0) return error() << "mem: rule: the number of buffers is not negative";
  if (encoding.getRank() != shape.size()) return error() << "mem: rule: the encoding has the shape's rank";
  for (int64_t extent : shape)
    if (extent <= 0 || !llvm::isPowerOf2_64(extent)) return error() << "mem: rule: extents are powers of two; got " << extent;
  return success();
}

int64_t MemType::elements() const {
  int64_t product = 1;
  for (int64_t extent : getShape()) product *= extent;
  return product;
}

MemType MemType::one_buffer() const {
  return MemType::get(getContext(), 0, getShape(), getElement(), getEncoding(), getSpace());
}

}  // namespace teeny::tile
