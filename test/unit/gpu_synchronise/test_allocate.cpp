// Places in shared memory: what is needed at different times shares bytes, what is needed at once does not.
#include <gtest/gtest.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Parser/Parser.h>

#include "compiler/gpu/gpu.hpp"

namespace teeny::compiler::gpu {
namespace {

using namespace mlir;

class Allocate : public testing::Test {
 protected:
  // The places of allocations, then of scratch, in the order of the text.
  std::vector<int64_t> places(const std::string& body, const Capability& capability = {}) {
    context_.loadDialect<tt::TTDialect, tile::TileDialect, thread::ThreadDialect, arith::ArithDialect, scf::SCFDialect>();
    const std::string names =
        "#rows = #tile.dist<register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]], block = []>\n"
        "#turned = #tile.dist<register = [], lane = [[4], [8], [16], [32], [64]], warp = [[1], [2]], block = []>\n"
        "#places = #tile.shared<offset = [[1], [2], [4], [8], [16], [32], [64]]>\n"
        "!block = tensor<128xi32, #rows>\n!memory = !tile.mem<[128] x i32, #places>\n"
        "!ring = !tile.mem<4 x [128] x i32, #places>\n";
    module_ = parseSourceString<ModuleOp>(
        names + "module { tt.func public @f(%x: !block, %t: tensor<128x!tt.ptr<i32>, #rows>, %zero: i32, %n: i32) "
                "attributes {thread.warps = 4 : i32, thread.lanes = 32 : i32} {\n" + body + "\ntt.return } }",
        &context_);
    EXPECT_TRUE(module_);
    if (!module_) return {};
    tt::FuncOp function = *module_->getOps<tt::FuncOp>().begin();
    EXPECT_TRUE(succeeded(allocate_shared(function, capability)));
    std::vector<int64_t> result, scratch;
    function.walk([&](Operation* operation) {
      if (auto allocation = dyn_cast<tile::AllocOp>(operation)) result.push_back(*allocation.getOffset());
      if (auto offsets = operation->getAttrOfType<DenseI64ArrayAttr>(scratch_offsets_attribute))
        scratch.insert(scratch.end(), offsets.asArrayRef().begin(), offsets.asArrayRef().end());
    });
    result.insert(result.end(), scratch.begin(), scratch.end());
    bytes_ = function->getAttrOfType<IntegerAttr>(thread::shared_bytes_attribute).getInt();
    return result;
  }

  MLIRContext context_;
  OwningOpRef<ModuleOp> module_;
  int64_t bytes_ = 0;
};

using Places = std::vector<int64_t>;
const char* const one_after_the_other = R"(
  %a = tile.alloc %x : !block -> !memory
  %y = tile.local_load %a : !memory -> !block
  %b = tile.alloc %y : !block -> !memory
  %z = tile.local_load %b : !memory -> !block)";

TEST_F(Allocate, OneAfterTheOtherShare) {
  EXPECT_EQ(places(one_after_the_other), (Places{0, 0}));
  EXPECT_EQ(bytes_, 512);
}

TEST_F(Allocate, WhatIsReadLaterKeepsItsPlace) {
  EXPECT_EQ(places(std::string(one_after_the_other) + "\n%w = tile.local_load %a : !memory -> !block"), (Places{0, 512}));
}

// A turn's read is followed by the next turn's: the place is kept to the loop's end.
TEST_F(Allocate, AnAllocationBeforeALoopIsKeptToItsEnd) {
  EXPECT_EQ(places(R"(
    %a = tile.alloc %x : !block -> !memory
    scf.for %i = %zero to %n step %n : i32 {
      %y = tile.local_load %a : !memory -> !block
      %b = tile.alloc %y : !block -> !memory
      %z = tile.local_load %b : !memory -> !block
    }
    %c = tile.alloc %x : !block -> !memory)"),
            (Places{0, 512, 0}));
}

// Copies write until the wait for them.
TEST_F(Allocate, ARingIsKeptUntilItsCopiesHaveCome) {
  const std::string body = R"(
    %a = tile.alloc -> !ring
    %at = tile.view_buffer %a[%zero] : !ring -> !memory
    %token = tile.copy_in thread pointers %t to %at {width = 4 : i32} : (tensor<128x!tt.ptr<i32>, #rows>, !memory) -> !tile.token
    %b = tile.alloc %x : !block -> !memory
    %done = tile.wait {pending = 0 : i32}
    %c = tile.alloc %x : !block -> !memory)";
  EXPECT_EQ(places(body), (Places{0, 2048, 0}));
}

// The second need not wait until the first has been read.
TEST_F(Allocate, SmallScratchTakesTurns) {
  EXPECT_EQ(places(R"(
    %a = tile.convert_layout %x : !block -> tensor<128xi32, #turned>
    %b = tile.convert_layout %a : tensor<128xi32, #turned> -> !block
    %c = tile.convert_layout %b : !block -> tensor<128xi32, #turned>)"),
            (Places{0, 512, 0}));
}

TEST_F(Allocate, TypedArraysThatMayNotOverlapAreKeptApart) {
  Capability typed;
  typed.can_alias_types = false;
  EXPECT_EQ(places(R"(
    %a = tile.alloc %x : !block -> !memory
    %f = arith.sitofp %x : !block to tensor<128xf32, #rows>
    %b = tile.alloc %f : tensor<128xf32, #rows> -> !tile.mem<[128] x f32, #places>
    %c = tile.alloc %x : !block -> !memory)",
                   typed),
            (Places{0, 512, 0}));
}

}  // namespace
}  // namespace teeny::compiler::gpu
