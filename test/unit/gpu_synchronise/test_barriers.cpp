// Where barriers are put, and where none is.
#include <gtest/gtest.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Verifier.h>
#include <mlir/Parser/Parser.h>

#include "compiler/gpu/gpu.hpp"

namespace teeny::compiler::gpu {
namespace {

using namespace mlir;

class Barriers : public testing::Test {
 protected:
  // The operations of the function in order, by their names, after places and barriers have been given.
  std::vector<std::string> order(const std::string& body) {
    context_.loadDialect<tt::TTDialect, tile::TileDialect, thread::ThreadDialect, arith::ArithDialect, scf::SCFDialect>();
    const std::string layouts =
        "#rows = #tile.dist<register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]], block = []>\n"
        "#turned = #tile.dist<register = [], lane = [[4], [8], [16], [32], [64]], warp = [[1], [2]], block = []>\n"
        "#places = #tile.shared<offset = [[1], [2], [4], [8], [16], [32], [64]]>\n";
    module_ = parseSourceString<ModuleOp>(
        layouts + "module { tt.func public @f(%p: !tt.ptr<i32>, %t: tensor<128x!tt.ptr<i32>, #rows>, %n: i32, %c: i1) "
                  "attributes {thread.warps = 4 : i32, thread.lanes = 32 : i32} {\n" +
            body + "\ntt.return } }",
        &context_);
    EXPECT_TRUE(module_);
    if (!module_) return {};
    tt::FuncOp function = *module_->getOps<tt::FuncOp>().begin();
    EXPECT_TRUE(succeeded(allocate_shared(function, {})));
    EXPECT_TRUE(succeeded(insert_barriers(function, {})));
    EXPECT_TRUE(succeeded(verify(*module_)));
    std::vector<std::string> names;
    function.getBody().walk<WalkOrder::PreOrder>([&](Operation* operation) {
      const StringRef name = operation->getName().getStringRef();
      const bool shown = name.starts_with("tile.") || name.starts_with("scf.for") || name.starts_with("scf.while") ||
                         isa<tt::LoadOp, tt::StoreOp>(operation);
      if (shown && !isa<tile::ViewBufferOp>(operation)) names.push_back(name.substr(name.find('.') + 1).str());
    });
    return names;
  }

  MLIRContext context_;
  OwningOpRef<ModuleOp> module_;
};

using Names = std::vector<std::string>;

// The condition runs once more than the body, whose barrier does not come between it and what follows.
TEST_F(Barriers, WhatTheConditionReadsIsPendingBehindTheLoop) {
  EXPECT_EQ(order(R"(
    scf.while : () -> () {
      %v = tt.load %p : !tt.ptr<i32>
      %more = arith.cmpi slt, %v, %n : i32
      scf.condition(%more)
    } do {
      tt.barrier
      scf.yield
    }
    tt.store %p, %n : !tt.ptr<i32>)"),
            (Names{"while", "load", "barrier", "barrier", "store"}));
}

// What the body leaves pending is there in the condition, in the body and behind the loop.
TEST_F(Barriers, WhatTheBodyWritesIsPendingInTheCondition) {
  EXPECT_EQ(order(R"(
    scf.while : () -> () {
      %v = tt.load %p : !tt.ptr<i32>
      %more = arith.cmpi slt, %v, %n : i32
      scf.condition(%more)
    } do {
      tt.barrier
      tt.store %p, %n : !tt.ptr<i32>
      scf.yield
    })"),
            (Names{"while", "barrier", "load", "barrier", "store"}));
}

TEST_F(Barriers, SharedMemoryWrittenInALoopIsReadInTheNextTurn) {
  EXPECT_EQ(order(R"(
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %m = tile.alloc -> !tile.mem<[128] x i32, #places>
    scf.for %i = %zero to %n step %one : i32 {
      %x = tile.local_load %m : !tile.mem<[128] x i32, #places> -> tensor<128xi32, #turned>
      %y = tt.load %t : tensor<128x!tt.ptr<i32>, #rows>
      tile.local_store %y, %m : tensor<128xi32, #rows>, !tile.mem<[128] x i32, #places>
    })"),
            (Names{"alloc", "for", "barrier", "local_load", "load", "barrier", "local_store"}));
}

// A ring of buffers: one barrier in a turn tells both that the copy has come and that its next place has been read.
TEST_F(Barriers, CopiesOnTheirWayNeedOneBarrierInATurn) {
  const std::string ring = "!tile.mem<2 x [128] x i32, #places>", buffer = "!tile.mem<[128] x i32, #places>";
  const std::string copy = "tile.copy_in thread pointers %t to %at {width = 4 : i32} : (tensor<128x!tt.ptr<i32>, #rows>, " +
                           buffer + ") -> !tile.token\n";
  EXPECT_EQ(order("%zero = arith.constant 0 : i32\n%one = arith.constant 1 : i32\n"
                  "%m = tile.alloc -> " + ring + "\n"
                  "%at = tile.view_buffer %m[%zero] : " + ring + " -> " + buffer + "\n"
                  "%first = " + copy + "%group = tile.commit %first\n"
                  "scf.for %i = %zero to %n step %one : i32 {\n"
                  "  %now = tile.wait %group {pending = 0 : i32}\n"
                  "  %next = " + copy + "  %then = tile.commit %next\n"
                  "  %x = tile.local_load %at : " + buffer + " -> tensor<128xi32, #turned>\n"
                  "}\n%done = tile.wait %group {pending = 0 : i32}\n"
                  "%y = tile.local_load %at : " + buffer + " -> tensor<128xi32, #turned>"),
            (Names{"alloc", "copy_in", "commit", "for", "wait", "barrier", "copy_in", "commit", "local_load", "wait",
                   "barrier", "local_load"}));
}

}  // namespace
}  // namespace teeny::compiler::gpu
