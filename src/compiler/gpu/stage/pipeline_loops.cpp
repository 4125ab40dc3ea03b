// Loads that feed matrix products run ahead of them.
//
// A loop
//   for i { a = load p(i); m = alloc a; acc = mma m … }
// becomes, with S stages and a ring of S buffers,
//   copy p(0) … p(S - 2) into buffers 0 … S - 2, a group each
//   for i { wait until group i has come; copy p(i + S - 1) into buffer (i - 1) mod S; acc = mma (buffer i mod S) … }
//   wait for all
// One barrier in a turn, behind the wait, tells both that every lane's part has come and that buffer (i - 1) mod S has
// been read. What p needs is computed a second time for turn i + S - 1, carried by the loop where it depends on values
// that the loop carries.
//
// Where lanes have no asynchronous copies, or none so narrow, they load into registers ahead of the products and store behind them:
//   load p(0), store it into buffer 0
//   for i { load p(i + 1); acc = mma (buffer i mod 2) …; store it into buffer (i + 1) mod 2 }
// The barrier before the products of turn i tells both that the buffer has been stored and that the other has been read.
//
// Where the unit runs beside the lanes and a product is only summed from turn to turn, it is waited for a turn later:
//   for i { wait until group i has come; begin acc = mma (buffer i mod S) …; copy p(i + S - 2) into buffer (i - 2) mod S;
//           wait for the mma of turn i - 1 }
// The barrier of turn i then tells that the product of turn i - 2 has been computed by all warps. Where one product takes
// what another one gives, overlap_products.hpp says what becomes of them, with the same distance.
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

#include "compiler/analysis/axis_info.hpp"
#include "compiler/gpu/dot_plan.hpp"
#include "compiler/gpu/gpu.hpp"
#include "compiler/gpu/pad.hpp"
#include "compiler/gpu/stage/carried_values.hpp"
#include "compiler/gpu/stage/overlap_products.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

namespace {

// A load whose only use is to fill the memory of a matrix product's operand.
struct Feed {
  tt::LoadOp load;
  tile::AllocOp allocation;
  int width = 0;  // bytes that a lane copies at once; 0: through registers
};

// The widest copy that addresses, mask, registers and the places in memory allow; 0: none.
int copy_width(tt::LoadOp load, tile::AllocOp allocation, const AxisInfoAnalysis &axis_info, const Capability &capability) {
  const auto type = dyn_cast<RankedTensorType>(load.getPtr().getType());
  if (!type) return 0;
  const LinearLayout layout = tile::layout_of(type), places = layout.invert_and_compose(allocation.getType().layout());
  int64_t elements = places.consecutive_registers(Axis::offset), aligned = 1;
  for (unsigned dimension = 0; dimension < type.getRank(); ++dimension)
    if (layout.consecutive_registers(index_axis(dimension)) >= elements)
      aligned = std::max(aligned, axis_info.vector_width(load.getPtr(), load.getMask(), dimension));
  const int64_t bytes = std::min(elements, aligned) * element_bytes(tt::pointee_type(type));
  int width = 0;
  for (int size : capability.copy_async_bytes)
    if (size <= bytes) width = std::max(width, size);
  return width;
}

// The matrix products of a loop that read what is staged.
struct Products {
  std::vector<tile::MmaOp> operations;  // in order
  bool beside_lanes = false;            // some unit reads memory itself
  bool run_on = false;                  // all of them may be waited for a turn later
  Operation *overlapping = nullptr;     // the last early one, where late ones run beside the next turn
  bool last_longer() const { return run_on || overlapping; }  // what they read is read a turn longer
};

// Whether nothing but the next turn's product takes the result, and nothing writes the operands meanwhile.
bool may_run_on(tile::MmaOp product, scf::ForOp loop, ArrayRef<Feed> feeds) {
  auto sums = dyn_cast<BlockArgument>(product.getAccumulators());
  if (!sums || sums.getOwner() != loop.getBody() || sums.getArgNumber() == 0 || !sums.hasOneUse()) return false;
  if (!product.getResult().hasOneUse()) return false;
  OpOperand &use = *product.getResult().getUses().begin();
  if (use.getOwner() != loop.getBody()->getTerminator() || use.getOperandNumber() != sums.getArgNumber() - 1) return false;
  return llvm::all_of(ValueRange{product.getA(), product.getB()}, [&](Value operand) {
    if (auto turned = operand.getDefiningOp<tile::ViewTransOp>()) operand = turned.getMemory();
    if (!isa<tile::MemType>(operand.getType())) return false;
    return loop.isDefinedOutsideOfLoop(operand) ||
           llvm::any_of(feeds, [&](Feed feed) { return feed.allocation.getResult() == operand; });
  });
}

Products products_of(scf::ForOp loop, ArrayRef<Feed> feeds, const Capability &capability) {
  Products products;
  products.run_on = true;
  loop->walk([&](tile::MmaOp product) {
    const bool beside = is_beside_lanes(product, capability);
    products.beside_lanes |= beside;
    products.run_on &= beside && product->getBlock() == loop.getBody() && may_run_on(product, loop, feeds);
    products.operations.push_back(product);
  });
  SmallVector<Value> lasting;
  for (Feed feed : feeds) lasting.push_back(feed.allocation);
  if (!products.run_on)
    if (OverlapPlan plan = plan_overlap(loop, capability, lasting); !plan.empty()) products.overlapping = plan.early.back();
  return products;
}

class Pipeliner {
 public:
  Pipeliner(scf::ForOp loop, int stages, Products products, const Capability &capability)
      : loop_(loop), stages_(stages), ahead_turns_(products.last_longer() ? stages - 2 : stages - 1),
        products_(std::move(products)), capability_(capability), builder_(loop), location_(loop.getLoc()) {}

  // Null where a load depends on other loads or effects of the loop.
  bool run(std::vector<Feed> feeds) {
    feeds_ = std::move(feeds);
    copies_ = feeds_.front().width != 0;
    for (Feed &feed : feeds_)
      for (Value operand : feed.load->getOperands()) add_need(operand);
    if (!possible_) return false;
    for (Operation &operation : *loop_.getBody())
      if (needed_.contains(&operation)) ahead_.push_back(&operation);
    make_rings();
    make_prologue();
    make_loop();
    return true;
  }

 private:
  // What the loads of a later turn need of it: pure operations of the body, and carried values with what renews them.
  void add_need(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner() == loop_.getBody()) {
      if (argument == loop_.getInductionVar() || !carried_.insert(argument.getArgNumber() - 1)) return;
      return add_need(loop_.getYieldedValues()[argument.getArgNumber() - 1]);
    }
    Operation *operation = value.getDefiningOp();
    if (!operation || !loop_->isAncestor(operation)) return;
    if (operation->getBlock() != loop_.getBody() || operation->getNumRegions() != 0 || !isMemoryEffectFree(operation)) {
      possible_ = false;
      return;
    }
    if (!needed_.insert(operation).second) return;
    for (Value operand : operation->getOperands()) add_need(operand);
  }

  Value constant(int64_t number) {
    return arith::ConstantOp::create(builder_, location_, builder_.getI32IntegerAttr(int32_t(number)));
  }
  Value number_of(Type type, int64_t number) {
    return arith::ConstantOp::create(builder_, location_, builder_.getIntegerAttr(type, number));
  }

  void make_rings() {
    for (Feed &feed : feeds_) {
      tile::MemType one = feed.allocation.getType();
      auto ring = tile::MemType::get(one.getContext(), stages_, one.getShape(), one.getElement(), one.getEncoding(),
                                     one.getSpace());
      rings_.push_back(tile::AllocOp::create(builder_, feed.allocation.getLoc(), ring, Value(), IntegerAttr()));
    }
  }

  // Whether turn `turns` after the one of `variable` exists: the distance to the end as an unsigned number, which
  // cannot overflow where the variable is below the end.
  Value has_turn(Value variable, int turns) {
    Value left = arith::SubIOp::create(builder_, location_, loop_.getUpperBound(), variable);
    Value step = arith::MulIOp::create(builder_, location_, loop_.getStep(), number_of(variable.getType(), turns));
    return arith::CmpIOp::create(builder_, location_, arith::CmpIPredicate::ugt, left, step);
  }

  // The mask of a load in the turn that `values` maps to, where the turn is there at all.
  Value mask_of(tt::LoadOp load, IRMapping &values, Value condition) {
    auto pointers = cast<RankedTensorType>(load.getPtr().getType());
    auto type = RankedTensorType::get(pointers.getShape(), builder_.getI1Type(), pointers.getEncoding());
    Value all = tt::SplatOp::create(builder_, load.getLoc(), type, condition);
    if (!load.getMask()) return all;
    return arith::AndIOp::create(builder_, load.getLoc(), values.lookupOrDefault(load.getMask()), all);
  }

  Value view(const Feed &feed, Value ring, Value number) {
    tt::LoadOp load = feed.load;
    tile::AllocOp allocation = feed.allocation;
    return tile::ViewBufferOp::create(builder_, load.getLoc(), allocation.getType(), ring, number);
  }

  // Copies of the turn that `values` maps the loop's variable and carried values to, one group.
  void copy(IRMapping &values, Value condition, Value buffer) {
    for (Operation *operation : ahead_) builder_.clone(*operation, values);
    for (auto [feed, ring] : llvm::zip_equal(feeds_, rings_)) {
      Value mask = mask_of(feed.load, values, condition), memory = view(feed, ring, buffer);
      tile::CopyInOp::create(builder_, feed.load.getLoc(), tile::TokenType::get(loop_.getContext()),
                             values.lookupOrDefault(feed.load.getPtr()), mask, Value(), ValueRange(), Value(), Value(), memory,
                             tile::CopyKind::THREAD, feed.width);
    }
    tile::CommitOp::create(builder_, location_, tile::TokenType::get(loop_.getContext()), ValueRange());
  }

  void wait(int pending) {
    tile::WaitOp::create(builder_, location_, tile::TokenType::get(loop_.getContext()), ValueRange(), pending);
  }

  // The same through registers: a value for each feed, and where they go.
  SmallVector<Value> load(IRMapping &values, Value condition) {
    for (Operation *operation : ahead_) builder_.clone(*operation, values);
    SmallVector<Value> loaded;
    for (Feed &feed : feeds_) {
      Value mask = mask_of(feed.load, values, condition);
      auto made = cast<tt::LoadOp>(builder_.clone(*feed.load, values));
      made.getMaskMutable().assign(mask);
      loaded.push_back(made);
    }
    return loaded;
  }

  void store(ArrayRef<Value> loaded, Value buffer, bool ahead) {
    for (auto [feed, ring, value] : llvm::zip_equal(feeds_, rings_, loaded))
      tile::LocalStoreOp::create(builder_, feed.load.getLoc(), value, view(feed, ring, buffer), ahead);
  }

  void make_prologue() {
    Value variable = loop_.getLowerBound();
    Value any = arith::CmpIOp::create(builder_, location_,
                                      loop_.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt,
                                      variable, loop_.getUpperBound());
    for (unsigned index : carried_) first_.push_back(loop_.getInitArgs()[index]);
    for (int turn = 0; turn < ahead_turns_; ++turn) {
      Value condition = any;
      if (turn > 0) condition = arith::AndIOp::create(builder_, location_, any, has_turn(loop_.getLowerBound(), turn));
      IRMapping values = turn_at(variable, first_);
      if (copies_) copy(values, condition, constant(turn));
      else store(load(values, condition), constant(turn), false);
      first_ = renewed(values);
      variable = arith::AddIOp::create(builder_, location_, variable, loop_.getStep());
    }
  }

  // The loop's variable and carried values in another turn.
  IRMapping turn_at(Value variable, ValueRange carried) {
    IRMapping values;
    values.map(loop_.getInductionVar(), variable);
    for (auto [index, value] : llvm::zip_equal(carried_, carried)) values.map(loop_.getRegionIterArg(index), value);
    return values;
  }

  // The carried values of the turn behind it.
  SmallVector<Value> renewed(IRMapping &values) {
    SmallVector<Value> next;
    for (unsigned index : carried_) next.push_back(values.lookupOrDefault(loop_.getYieldedValues()[index]));
    return next;
  }

  // The same loop with the ahead values and the number of the buffer that is read as further carried values.
  void make_loop() {
    const unsigned count = carried_.size();
    SmallVector<Value> added = first_;
    added.push_back(constant(0));
    IRRewriter rewriter(builder_);
    auto keep = [](OpBuilder &, Location, ArrayRef<BlockArgument> arguments) {
      return SmallVector<Value>(arguments.begin(), arguments.end());  // renewed below
    };
    loop_ = cast<scf::ForOp>(*loop_.replaceWithAdditionalYields(rewriter, added, false, keep));
    ValueRange arguments = loop_.getRegionIterArgs().take_back(count + 1);
    builder_.setInsertionPointToStart(loop_.getBody());
    if (copies_) wait(ahead_turns_ - 1);
    if (products_.beside_lanes) tile::FenceOp::create(builder_, location_);
    Value read = arguments.back();
    if (products_.last_longer())
      builder_.setInsertionPointAfter(products_.overlapping ? products_.overlapping : products_.operations.back().getOperation());
    Value variable = loop_.getInductionVar();
    Value distance = arith::MulIOp::create(builder_, location_, loop_.getStep(), number_of(variable.getType(), ahead_turns_));
    Value later = arith::AddIOp::create(builder_, location_, variable, distance);
    IRMapping values = turn_at(later, arguments.drop_back());
    Operation *yield = loop_.getBody()->getTerminator();
    Value buffer = in_ring(read, ahead_turns_);
    if (copies_) {
      copy(values, has_turn(variable, ahead_turns_), buffer);
    } else {
      SmallVector<Value> loaded = load(values, has_turn(variable, ahead_turns_));
      OpBuilder::InsertionGuard guard(builder_);
      builder_.setInsertionPoint(yield);
      store(loaded, buffer, true);
    }
    SmallVector<Value> next = renewed(values);
    next.push_back(in_ring(read, 1));
    yield->setOperands(yield->getNumOperands() - count - 1, count + 1, next);
    read_rings(read);
    if (products_.run_on) let_products_run();
    builder_.setInsertionPointAfter(loop_);
    if (copies_) wait(0);
    loop_ = drop_unused_carried_values(loop_);
    if (products_.overlapping) overlap_products(loop_, plan_overlap(loop_, capability_));
  }

  // The number of the buffer `distance` (below the ring's size) behind `number`.
  Value in_ring(Value number, int distance) {
    Value last = constant(stages_ - 1 - distance), further = arith::AddIOp::create(builder_, location_, number, constant(distance));
    Value around = arith::SubIOp::create(builder_, location_, number, constant(stages_ - distance));
    Value inside = arith::CmpIOp::create(builder_, location_, arith::CmpIPredicate::sle, number, last);
    return arith::SelectOp::create(builder_, location_, inside, further, around);
  }

  // Products of a turn are waited for at the end of the next one, the last ones behind the loop.
  void let_products_run() {
    SmallVector<Value> sums;
    SmallVector<unsigned> places;
    Operation *yield = loop_.getBody()->getTerminator();
    for (tile::MmaOp product : products_.operations) {
      product.setAsync(true);
      sums.push_back(product.getResult());
      places.push_back(product.getResult().getUses().begin()->getOperandNumber());
    }
    builder_.setInsertionPoint(yield);
    auto wait = tile::MmaWaitOp::create(builder_, location_, TypeRange(ValueRange(sums)), int(sums.size()), sums);
    SmallVector<Value> results;
    for (auto [place, waited] : llvm::zip_equal(places, wait.getResults())) {
      yield->setOperand(place, waited);
      results.push_back(loop_.getResult(place));
    }
    builder_.setInsertionPointAfter(loop_);
    auto last = tile::MmaWaitOp::create(builder_, location_, TypeRange(ValueRange(results)), 0, results);
    for (auto [result, waited] : llvm::zip_equal(results, last.getResults())) result.replaceAllUsesExcept(waited, last);
  }

  void read_rings(Value number) {
    for (auto [feed, ring] : llvm::zip_equal(feeds_, rings_)) {
      builder_.setInsertionPoint(feed.allocation);
      feed.allocation.getResult().replaceAllUsesWith(
          tile::ViewBufferOp::create(builder_, feed.load.getLoc(), feed.allocation.getType(), ring, number));
      feed.allocation.erase();
      feed.load.erase();
    }
  }

  scf::ForOp loop_;
  const int stages_, ahead_turns_;
  Products products_;
  const Capability &capability_;
  OpBuilder builder_;
  Location location_;
  std::vector<Feed> feeds_;
  bool copies_ = true;  // asynchronous ones; false: through registers
  bool possible_ = true;
  llvm::SmallSetVector<unsigned, 8> carried_;  // numbers of carried values
  llvm::DenseSet<Operation *> needed_;
  SmallVector<Operation *> ahead_;
  SmallVector<Value> rings_, first_;  // first_: the carried values of the first turn that the loop itself copies
};

bool feeds_product(tile::AllocOp allocation) {
  return llvm::any_of(allocation->getUsers(), [](Operation *user) {
    return isa<tile::MmaOp>(user) || (isa<tile::ViewTransOp>(user) && llvm::any_of(user->getUsers(), llvm::IsaPred<tile::MmaOp>));
  });
}

// Whether every turn reads it: only then a barrier stands in each between the reads and stores of one buffer.
bool is_read_in_every_turn(tile::AllocOp allocation) {
  return llvm::any_of(allocation->getUsers(), [&](Operation *user) { return user->getBlock() == allocation->getBlock(); });
}

// Loads of the body itself, where nothing in the loop writes memory that they might read.
std::vector<Feed> feeds_of(scf::ForOp loop, const AxisInfoAnalysis &axis_info, const Capability &capability) {
  std::vector<Feed> feeds;
  bool writes = false;
  loop->walk([&](Operation *operation) {
    writes |= isa<tt::StoreOp, tt::AtomicRMWOp, tt::AtomicCASOp, tt::BarrierOp>(operation);
    auto load = dyn_cast<tt::LoadOp>(operation);
    writes |= load && load.getIsVolatile();
  });
  if (writes) return feeds;
  std::vector<Feed> through_registers;
  int64_t registers = 0;  // that a lane's elements of one turn take
  for (auto allocation : loop.getBody()->getOps<tile::AllocOp>()) {
    auto load = allocation.getInitial() ? allocation.getInitial().getDefiningOp<tt::LoadOp>() : tt::LoadOp();
    if (!load || load->getBlock() != loop.getBody() || !load->hasOneUse() || !feeds_product(allocation)) continue;
    if (is_read_in_every_turn(allocation)) {
      through_registers.push_back({load, allocation, 0});
      registers += tile::layout_of(load.getType()).input_size(Axis::reg);
    }
    if (!gives_zero_outside(load)) continue;  // copies fill with zeros
    if (int width = copy_width(load, allocation, axis_info, capability)) feeds.push_back({load, allocation, width});
  }
  // Elements that lie too narrowly for copies take a register each: no more than leave the sums theirs.
  constexpr int64_t most_registers = 64;
  if (feeds.empty() && (!capability.has_copy_async() || registers <= most_registers)) return through_registers;
  return feeds;
}

int64_t bytes_of(tile::AllocOp allocation) {
  return allocation.getType().all_elements() * element_bytes(allocation.getType().getElement());
}

struct Plan {
  scf::ForOp loop;
  std::vector<Feed> feeds;
  int64_t memory = 0;  // bytes needed while the loop runs, the feeds' with one buffer each
  int64_t of_feeds = 0;
  SmallVector<unsigned> around;  // plans of loops around or inside this one

  Plan(scf::ForOp loop, std::vector<Feed> feeds, tt::FuncOp function, const Capability &capability)
      : loop(loop), feeds(std::move(feeds)) {
    for (const Feed &feed : this->feeds) of_feeds += bytes_of(feed.allocation);
    function.walk([&](tile::AllocOp allocation) {
      if (loop->isAncestor(allocation) || allocation->getParentRegion()->isAncestor(loop->getParentRegion()))
        memory += bytes_of(allocation);
    });
    int64_t scratch = 0;
    loop->walk([&](Operation *operation) {
      int64_t bytes = 0;
      for (const Scratch &part : scratch_of(operation, capability)) bytes += part.elements * element_bytes(part.element);
      scratch = std::max(scratch, bytes);
    });
    memory += 2 * scratch;  // that of one operation may still be read where the next one's is written
  }
};

// As deep as asked for and as memory lets it be.
int stages_of(const Plan &plan, const Products &products, const Capability &capability, const GpuOptions &options) {
  auto own = scf::ForOp(plan.loop)->getAttrOfType<IntegerAttr>("tt.num_stages");
  int stages = own ? int(own.getInt()) : options.stages ? options.stages : products.run_on ? 4 : 3;
  if (plan.feeds.front().width == 0) stages = std::min(stages, 2);  // registers hold one turn
  while (stages > 1 && plan.memory + (stages - 1) * plan.of_feeds > capability.shared_bytes) --stages;
  return stages;
}

}  // namespace

LogicalResult pipeline_loops(tt::FuncOp function, const Capability &capability, const GpuOptions &options) {
  AxisInfoAnalysis axis_info(function);
  std::vector<Plan> plans;
  function.walk([&](scf::ForOp loop) {
    if (auto feeds = feeds_of(loop, axis_info, capability); !feeds.empty())
      plans.emplace_back(loop, std::move(feeds), function, capability);
  });
  for (Plan &plan : plans)
    for (auto [number, other] : llvm::enumerate(plans))
      if (&other != &plan && (plan.loop->isAncestor(other.loop) || other.loop->isAncestor(plan.loop))) plan.around.push_back(number);
  for (Plan &plan : plans) {
    Products products = products_of(plan.loop, plan.feeds, capability);
    const int stages = stages_of(plan, products, capability, options);
    if (stages < 2) continue;
    if (stages == 2) products.run_on = false, products.overlapping = nullptr;
    if (!Pipeliner(plan.loop, stages, std::move(products), capability).run(plan.feeds)) continue;
    for (unsigned other : plan.around) plans[other].memory += (stages - 1) * plan.of_feeds;
  }
  return success();
}

}  // namespace teeny::compiler::gpu
