#include <algorithm>

#include <llvm/IR/Intrinsics.h>

#include "compiler/cpu/dot_emit.hpp"

namespace teeny::compiler::cpu {

namespace {

enum class Side : std::uint8_t { a, b };

// Emits the loops that bring one operand into packed form. Everything moves in registers of words, either `lanes` words
// along k of one row (or column), or one word each of `lanes` neighbouring rows (or columns).
class PackEmitter {
 public:
  PackEmitter(llvm::IRBuilderBase& builder, const DotPlan& plan, Side side, llvm::Value* destination, DotInner inner,
              DotElements elements, llvm::Value* other_used, llvm::Value* k_used)
      : builder_(builder),
        plan_(plan),
        side_(side),
        destination_(destination),
        inner_(inner),
        elements_(elements),
        other_used_(other_used),
        k_used_(emit_word_count(builder, plan, k_used)),
        lanes_(plan.lanes) {
    word_vector_ = llvm::FixedVectorType::get(word_type(builder.getContext(), plan), static_cast<unsigned>(lanes_));
  }

  void pack_a();
  void pack_b();

 private:
  using Words = llvm::SmallVector<llvm::Value*, 16>;

  llvm::Value* constant(std::int64_t value) { return builder_.getInt64(static_cast<std::uint64_t>(value)); }
  std::int64_t extent_other() const { return side_ == Side::a ? plan_.shape.m : plan_.shape.n; }
  llvm::Value* fetch(llvm::Value* other, llvm::Value* k, unsigned count, unsigned valid);
  llvm::Value* convert(llvm::Value* value);
  llvm::Value* words_along_k(llvm::Value* other, llvm::Value* word, unsigned valid_elements);
  llvm::Value* words_across(llvm::Value* other, llvm::Value* word, unsigned valid, unsigned valid_k);
  Words transposed(Words rows);
  void for_word_blocks(llvm::function_ref<void(llvm::Value* first_word, unsigned valid_elements)> body);
  void for_words(llvm::function_ref<void(llvm::Value* word, unsigned valid_k)> body);
  void store(llvm::Value* value, llvm::Value* offset);
  void pack_a_across();
  void pack_b_rows();
  void pack_b_columns();
  void compensate();
  Words column_sums(llvm::Value* panel, std::int64_t size);

  llvm::IRBuilderBase& builder_;
  const DotPlan& plan_;
  Side side_;
  llvm::Value* destination_;
  DotInner inner_;
  DotElements elements_;
  llvm::Value *other_used_, *k_used_;  // k in words
  std::int64_t lanes_;
  llvm::Type* word_vector_;
};

// `count` elements that start at (other, k) along inner, in the packed element type; those from `valid` on are 0.
llvm::Value* PackEmitter::fetch(llvm::Value* other, llvm::Value* k, unsigned count, unsigned valid) {
  llvm::Value* row = side_ == Side::a ? other : k;
  llvm::Value* column = side_ == Side::a ? k : other;
  llvm::Value* value = elements_(builder_, row, column, count, valid);
  if (valid < count) {
    llvm::SmallVector<llvm::Constant*, 64> inside;
    for (unsigned lane = 0; lane < count; ++lane) inside.push_back(builder_.getInt1(lane < valid));
    // As integers: a target without arithmetic on halves would convert them for a select.
    llvm::Type* type = value->getType();
    llvm::Type* bits = llvm::FixedVectorType::get(builder_.getIntNTy(type->getScalarSizeInBits()), count);
    value = builder_.CreateSelect(llvm::ConstantVector::get(inside), builder_.CreateBitCast(value, bits),
                                  llvm::Constant::getNullValue(bits));
    value = builder_.CreateBitCast(value, type);
  }
  return convert(value);
}

// tf32: 13 bits fewer, to nearest, ties away from zero; infinities stay, and NaNs must not lose their payload's only
// bit.
llvm::Value* round_to_tf32(llvm::IRBuilderBase& builder, llvm::Value* value) {
  auto* type = llvm::cast<llvm::FixedVectorType>(value->getType());
  llvm::Type* bits_type = llvm::FixedVectorType::get(builder.getInt32Ty(), type->getNumElements());
  llvm::Value* bits = builder.CreateBitCast(value, bits_type);
  llvm::Value* half = llvm::ConstantInt::get(bits_type, 0x1000);
  llvm::Value* mask = llvm::ConstantInt::get(bits_type, 0xFFFFE000u);
  llvm::Value* rounded = builder.CreateBitCast(builder.CreateAnd(builder.CreateAdd(bits, half), mask), type);
  return builder.CreateSelect(builder.CreateFCmpUNO(value, value), value, rounded);
}

llvm::Value* PackEmitter::convert(llvm::Value* value) {
  const DType from = side_ == Side::a ? plan_.shape.a : plan_.shape.b;
  const DType to = side_ == Side::a ? plan_.packed_a : plan_.packed_b;
  const unsigned count = llvm::cast<llvm::FixedVectorType>(value->getType())->getNumElements();
  llvm::Type* type = llvm::FixedVectorType::get(element_type(builder_.getContext(), to), count);
  if (is_float(from)) {
    if (plan_.shape.precision == DotPrecision::fast && from == DType::f32 && to == DType::f32)
      value = round_to_tf32(builder_, value);
    return emit_float_cast(builder_, plan_.target, value, type);
  }
  if (side_ == Side::a && plan_.compensate) return builder_.CreateXor(value, llvm::ConstantInt::get(type, 0x80));
  return is_signed_integer(from) ? builder_.CreateSExtOrTrunc(value, type) : builder_.CreateZExtOrTrunc(value, type);
}

llvm::Value* PackEmitter::words_along_k(llvm::Value* other, llvm::Value* word, unsigned valid_elements) {
  llvm::Value* k = builder_.CreateMul(word, constant(plan_.group));
  const auto count = static_cast<unsigned>(lanes_ * plan_.group);
  return builder_.CreateBitCast(fetch(other, k, count, valid_elements), word_vector_);
}

// One word of each of `lanes` neighbours: the group's rows are interleaved.
llvm::Value* PackEmitter::words_across(llvm::Value* other, llvm::Value* word, unsigned valid, unsigned valid_k) {
  llvm::Value* k = builder_.CreateMul(word, constant(plan_.group));
  Words parts;
  for (unsigned i = 0; i < static_cast<unsigned>(plan_.group); ++i) {
    if (i < valid_k) {
      parts.push_back(fetch(other, builder_.CreateAdd(k, constant(i)), static_cast<unsigned>(lanes_), valid));
    } else {
      llvm::Value* zero = llvm::Constant::getNullValue(parts[0]->getType());
      // A biased operand's zero is 128, but b's is 0 there, and any value will do against it.
      parts.push_back(zero);
    }
  }
  while (parts.size() > 1) {
    // Interleaving halves that are `size / 2` apart, twice for quads, leaves neighbours in order.
    const std::size_t half = parts.size() / 2;
    Words merged;
    for (std::size_t i = 0; i < half; ++i) {
      const unsigned count = llvm::cast<llvm::FixedVectorType>(parts[i]->getType())->getNumElements();
      llvm::SmallVector<int, 64> order;
      for (unsigned lane = 0; lane < count; ++lane)
        order.append({static_cast<int>(lane), static_cast<int>(lane + count)});
      merged.push_back(builder_.CreateShuffleVector(parts[i], parts[i + half], order));
    }
    parts = std::move(merged);
  }
  return builder_.CreateBitCast(parts[0], word_vector_);
}

// lanes x lanes words: blocks of half the size change places across the diagonal, down to single words.
PackEmitter::Words PackEmitter::transposed(Words rows) {
  const int lanes = static_cast<int>(lanes_);
  for (int distance = lanes / 2; distance; distance /= 2) {
    llvm::SmallVector<int, 16> low, high;
    for (int lane = 0; lane < lanes; ++lane) {
      const bool second = lane & distance;
      low.push_back(second ? lanes + lane - distance : lane);
      high.push_back(second ? lanes + lane : lane + distance);
    }
    for (int row = 0; row < lanes; ++row) {
      if (row & distance) continue;
      llvm::Value *first = rows[static_cast<std::size_t>(row)],
                  *second = rows[static_cast<std::size_t>(row + distance)];
      rows[static_cast<std::size_t>(row)] = builder_.CreateShuffleVector(first, second, low);
      rows[static_cast<std::size_t>(row + distance)] = builder_.CreateShuffleVector(first, second, high);
    }
  }
  return rows;
}

// Blocks of `lanes` words along k; the last of the block may be short.
void PackEmitter::for_word_blocks(llvm::function_ref<void(llvm::Value*, unsigned)> body) {
  const std::int64_t elements = lanes_ * plan_.group, full = plan_.shape.k / elements;
  const auto rest = static_cast<unsigned>(plan_.shape.k % elements);
  if (full) {
    const DotSegment blocks{lanes_, full, 0, 0};
    emit_loop(builder_, emit_piece_count(builder_, blocks, 1, k_used_), "pack.k", [&](llvm::Value* index) {
      body(builder_.CreateMul(index, constant(lanes_)), static_cast<unsigned>(elements));
    });
  }
  if (!rest) return;
  emit_loop(builder_, emit_piece_count(builder_, {lanes_, 1, full * lanes_, 0}, 1, k_used_), "pack.k.rest",
            [&](llvm::Value*) { body(constant(full * lanes_), rest); });
}

// Single words along k; the last word of the block may hold fewer than `group` elements.
void PackEmitter::for_words(llvm::function_ref<void(llvm::Value*, unsigned)> body) {
  const std::int64_t full = plan_.shape.k / plan_.group;
  if (full) {
    emit_loop(builder_, emit_piece_count(builder_, {1, full, 0, 0}, 1, k_used_), "pack.k",
              [&](llvm::Value* word) { body(word, static_cast<unsigned>(plan_.group)); });
  }
  if (full == plan_.k_words) return;
  emit_loop(builder_, emit_piece_count(builder_, {1, 1, full, 0}, 1, k_used_), "pack.k.rest",
            [&](llvm::Value*) { body(constant(full), static_cast<unsigned>(plan_.shape.k % plan_.group)); });
}

void PackEmitter::store(llvm::Value* value, llvm::Value* offset) {
  builder_.CreateAlignedStore(value, emit_address(builder_, destination_, offset),
                              llvm::Align(static_cast<std::uint64_t>(plan_.target.vector_bytes)));
}

void PackEmitter::pack_a() {
  // The row tile that holds the last used row is read whole.
  llvm::Value* rows = builder_.CreateBinaryIntrinsic(
      llvm::Intrinsic::smin, builder_.CreateAdd(other_used_, constant(plan_.rows.first - 1)), constant(plan_.shape.m));
  if (inner_ == DotInner::other) {
    other_used_ = rows;
    return pack_a_across();
  }
  emit_loop(builder_, rows, "pack.a", [&](llvm::Value* row) {
    llvm::Value* line = builder_.CreateMul(row, constant(plan_.a_row_bytes));
    for_word_blocks([&](llvm::Value* word, unsigned valid) {
      llvm::Value* value = words_along_k(row, word, valid);
      store(value, builder_.CreateAdd(line, builder_.CreateMul(word, constant(plan_.word_bytes))));
    });
  });
}

void PackEmitter::pack_a_across() {
  const auto pack_rows = [&](llvm::Value* first_row, unsigned valid_rows) {
    for_word_blocks([&](llvm::Value* word, unsigned valid_elements) {
      Words across;
      for (std::int64_t i = 0; i < lanes_; ++i) {
        const std::int64_t left = static_cast<std::int64_t>(valid_elements) - i * plan_.group;
        if (left <= 0) {
          across.push_back(llvm::Constant::getNullValue(word_vector_));
          continue;
        }
        const auto valid_k = static_cast<unsigned>(std::min<std::int64_t>(left, plan_.group));
        across.push_back(words_across(first_row, builder_.CreateAdd(word, constant(i)), valid_rows, valid_k));
      }
      const Words rows = transposed(std::move(across));
      for (unsigned i = 0; i < valid_rows; ++i) {
        llvm::Value* line = builder_.CreateMul(builder_.CreateAdd(first_row, constant(i)), constant(plan_.a_row_bytes));
        store(rows[i], builder_.CreateAdd(line, builder_.CreateMul(word, constant(plan_.word_bytes))));
      }
    });
  };
  const std::int64_t full = plan_.shape.m / lanes_;
  if (full) {
    emit_loop(builder_, emit_piece_count(builder_, {lanes_, full, 0, 0}, 1, other_used_), "pack.a",
              [&](llvm::Value* index) {
                pack_rows(builder_.CreateMul(index, constant(lanes_)), static_cast<unsigned>(lanes_));
              });
  }
  const auto rest = static_cast<unsigned>(plan_.shape.m % lanes_);
  if (!rest) return;
  emit_loop(builder_, emit_piece_count(builder_, {lanes_, 1, full * lanes_, 0}, 1, other_used_), "pack.a.rest",
            [&](llvm::Value*) { pack_rows(constant(full * lanes_), rest); });
}

void PackEmitter::pack_b() {
  inner_ == DotInner::other ? pack_b_rows() : pack_b_columns();
  if (plan_.compensate) compensate();
}

// A row of the block is read from end to end, as memory likes it, and spread over all panels.
void PackEmitter::pack_b_rows() {
  const std::int64_t vector_bytes = plan_.target.vector_bytes;
  for_words([&](llvm::Value* word, unsigned valid_k) {
    for (const DotSegment& panels : panel_segments(plan_)) {
      emit_loop(builder_, emit_piece_count(builder_, panels, lanes_, other_used_), "pack.b", [&](llvm::Value* index) {
        llvm::Value* vectors =
            builder_.CreateAdd(builder_.CreateMul(index, constant(panels.size)), constant(panels.start));
        llvm::Value* offset = builder_.CreateAdd(builder_.CreateMul(vectors, constant(plan_.k_words * vector_bytes)),
                                                 builder_.CreateMul(word, constant(panels.size * vector_bytes)));
        for (std::int64_t vector = 0; vector < panels.size; ++vector) {
          const bool edge = panels.tail && vector == panels.size - 1;
          llvm::Value* column = builder_.CreateMul(builder_.CreateAdd(vectors, constant(vector)), constant(lanes_));
          llvm::Value* value = words_across(column, word, edge ? panels.tail : static_cast<unsigned>(lanes_), valid_k);
          store(value, builder_.CreateAdd(offset, constant(vector * vector_bytes)));
        }
      });
    }
  });
}

// Columns are contiguous along k: squares of words are transposed.
void PackEmitter::pack_b_columns() {
  const std::int64_t vector_bytes = plan_.target.vector_bytes;
  for (const DotSegment& panels : panel_segments(plan_)) {
    const auto pack_vector = [&](llvm::Value* panel_vectors, llvm::Value* vector, unsigned valid_columns) {
      llvm::Value* first = builder_.CreateMul(builder_.CreateAdd(panel_vectors, vector), constant(lanes_));
      llvm::Value* base = builder_.CreateAdd(builder_.CreateMul(panel_vectors, constant(plan_.k_words * vector_bytes)),
                                             builder_.CreateMul(vector, constant(vector_bytes)));
      for_word_blocks([&](llvm::Value* word, unsigned valid_elements) {
        Words columns;
        for (unsigned i = 0; i < static_cast<unsigned>(lanes_); ++i) {
          columns.push_back(i < valid_columns
                                ? words_along_k(builder_.CreateAdd(first, constant(i)), word, valid_elements)
                                : llvm::Constant::getNullValue(word_vector_));
        }
        const Words rows = transposed(std::move(columns));
        for (std::int64_t i = 0; i < lanes_ && i * plan_.group < static_cast<std::int64_t>(valid_elements); ++i) {
          llvm::Value* line =
              builder_.CreateMul(builder_.CreateAdd(word, constant(i)), constant(panels.size * vector_bytes));
          store(rows[static_cast<std::size_t>(i)], builder_.CreateAdd(base, line));
        }
      });
    };
    emit_loop(builder_, emit_piece_count(builder_, panels, lanes_, other_used_), "pack.b", [&](llvm::Value* index) {
      llvm::Value* vectors =
          builder_.CreateAdd(builder_.CreateMul(index, constant(panels.size)), constant(panels.start));
      const std::int64_t full = panels.size - (panels.tail ? 1 : 0);
      emit_loop(builder_, constant(full), "pack.b.vector",
                [&](llvm::Value* vector) { pack_vector(vectors, vector, static_cast<unsigned>(lanes_)); });
      if (panels.tail) pack_vector(vectors, constant(full), panels.tail);
    });
  }
}

// Behind the panels, 128 * (sum of each column of b): what the bias of a adds.
void PackEmitter::compensate() {
  const std::int64_t vector_bytes = plan_.target.vector_bytes;
  const std::int64_t all = (plan_.shape.n + lanes_ - 1) / lanes_ * plan_.k_words * vector_bytes;
  for (const DotSegment& panels : panel_segments(plan_)) {
    emit_loop(builder_, emit_piece_count(builder_, panels, lanes_, other_used_), "pack.sums", [&](llvm::Value* index) {
      llvm::Value* vectors =
          builder_.CreateAdd(builder_.CreateMul(index, constant(panels.size)), constant(panels.start));
      llvm::Value* panel =
          emit_address(builder_, destination_, builder_.CreateMul(vectors, constant(plan_.k_words * vector_bytes)));
      llvm::Value* offset = builder_.CreateAdd(builder_.CreateMul(vectors, constant(vector_bytes)), constant(all));
      const Words sums = column_sums(panel, panels.size);
      for (std::int64_t vector = 0; vector < panels.size; ++vector) {
        store(sums[static_cast<std::size_t>(vector)], builder_.CreateAdd(offset, constant(vector * vector_bytes)));
      }
    });
  }
}

// 128 times the sum of every column of a panel of `size` registers, in registers while k goes by. No k used: of no
// meaning.
PackEmitter::Words PackEmitter::column_sums(llvm::Value* panel, std::int64_t size) {
  const std::int64_t vector_bytes = plan_.target.vector_bytes;
  llvm::Value* bias = llvm::ConstantInt::get(word_vector_, 0x80808080u);
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::Function* function = before->getParent();
  llvm::BasicBlock* loop =
      llvm::BasicBlock::Create(builder_.getContext(), "pack.sums.k", function, before->getNextNode());
  llvm::BasicBlock* after =
      llvm::BasicBlock::Create(builder_.getContext(), "pack.sums.end", function, loop->getNextNode());
  after->splice(after->end(), before, builder_.GetInsertPoint(), before->end());
  after->replaceSuccessorsPhiUsesWith(before, after);
  builder_.SetInsertPoint(before);
  builder_.CreateBr(loop);
  builder_.SetInsertPoint(loop);
  llvm::PHINode* word = builder_.CreatePHI(builder_.getInt64Ty(), 2);
  word->addIncoming(constant(0), before);
  Words carried, sums;
  for (std::int64_t vector = 0; vector < size; ++vector) carried.push_back(builder_.CreatePHI(word_vector_, 2));
  llvm::Value* line = emit_address(builder_, panel, builder_.CreateMul(word, constant(size * vector_bytes)));
  for (std::int64_t vector = 0; vector < size; ++vector) {
    llvm::Value* words =
        builder_.CreateAlignedLoad(word_vector_, emit_address(builder_, line, constant(vector * vector_bytes)),
                                   llvm::Align(static_cast<std::uint64_t>(vector_bytes)));
    auto* sum = llvm::cast<llvm::PHINode>(carried[static_cast<std::size_t>(vector)]);
    sums.push_back(emit_product(builder_, plan_, sum, bias, words));
    sum->addIncoming(llvm::Constant::getNullValue(word_vector_), before);
    sum->addIncoming(sums.back(), loop);
  }
  llvm::Value* next = builder_.CreateAdd(word, constant(1), "", true, true);
  word->addIncoming(next, loop);
  builder_.CreateCondBr(builder_.CreateICmpSLT(next, k_used_), loop, after);
  builder_.SetInsertPoint(after, after->begin());
  return sums;
}

}  // namespace

void emit_pack_a(llvm::IRBuilderBase& builder, const DotPlan& plan, llvm::Value* destination, DotInner inner,
                 DotElements elements, llvm::Value* m_used, llvm::Value* k_used) {
  PackEmitter(builder, plan, Side::a, destination, inner, elements, m_used, k_used).pack_a();
}

void emit_pack_b(llvm::IRBuilderBase& builder, const DotPlan& plan, llvm::Value* destination, DotInner inner,
                 DotElements elements, llvm::Value* n_used, llvm::Value* k_used) {
  PackEmitter(builder, plan, Side::b, destination, inner, elements, n_used, k_used).pack_b();
}

}  // namespace teeny::compiler::cpu
