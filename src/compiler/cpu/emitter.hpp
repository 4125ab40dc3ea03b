// The state of one function's emission. Methods stand in files by subject: emitter.cpp (entry, scalars, arena),
// evaluate.cpp (expressions), affine.cpp (strides and bounds of masks), access.cpp (loads and stores), nest.cpp
// (loops), reduce.cpp (roots, reductions, scans), control.cpp, memory.cpp (atomics, assertions, printing), matrix.cpp.
//
// A tensor is evaluated at Coordinates: one index a dimension, at most one of which runs over lanes. Evaluation happens
// at the loop level that its coordinates need, so that what is uniform along an inner loop is emitted before that loop.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>

#include "compiler/cpu/cpu.hpp"
#include "compiler/cpu/elementwise.hpp"
#include "compiler/cpu/plan.hpp"

namespace teeny::compiler::cpu {

struct DotPlan;

// An index (i64) in one dimension: one number for all lanes; `lane`: the number of lane 0, lane l has l more; `spread`:
// a vector with any number a lane. `level` is the loop level that computes it.
struct Coordinate {
  enum Kind : std::uint8_t { uniform, lane, spread };
  llvm::Value* value = nullptr;
  Kind kind = uniform;
  unsigned level = 0;
  bool moved = false;  // a reshape counts lanes from another place than its result does
};

struct Coordinates {
  llvm::SmallVector<Coordinate, 4> dimensions;
  unsigned width = 1;  // lanes
  unsigned level() const;
  int lane() const;  // the dimension of kind lane, or -1
  bool has_lanes() const;
};

// origin + stride * (index along the lane dimension): an integer in its own type, or a pointer with the stride in
// bytes. The stride is an i64.
struct Affine {
  llvm::Value* origin = nullptr;
  llvm::Value* stride = nullptr;
};

// A tensor in the arena, row major.
struct Buffer {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  mlir::Type element;
  llvm::SmallVector<std::int64_t, 4> shape;
};

// What a root does in its nest. A row is one run of the lane dimension; slots are the independent chunks of an unrolled
// loop.
struct NestBody {
  virtual ~NestBody() = default;
  virtual void before() {}  // ahead of all loops
  virtual void begin_row(const Coordinates&) {}
  virtual void chunk(const Coordinates& at, unsigned slot) = 0;
  virtual void end_row(const Coordinates&) {}
  virtual void after() {}
};

struct Nest {
  llvm::SmallVector<std::int64_t, 4> shape;
  int lane = -1;  // -1: every element by itself
  unsigned width = 1;
  unsigned unroll = 1;
  llvm::SmallVector<mlir::Value, 4> expressions;  // whose masks may bound the loop, over `shape`
  llvm::SmallVector<mlir::Value, 2> masks;        // masks of stores, over `shape`
  llvm::SmallVector<tt::StoreOp, 2> streams;      // stores that had better be non-temporal
};

class Emitter {
 public:
  Emitter(tt::FuncOp function, const CpuTarget& target, const CpuOptions& options, llvm::Module& module);
  CpuMetadata run();

 private:
  friend struct AtLevel;
  friend struct StoreBody;
  friend struct CopyBody;
  friend struct FoldBody;
  friend struct AtomicBody;
  friend struct AssertBody;
  friend struct MaterialiseBody;
  friend struct LaneReduceBody;
  friend struct CrossReduceBody;

  using Key = std::pair<void*, unsigned>;
  struct Level {
    llvm::BasicBlock* preheader = nullptr;  // its terminator enters this level's loop
    std::map<Key, llvm::Value*> values;
    std::map<Key, std::optional<Affine>> affine;
  };

  // emitter.cpp
  void emit_entry();
  void begin_debug_info();
  void emit_grid_loop();
  void emit_region(mlir::Region& region);
  void emit_block(mlir::Block& block);
  void emit_operation(mlir::Operation& operation);
  void emit_scalar(mlir::Operation& operation);
  void emit_group(const Group& group);
  llvm::Value* scalar(mlir::Value value);
  llvm::Value* variable(llvm::Type* type, const char* name);  // an alloca in the entry block
  Buffer& allocate(mlir::Value value);
  Buffer allocate(mlir::Type element, llvm::ArrayRef<std::int64_t> shape);
  void release(const Buffer& buffer);
  std::uint64_t allocate_bytes(std::uint64_t bytes);
  void release_bytes(std::uint64_t offset, std::uint64_t bytes);
  llvm::BasicBlock* block(const char* name);
  llvm::Type* value_type_of(mlir::Value value);
  void set_location(mlir::Operation* operation);
  llvm::ConstantInt* index(std::int64_t value) { return builder_.getInt64(value); }

  // evaluate.cpp
  llvm::Value* evaluate(mlir::Value value, const Coordinates& at);
  llvm::Value* compute(mlir::Value value, const Coordinates& at);
  llvm::Value* compute_range(tt::MakeRangeOp range, const Coordinates& at);
  llvm::Value* compute_constant(mlir::arith::ConstantOp constant, const Coordinates& at);
  llvm::Value* compute_elementwise(mlir::OpResult result, const Coordinates& at);
  llvm::Value* read_buffer(const Buffer& buffer, const Coordinates& at);
  void write_buffer(const Buffer& buffer, llvm::Value* value, const Coordinates& at);
  // The coordinates of operand 0 of a shape operation.
  Coordinates source_coordinates(mlir::Operation* operation, const Coordinates& at);
  Coordinates reshape_coordinates(llvm::ArrayRef<std::int64_t> from, llvm::ArrayRef<std::int64_t> to,
                                  const Coordinates& at);
  Coordinates canonical(const Coordinates& at, llvm::ArrayRef<std::int64_t> shape);
  unsigned intern(const Coordinates& at, bool without_lane);
  llvm::Value* lane_indices(const Coordinate& coordinate, unsigned width);
  // A region of scalar operations on values of any one lane count.
  llvm::SmallVector<llvm::Value*, 2> combine(mlir::Block& region, llvm::ArrayRef<llvm::Value*> left,
                                             llvm::ArrayRef<llvm::Value*> right);

  // access.cpp
  std::optional<Affine> affine(mlir::Value value, const Coordinates& at);
  std::optional<Affine> compute_affine(mlir::Value value, const Coordinates& at);
  std::optional<Affine> affine_arithmetic(mlir::Operation* operation, const Coordinates& at);
  Affine buffer_address(const Buffer& buffer, const Coordinates& at);
  llvm::Value* lane_address(const Affine& address, const Coordinates& at);
  // How far, from index 0 along the lane dimension, the mask is known to be true: an i64, or null when nothing is
  // known.
  llvm::Value* true_prefix(mlir::Value mask, const Coordinates& row, std::int64_t extent);
  llvm::Value* comparison_prefix(mlir::arith::CmpIOp compare, const Coordinates& row, std::int64_t extent);
  llvm::Value* load_memory(mlir::Type element, std::optional<Affine> address, std::function<llvm::Value*()> pointers,
                           llvm::Value* mask, llvm::Value* other, const Coordinates& at);
  void store_memory(mlir::Type element, std::optional<Affine> address, std::function<llvm::Value*()> pointers,
                    llvm::Value* value, llvm::Value* mask, const Coordinates& at, bool streaming);
  llvm::Value* gather(llvm::Type* element, llvm::Value* pointers, llvm::Value* mask, llvm::Value* other);
  llvm::Value* to_memory(llvm::Value* value, mlir::Type element);
  llvm::Value* from_memory(llvm::Value* value, mlir::Type element);
  llvm::Value* load_scalar(mlir::Type element, llvm::Value* pointer, llvm::Value* mask, llvm::Value* other);
  llvm::Value* emit_load(tt::LoadOp load, const Coordinates& at);
  void emit_store(tt::StoreOp store, const Coordinates& at, bool streaming);
  bool streams(tt::StoreOp store);
  llvm::Value* streaming_condition(const Nest& nest, const Coordinates& row);

  // nest.cpp
  void emit_nest(const Nest& nest, llvm::ArrayRef<NestBody*> bodies);
  void emit_rows(const Nest& nest, unsigned dimension, Coordinates at, llvm::ArrayRef<NestBody*> bodies);
  void emit_row(const Nest& nest, Coordinates at, llvm::ArrayRef<NestBody*> bodies);
  void emit_chunks(const Nest& nest, const Coordinates& row, llvm::Value* start, unsigned width, unsigned count,
                   llvm::ArrayRef<NestBody*> bodies, bool full);
  void emit_full_groups(const Nest& nest, const Coordinates& row, llvm::Value* end, llvm::ArrayRef<NestBody*> bodies);
  llvm::Value* full_prefix(const Nest& nest, const Coordinates& row);
  void find_masks(mlir::Value value, const Coordinates& at);
  void add_mask(mlir::Value mask, const Coordinates& at);
  // for (i = low; i < high; i += step) body(i): rotated; runs the body in a new level.
  void loop(llvm::Value* low, llvm::Value* high, std::uint64_t step, const std::function<void(llvm::Value*)>& body);
  int choose_lane(llvm::ArrayRef<std::int64_t> shape, llvm::ArrayRef<mlir::Value> expressions);
  using Voted = std::set<std::pair<const void*, std::vector<int>>>;
  void vote(mlir::Value value, llvm::ArrayRef<int> dimensions, llvm::MutableArrayRef<int> votes, Voted& voted);
  unsigned lanes_for(llvm::ArrayRef<mlir::Value> expressions);
  Nest make_nest(llvm::ArrayRef<std::int64_t> shape, llvm::ArrayRef<mlir::Value> expressions);

  // reduce.cpp
  std::unique_ptr<NestBody> reduce_body(tt::ReduceOp reduce, const Nest& nest);
  std::unique_ptr<NestBody> make_body(const Root& root, const Nest& nest);
  void run_group(const Group& group);
  void emit_tree_reduce(tt::ReduceOp reduce);
  void emit_scan(tt::ScanOp scan);
  void bind_reduced(tt::ReduceOp reduce, const Coordinates& row, llvm::ArrayRef<llvm::Value*> values);

  // control.cpp
  void emit_for(mlir::scf::ForOp loop);
  void emit_if(mlir::scf::IfOp branch);
  void emit_while(mlir::scf::WhileOp loop);
  void emit_branch(mlir::Operation& operation);
  void materialise(mlir::Value value, const Buffer& destination);
  // Gives each target (a scalar's variable or a tensor's buffer) its value, all read before any is written.
  void assign(mlir::ValueRange values, mlir::ValueRange targets);
  void declare(mlir::ValueRange values);
  void share(mlir::ValueRange aliases, mlir::ValueRange values);
  void copy_buffer(const Buffer& from, const Buffer& to);
  void load_variables(mlir::ValueRange values);

  // memory.cpp
  void emit_atomic(mlir::Operation& operation);
  llvm::Value* atomic_update(tt::AtomicRMWOp atomic, llvm::Value* pointer, llvm::Value* value);
  llvm::Value* compare_exchange_loop(llvm::Value* pointer, mlir::Type element, llvm::AtomicOrdering order,
                                     const std::function<llvm::Value*(llvm::Value*)>& update);
  void emit_assert(tt::AssertOp operation);
  void emit_print(tt::PrintOp operation);
  llvm::Value* text_constant(llvm::StringRef text);

  // matrix.cpp
  void emit_dot(tt::DotOp dot);
  std::optional<Buffer> carried_accumulator(tt::DotOp dot);
  llvm::Value* operand_elements(mlir::Value operand, Coordinates at, unsigned inner, llvm::Value* start, unsigned lanes,
                                unsigned valid);
  void pack_operand(const DotPlan& plan, mlir::Value operand, const Coordinates& batch, llvm::Value* destination,
                    bool is_a);
  void convert_accumulator(mlir::Value value, const Buffer& wide);
  void convert_buffer(const Buffer& wide, const Buffer& narrow);

  tt::FuncOp function_;
  CpuTarget target_;
  CpuOptions options_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  Builder builder_;
  Plan plan_;

  llvm::Function* entry_ = nullptr;
  llvm::BasicBlock* allocas_ = nullptr;
  llvm::BasicBlock* next_program_ = nullptr;  // where a returning program goes
  llvm::BasicBlock* finish_ = nullptr;        // where the entry returns
  llvm::Value* arena_ = nullptr;
  llvm::Value* context_argument_ = nullptr;
  llvm::Value* program_ = nullptr;  // linear id, i64
  llvm::Value* program_ids_[3] = {};
  llvm::Value* grid_[3] = {};

  llvm::DenseMap<mlir::Value, llvm::Value*> values_;     // scalars
  llvm::DenseMap<mlir::Value, llvm::Value*> variables_;  // scalars that control flow carries: their allocas
  llvm::DenseMap<mlir::Value, Buffer> buffers_;          // stored tensors
  llvm::DenseSet<mlir::Value> borrowed_;                 // stored in another value's buffer
  llvm::DISubprogram* subprogram_ = nullptr;
  llvm::DenseMap<mlir::Block*, llvm::BasicBlock*> blocks_;
  llvm::DenseMap<mlir::Operation*, std::uint32_t> numbers_;  // pre-order

  std::vector<Level> levels_;
  std::map<std::vector<std::uintptr_t>, unsigned> coordinate_ids_;
  std::set<Key> visited_;
  std::vector<std::pair<mlir::Value, Coordinates>> masks_;  // found by find_masks, in the coordinates of a row

  std::vector<std::pair<std::uint64_t, std::uint64_t>> free_;  // offset, bytes; sorted
  std::uint64_t arena_top_ = 0, arena_bytes_ = 0;
  bool streaming_ = false;  // the chunks being emitted store past the cache
  bool streams_ = false;    // a non-temporal store was emitted
};

// Whether a value grows by one from element to element along a dimension, as far as its operations say.
bool unit_stride(mlir::Value value, unsigned dimension);

// Puts the builder where values of a level are computed, until it goes out of scope.
struct AtLevel {
  AtLevel(Emitter& emitter, unsigned level) : emitter_(emitter), outer_(level + 1 < emitter.levels_.size()) {
    if (!outer_) return;
    saved_ = emitter.builder_.saveIP();
    emitter.builder_.SetInsertPoint(emitter.levels_[level + 1].preheader->getTerminator());
  }
  // At the innermost level evaluation may go on in new blocks, where the builder then stays.
  ~AtLevel() {
    if (outer_) emitter_.builder_.restoreIP(saved_);
  }
  AtLevel(const AtLevel&) = delete;
  AtLevel& operator=(const AtLevel&) = delete;

  Emitter& emitter_;
  bool outer_;
  Builder::InsertPoint saved_;
};

}  // namespace teeny::compiler::cpu
