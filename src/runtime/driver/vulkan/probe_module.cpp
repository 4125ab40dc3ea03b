#include "runtime/driver/vulkan/probe_module.hpp"

#include <initializer_list>
#include <string_view>

namespace teeny::runtime::vulkan {

namespace {

// Opcodes, operands and their numbers are those of the SPIR-V specification.
enum Op : std::uint32_t {
  op_ext_import = 11, op_ext_inst = 12, op_memory_model = 14, op_entry_point = 15, op_execution_mode = 16, op_capability = 17,
  op_type_void = 19, op_type_int = 21, op_type_float = 22, op_type_vector = 23, op_type_struct = 30, op_type_pointer = 32,
  op_type_function = 33, op_constant = 43, op_function = 54, op_function_end = 56, op_variable = 59, op_load = 61,
  op_store = 62, op_access_chain = 65, op_decorate = 71, op_member_decorate = 72, op_composite_construct = 80,
  op_composite_extract = 81, op_u_convert = 113, op_f_convert = 115, op_convert_u_to_ptr = 120, op_bitcast = 124,
  op_i_add = 128, op_i_mul = 132, op_f_div = 136, op_label = 248, op_return = 253,
};
constexpr std::uint32_t magic = 0x07230203, version_1_5 = 0x00010500;
constexpr std::uint32_t capability_shader = 1, capability_float16 = 9, capability_float64 = 10, capability_int64 = 11;
constexpr std::uint32_t capability_addresses = 5347, addressing_64 = 5348, glsl450 = 1, compute = 5;
constexpr std::uint32_t storage_input = 1, storage_push_constant = 9, storage_physical = 5349;
constexpr std::uint32_t decoration_block = 2, decoration_built_in = 11, decoration_offset = 35, no_contraction = 42;
constexpr std::uint32_t global_invocation = 28, mode_local_size = 17, mode_rounds_to_even = 4462, mode_keeps_denormals = 4459;
constexpr std::uint32_t capability_denormals = 4464, capability_rounding = 4467;
constexpr std::uint32_t glsl_sqrt = 31, glsl_fma = 50, aligned = 2;

class Writer {
 public:
  std::uint32_t id() { return next_++; }
  void put(Op op, std::initializer_list<std::uint32_t> operands) { put_named(op, operands, {}, {}); }
  void put_named(Op op, std::initializer_list<std::uint32_t> before, std::string_view name,
                 std::initializer_list<std::uint32_t> after) {
    const std::size_t start = words_.size();
    words_.push_back(op);
    words_.insert(words_.end(), before);
    if (!name.empty()) {
      for (std::size_t i = 0; i <= name.size() / 4; ++i) {
        std::uint32_t word = 0;
        for (std::size_t j = 0; j < 4 && i * 4 + j < name.size(); ++j)
          word |= static_cast<std::uint32_t>(static_cast<unsigned char>(name[i * 4 + j])) << (8 * j);
        words_.push_back(word);
      }
    }
    words_.insert(words_.end(), after);
    words_[start] |= static_cast<std::uint32_t>(words_.size() - start) << 16;
  }
  // An operation with a result.
  std::uint32_t make(Op op, std::uint32_t type, std::initializer_list<std::uint32_t> operands) {
    return make(op, type, id(), operands);
  }
  std::uint32_t make(Op op, std::uint32_t type, std::uint32_t result, std::initializer_list<std::uint32_t> operands) {
    const std::size_t start = words_.size();
    words_.push_back(op);
    words_.push_back(type);
    words_.push_back(result);
    words_.insert(words_.end(), operands);
    words_[start] |= static_cast<std::uint32_t>(words_.size() - start) << 16;
    return result;
  }
  std::uint32_t type(Op op, std::initializer_list<std::uint32_t> operands) {
    const std::uint32_t result = id();
    const std::size_t start = words_.size();
    words_.push_back(op);
    words_.push_back(result);
    words_.insert(words_.end(), operands);
    words_[start] |= static_cast<std::uint32_t>(words_.size() - start) << 16;
    return result;
  }
  std::vector<std::uint32_t> finish() {
    words_[3] = next_;
    return std::move(words_);
  }

 private:
  std::vector<std::uint32_t> words_{magic, version_1_5, 0, 0, 0};
  std::uint32_t next_ = 1;
};

struct Types {
  std::uint32_t word, long_word, f32, f64 = 0, pair = 0, f16 = 0, half_pair = 0, word_pointer, long_pointer;
};

class Probe {
 public:
  explicit Probe(const support::VulkanFeatures& features) : features_(features) {}

  std::vector<std::uint32_t> write() {
    main_ = w_.id();
    arguments_ = w_.id();
    invocation_ = w_.id();
    quotient_ = w_.id();
    glsl_ = w_.id();
    block_ = w_.id();
    write_head();
    write_types();
    write_body();
    return w_.finish();
  }

 private:
  void write_head() {
    for (std::uint32_t capability : {capability_shader, capability_int64, capability_addresses}) w_.put(op_capability, {capability});
    if (features_.f64) w_.put(op_capability, {capability_float64});
    if (features_.f16) w_.put(op_capability, {capability_float16});
    if (features_.keep_denormals) w_.put(op_capability, {capability_denormals});
    if (features_.round_even) w_.put(op_capability, {capability_rounding});
    w_.put_named(op_ext_import, {glsl_}, "GLSL.std.450", {});
    w_.put(op_memory_model, {addressing_64, glsl450});
    w_.put_named(op_entry_point, {compute, main_}, "main", {arguments_, invocation_});
    w_.put(op_execution_mode, {main_, mode_local_size, probe_threads, 1, 1});
    if (features_.keep_denormals) w_.put(op_execution_mode, {main_, mode_keeps_denormals, 32});
    if (features_.round_even) w_.put(op_execution_mode, {main_, mode_rounds_to_even, 32});
    w_.put(op_decorate, {invocation_, decoration_built_in, global_invocation});
    w_.put(op_decorate, {block_, decoration_block});
    w_.put(op_member_decorate, {block_, 0, decoration_offset, 0});
    w_.put(op_member_decorate, {block_, 1, decoration_offset, 8});
    w_.put(op_decorate, {quotient_, no_contraction});
  }

  void write_types() {
    void_ = w_.type(op_type_void, {});
    function_ = w_.type(op_type_function, {void_});
    t_.word = w_.type(op_type_int, {32, 0});
    t_.long_word = w_.type(op_type_int, {64, 0});
    t_.f32 = w_.type(op_type_float, {32});
    if (features_.f64) t_.f64 = w_.type(op_type_float, {64});
    if (features_.f16) {
      t_.f16 = w_.type(op_type_float, {16});
      t_.half_pair = w_.type(op_type_vector, {t_.f16, 2});
    }
    triple_ = w_.type(op_type_vector, {t_.word, 3});
    w_.put(op_type_struct, {block_, t_.long_word, t_.long_word});
    const std::uint32_t block_pointer = w_.type(op_type_pointer, {storage_push_constant, block_});
    argument_pointer_ = w_.type(op_type_pointer, {storage_push_constant, t_.long_word});
    const std::uint32_t triple_pointer = w_.type(op_type_pointer, {storage_input, triple_});
    t_.long_pointer = w_.type(op_type_pointer, {storage_physical, t_.long_word});
    for (std::uint32_t i = 0; i < 2; ++i) index_[i] = w_.make(op_constant, t_.word, {i});
    w_.make(op_variable, block_pointer, arguments_, {storage_push_constant});
    w_.make(op_variable, triple_pointer, invocation_, {storage_input});
    for (std::uint32_t i = 0; i < 8; ++i) offset_[i] = w_.make(op_constant, t_.long_word, {i * 8, 0});
    input_bytes_ = w_.make(op_constant, t_.long_word, {probe_inputs * 8, 0});
    output_bytes_ = w_.make(op_constant, t_.long_word, {probe_results * 8, 0});
  }

  std::uint32_t base(std::uint32_t argument, std::uint32_t number, std::uint32_t bytes) {
    const std::uint32_t pointer = w_.make(op_access_chain, argument_pointer_, {arguments_, index_[argument]});
    const std::uint32_t address = w_.make(op_load, t_.long_word, {pointer});
    return w_.make(op_i_add, t_.long_word, {address, w_.make(op_i_mul, t_.long_word, {number, bytes})});
  }
  std::uint32_t pointer_to(std::uint32_t base, unsigned place) {
    const std::uint32_t address = w_.make(op_i_add, t_.long_word, {base, offset_[place]});
    return w_.make(op_convert_u_to_ptr, t_.long_pointer, {address});
  }
  void store(std::uint32_t base, ProbeResult result, std::uint32_t value) {
    w_.put(op_store, {pointer_to(base, result), value, aligned, 8});
  }
  std::uint32_t widened(std::uint32_t word) { return w_.make(op_u_convert, t_.long_word, {word}); }
  std::uint32_t bits_of(std::uint32_t f32) { return widened(w_.make(op_bitcast, t_.word, {f32})); }

  void write_body() {
    w_.make(op_function, void_, main_, {0, function_});
    w_.type(op_label, {});
    const std::uint32_t ids = w_.make(op_load, triple_, {invocation_});
    const std::uint32_t number = widened(w_.make(op_composite_extract, t_.word, {ids, 0}));
    const std::uint32_t from = base(0, number, input_bytes_), to = base(1, number, output_bytes_);
    std::uint32_t bits[probe_inputs], word[probe_inputs], x[probe_inputs];
    for (unsigned i = 0; i < probe_inputs; ++i) {
      bits[i] = w_.make(op_load, t_.long_word, {pointer_to(from, i), aligned, 8});
      word[i] = w_.make(op_u_convert, t_.word, {bits[i]});
      x[i] = w_.make(op_bitcast, t_.f32, {word[i]});
    }
    store(to, probe_fma, bits_of(w_.make(op_ext_inst, t_.f32, {glsl_, glsl_fma, x[0], x[1], x[2]})));
    store(to, probe_quotient, bits_of(w_.make(op_f_div, t_.f32, quotient_, {x[0], x[1]})));
    store(to, probe_root, bits_of(w_.make(op_ext_inst, t_.f32, {glsl_, glsl_sqrt, x[0]})));
    if (features_.f64) {
      std::uint32_t y[probe_inputs];
      for (unsigned i = 0; i < probe_inputs; ++i) y[i] = w_.make(op_bitcast, t_.f64, {bits[i]});
      const std::uint32_t fused = w_.make(op_ext_inst, t_.f64, {glsl_, glsl_fma, y[0], y[1], y[2]});
      store(to, probe_fma64, w_.make(op_bitcast, t_.long_word, {fused}));
    }
    if (features_.f16) {
      const std::uint32_t half = w_.make(op_f_convert, t_.f16, {x[0]});
      const std::uint32_t both = w_.make(op_composite_construct, t_.half_pair, {half, half});
      store(to, probe_to_f16, widened(w_.make(op_bitcast, t_.word, {both})));
      const std::uint32_t given = w_.make(op_composite_extract, t_.f16, {w_.make(op_bitcast, t_.half_pair, {word[1]}), 0});
      store(to, probe_from_f16, bits_of(w_.make(op_f_convert, t_.f32, {given})));
    }
    w_.put(op_return, {});
    w_.put(op_function_end, {});
  }

  const support::VulkanFeatures& features_;
  Writer w_;
  Types t_{};
  std::uint32_t main_ = 0, arguments_ = 0, invocation_ = 0, quotient_ = 0, glsl_ = 0, block_ = 0;
  std::uint32_t void_ = 0, function_ = 0, triple_ = 0, argument_pointer_ = 0;
  std::uint32_t index_[2] = {}, offset_[8] = {}, input_bytes_ = 0, output_bytes_ = 0;
};

}  // namespace

std::vector<std::uint32_t> probe_module(const support::VulkanFeatures& features) { return Probe(features).write(); }

}  // namespace teeny::runtime::vulkan
