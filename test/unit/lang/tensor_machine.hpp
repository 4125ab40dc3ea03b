// Runs a recorded body on whole tensors, slowly: what the operations mean, written once more from their descriptions.
// Shares no code with the compiler, and needs none.
#pragma once

#include <utility>

#include "tensor_arithmetic.hpp"

namespace tensor_machine {

class Machine {
 public:
  Machine(const Body& body, std::vector<Memory*> buffers)
      : body_(body), buffers_(std::move(buffers)), values_(body.types.size()) {}

  // One argument a parameter: a buffer takes the next of the buffers; numbers are given as double.
  void run(const std::vector<double>& numbers, std::int64_t grid_x, std::int64_t grid_y = 1) {
    grid_[0] = grid_x, grid_[1] = grid_y, grid_[2] = 1;
    for (program_[1] = 0; program_[1] < grid_y; ++program_[1])
      for (program_[0] = 0; program_[0] < grid_x; ++program_[0]) {
        std::size_t number = 0, buffer = 0;
        for (const ValueId id : body_.parameters) {
          Value& value = values_[id] = {};
          if (type(id).form == Type::Form::pointer) value.i = {static_cast<std::int64_t>(buffer++) << 40};
          else if (is_float(id)) value.f = {rounded(type(id).dtype, numbers.at(number++))};
          else value.i = {static_cast<std::int64_t>(numbers.at(number++))};
        }
        region(body_.region);
      }
  }

 private:
  const Type& type(ValueId id) const { return body_.types[id]; }
  bool is_float(ValueId id) const { return type(id).form == Type::Form::element && teeny::is_float(type(id).dtype); }
  std::size_t count(ValueId id) const {
    std::size_t n = 1;
    for (const std::int64_t size : type(id).shape) n *= static_cast<std::size_t>(size);
    return n;
  }
  const Value& get(ValueId id) const { return values_[id]; }

  std::vector<Value> region(const Region& region) {
    for (const Operation& operation : region.operations) {
      if (operation.opcode == Opcode::yield || operation.opcode == Opcode::condition) {
        std::vector<Value> out;
        for (const ValueId id : operation.operands) out.push_back(get(id));
        return out;
      }
      execute(operation);
    }
    return {};
  }

  void execute(const Operation& o) {
    switch (info(o.opcode).kind) {
      case Kind::leaf: return leaf(o);
      case Kind::shape: return shape(o);
      case Kind::unary: return unary(o);
      case Kind::binary:
      case Kind::comparison:
      case Kind::ternary: return element_wise(o);
      case Kind::memory: return memory(o);
      case Kind::matrix: return dot(o);
      case Kind::region: return fold(o);
      case Kind::control: return control(o);
      case Kind::hint:
        if (o.opcode == Opcode::assume) require(get(o.operands[0]).i[0], "an assumption is false");
        else values_[o.results[0]] = get(o.operands[0]);
        return;
      case Kind::debug:
        if (o.opcode == Opcode::device_assert)
          for (std::size_t k = 0; k < count(o.operands[0]); ++k)
            require(get(o.operands[0]).i[k] || (o.operands.size() == 2 && !get(o.operands[1]).i[k]),
                    "an assertion is false");
        return;
    }
  }
  static void require(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(what);
  }

  void leaf(const Operation& o) {
    Value& out = values_[o.results[0]] = {};
    if (o.opcode == Opcode::program_id) out.i = {program_[o.integers[0]]};
    if (o.opcode == Opcode::num_programs) out.i = {grid_[o.integers[0]]};
    if (o.opcode == Opcode::arange)
      for (std::int64_t k = o.integers[0]; k < o.integers[1]; ++k) out.i.push_back(k);
    if (o.opcode != Opcode::constant) return;
    const std::uint64_t bits = static_cast<std::uint64_t>(o.integers[0]);
    switch (type(o.results[0]).dtype) {
      case DType::f64: out.f = {std::bit_cast<double>(bits)}; break;
      case DType::f32: out.f = {std::bit_cast<float>(static_cast<std::uint32_t>(bits))}; break;
      case DType::f16: out.f = {teeny::half::from_bits(static_cast<std::uint16_t>(bits))}; break;
      case DType::bf16: out.f = {teeny::bfloat16::from_bits(static_cast<std::uint16_t>(bits))}; break;
      default: out.i = {wrapped(type(o.results[0]).dtype, o.integers[0])};
    }
  }

  // Element k of the result is element source(k) of the operand.
  template <class Source>
  void gather(const Operation& o, Source source) {
    const Value& in = get(o.operands[0]);
    Value out;
    for (std::size_t k = 0; k < count(o.results[0]); ++k) {
      const std::size_t from = source(k);
      if (in.f.empty()) out.i.push_back(in.i.at(from));
      else out.f.push_back(in.f.at(from));
    }
    values_[o.results[0]] = std::move(out);
  }
  static std::vector<std::int64_t> position(std::size_t k, const std::vector<std::int64_t>& shape) {
    std::vector<std::int64_t> at(shape.size());
    for (std::size_t d = shape.size(); d-- > 0;) {
      at[d] = static_cast<std::int64_t>(k) % shape[d];
      k /= static_cast<std::size_t>(shape[d]);
    }
    return at;
  }
  void shape(const Operation& o) {
    const std::vector<std::int64_t>&from = type(o.operands[0]).shape, &to = type(o.results[0]).shape;
    if (o.opcode == Opcode::splat) return gather(o, [](std::size_t) { return 0; });
    if (o.opcode == Opcode::expand_dims || o.opcode == Opcode::reshape)
      return gather(o, [](std::size_t k) { return k; });
    gather(o, [&](std::size_t k) {
      const std::vector<std::int64_t> at = position(k, to);
      std::vector<std::int64_t> source(from.size());
      for (std::size_t d = 0; d < at.size(); ++d) {
        if (o.opcode == Opcode::trans) source[o.integers[d]] = at[d];
        else source[d] = from[d] == 1 ? 0 : at[d];
      }
      std::size_t index = 0;
      for (std::size_t d = 0; d < from.size(); ++d)
        index = index * static_cast<std::size_t>(from[d]) + static_cast<std::size_t>(source[d]);
      return index;
    });
  }

  void unary(const Operation& o) {
    const ValueId x = o.operands[0];
    const DType from = type(x).dtype, to = type(o.results[0]).dtype;
    Value out;
    for (std::size_t k = 0; k < count(x); ++k) {
      if (o.opcode == Opcode::cast) cast(from, to, get(x), k, out);
      else if (o.opcode == Opcode::bitcast) bitcast(from, to, get(x), k, out);
      else if (is_float(x)) out.f.push_back(rounded(to, function(o.opcode, get(x).f[k])));
      else if (from == DType::boolean) out.i.push_back(!get(x).i[k]);
      else {
        const std::int64_t v = get(x).i[k];
        const auto negative = static_cast<std::int64_t>(std::uint64_t{0} - static_cast<std::uint64_t>(v));
        out.i.push_back(wrapped(to, o.opcode == Opcode::bit_not        ? ~v
                                    : o.opcode == Opcode::neg || v < 0 ? negative
                                                                       : v));
      }
    }
    values_[o.results[0]] = std::move(out);
  }
  void element_wise(const Operation& o) {
    Value out;
    const ValueId a = o.operands[0], b = o.operands[1];
    const DType to = type(o.results[0]).dtype;
    for (std::size_t k = 0; k < count(a); ++k) {
      if (o.opcode == Opcode::addptr) {
        out.i.push_back(get(a).i[k] + get(b).i[k]);
      } else if (o.opcode == Opcode::where) {
        const Value& side = get(o.operands[get(a).i[k] ? 1 : 2]);
        side.f.empty() ? out.i.push_back(side.i[k]) : out.f.push_back(side.f[k]);
      } else if (info(o.opcode).kind == Kind::comparison) {
        out.i.push_back(is_float(a)                   ? compare(o.opcode, get(a).f[k], get(b).f[k])
                        : type(a).dtype == DType::u64 ? compare(o.opcode, static_cast<std::uint64_t>(get(a).i[k]),
                                                                static_cast<std::uint64_t>(get(b).i[k]))
                                                      : compare(o.opcode, get(a).i[k], get(b).i[k]));
      } else if (o.opcode == Opcode::fma) {
        out.f.push_back(rounded(to, std::fma(get(a).f[k], get(b).f[k], get(o.operands[2]).f[k])));
      } else if (o.opcode == Opcode::clamp) {
        const double x = get(a).f[k], low = get(b).f[k], high = get(o.operands[2]).f[k];
        out.f.push_back(std::isnan(x) ? (o.integers[0] ? x : low) : std::fmin(std::fmax(x, low), high));
      } else if (is_float(a)) {
        out.f.push_back(rounded(to, of_floats(o, get(a).f[k], get(b).f[k])));
      } else {
        out.i.push_back(wrapped(to, of_integers(o.opcode, to, get(a).i[k], get(b).i[k])));
      }
    }
    values_[o.results[0]] = std::move(out);
  }
  Memory& buffer(std::int64_t pointer) { return *buffers_.at(static_cast<std::size_t>(pointer >> 40)); }
  static std::size_t index(std::int64_t pointer) {
    return static_cast<std::size_t>(pointer & ((std::int64_t{1} << 40) - 1));
  }
  void read(std::int64_t pointer, Value& out) {
    Memory& from = buffer(pointer);
    if (from.floats.empty()) out.i.push_back(from.integers.at(index(pointer)));
    else out.f.push_back(from.floats.at(index(pointer)));
  }
  void write(std::int64_t pointer, const Value& value, std::size_t k) {
    Memory& to = buffer(pointer);
    if (to.floats.empty()) to.integers.at(index(pointer)) = value.i.at(k);
    else to.floats.at(index(pointer)) = value.f.at(k);
  }
  // What `pad` says where there is nothing to read.
  static void pad(Value& out, bool is_float, double value) {
    if (is_float) out.f.push_back(value);
    else out.i.push_back(static_cast<std::int64_t>(value));
  }

  void memory(const Operation& o) {
    switch (o.opcode) {
      case Opcode::load: return load(o);
      case Opcode::store: {
        const Value& pointers = get(o.operands[0]);
        for (std::size_t k = 0; k < pointers.i.size(); ++k)
          if (!o.integers[0] || get(o.operands[2]).i[k]) write(pointers.i[k], get(o.operands[1]), k);
        return;
      }
      case Opcode::make_descriptor: {
        Value out;
        for (const ValueId id : o.operands) out.i.push_back(get(id).i[0]);
        out.f = {o.integers[0] ? std::numeric_limits<double>::quiet_NaN() : 0.0};
        values_[o.results[0]] = out;
        return;
      }
      case Opcode::descriptor_load:
      case Opcode::descriptor_store: return descriptor(o);
      case Opcode::atomic_rmw:
      case Opcode::atomic_cas: return atomic(o);
      default: return;
    }
  }
  void load(const Operation& o) {
    const Value pointers = get(o.operands[0]);
    Value out;
    for (std::size_t k = 0; k < pointers.i.size(); ++k) {
      if (!o.integers[0] || get(o.operands[1]).i[k]) {
        read(pointers.i[k], out);
      } else if (o.integers[1]) {
        const Value& other = get(o.operands[2]);
        other.f.empty() ? out.i.push_back(other.i[k]) : out.f.push_back(other.f[k]);
      } else {
        pad(out, is_float(o.results[0]), 0);
      }
    }
    values_[o.results[0]] = std::move(out);
  }
  void descriptor(const Operation& o) {
    const bool stores = o.opcode == Opcode::descriptor_store;
    const Value described = get(o.operands[0]);
    const std::vector<std::int64_t>& block = type(o.operands[0]).shape;
    const std::size_t rank = block.size(), first = stores ? 2 : 1;
    Value out;
    std::size_t elements = 1;
    for (const std::int64_t size : block) elements *= static_cast<std::size_t>(size);
    for (std::size_t k = 0; k < elements; ++k) {
      const std::vector<std::int64_t> at = position(k, block);
      std::int64_t pointer = described.i[0];
      bool inside = true;
      for (std::size_t d = 0; d < rank; ++d) {
        const std::int64_t where = get(o.operands[first + d]).i[0] + at[d];
        inside = inside && where >= 0 && where < described.i[1 + d];
        pointer += where * described.i[1 + rank + d];
      }
      if (stores && inside) write(pointer, get(o.operands[1]), k);
      else if (!stores && inside) read(pointer, out);
      else if (!stores) pad(out, is_float(o.results[0]), described.f[0]);
    }
    if (!stores) values_[o.results[0]] = std::move(out);
  }
  void atomic(const Operation& o) {
    const Value pointers = get(o.operands[0]);
    const DType dtype = type(o.operands[0]).dtype;
    Value out;
    for (std::size_t k = 0; k < pointers.i.size(); ++k) {
      const bool swap = o.opcode == Opcode::atomic_cas;
      if (!swap && o.integers[3] && !get(o.operands[2]).i[k]) {
        pad(out, teeny::is_float(dtype), 0);
        continue;
      }
      Value old;
      read(pointers.i[k], old);
      Value fresh = old;
      if (swap) {
        if (old.f.empty() ? old.i[0] == get(o.operands[1]).i[k] : old.f[0] == get(o.operands[1]).f[k])
          fresh = old.f.empty() ? Value{{}, {get(o.operands[2]).i[k]}} : Value{{get(o.operands[2]).f[k]}, {}};
      } else if (old.f.empty()) {
        constexpr Opcode as[] = {Opcode::add,     Opcode::maximum, Opcode::minimum,
                                 Opcode::bit_and, Opcode::bit_or,  Opcode::bit_xor};
        const std::int64_t v = get(o.operands[1]).i[k];
        fresh.i[0] = o.integers[0] == 6 ? v : wrapped(dtype, of_integers(as[o.integers[0]], dtype, old.i[0], v));
      } else {
        const double v = get(o.operands[1]).f[k], x = old.f[0];
        fresh.f[0] = o.integers[0] == 0   ? rounded(dtype, x + v)
                     : o.integers[0] == 1 ? std::fmax(x, v)
                     : o.integers[0] == 2 ? std::fmin(x, v)
                                          : v;
      }
      write(pointers.i[k], fresh, 0);
      old.f.empty() ? out.i.push_back(old.i[0]) : out.f.push_back(old.f[0]);
    }
    values_[o.results[0]] = std::move(out);
  }

  void dot(const Operation& o) {
    const Value &a = get(o.operands[0]), &b = get(o.operands[1]);
    Value out = get(o.operands[2]);
    const std::vector<std::int64_t>& shape = type(o.operands[0]).shape;
    const std::size_t rank = shape.size(), batches = rank == 3 ? static_cast<std::size_t>(shape[0]) : 1;
    const auto m = static_cast<std::size_t>(shape[rank - 2]), depth = static_cast<std::size_t>(shape[rank - 1]);
    const auto n = static_cast<std::size_t>(type(o.operands[1]).shape[rank - 1]);
    for (std::size_t p = 0; p < batches; ++p)
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < n; ++j)
          for (std::size_t k = 0; k < depth; ++k) {
            const std::size_t x = (p * m + i) * depth + k, y = (p * depth + k) * n + j, z = (p * m + i) * n + j;
            if (out.f.empty()) out.i[z] += a.i[x] * b.i[y];
            else out.f[z] += a.f[x] * b.f[y];
          }
    for (double& v : out.f) v = rounded(type(o.results[0]).dtype, v);
    values_[o.results[0]] = std::move(out);
  }

  static Value pick(const Value& from, std::size_t k) {
    return from.f.empty() ? Value{{}, {from.i[k]}} : Value{{from.f[k]}, {}};
  }
  static void put(Value& to, std::size_t k, const Value& one) {
    if (one.f.empty()) to.i.at(k) = one.i[0];
    else to.f.at(k) = one.f[0];
  }
  // Folds along the axis from the first element on, or from the last.
  void fold(const Operation& o) {
    const std::vector<std::int64_t> shape = type(o.operands[0]).shape;
    const auto axis = static_cast<std::size_t>(o.integers[0]);
    const bool scans = o.opcode == Opcode::scan, reverse = scans && o.integers[1];
    std::size_t outer = 1, inner = 1;
    const auto length = static_cast<std::size_t>(shape[axis]);
    for (std::size_t d = 0; d < axis; ++d) outer *= static_cast<std::size_t>(shape[d]);
    for (std::size_t d = axis + 1; d < shape.size(); ++d) inner *= static_cast<std::size_t>(shape[d]);
    std::vector<Value> in, out;
    for (std::size_t r = 0; r < o.operands.size(); ++r) {
      in.push_back(get(o.operands[r]));
      const std::size_t size = count(o.results[r]);
      out.push_back(is_float(o.results[r]) ? Value{std::vector<double>(size), {}}
                                           : Value{{}, std::vector<std::int64_t>(size)});
    }
    const Region& combine = o.regions[0];
    for (std::size_t p = 0; p < outer; ++p)
      for (std::size_t q = 0; q < inner; ++q) {
        std::vector<Value> running;
        for (std::size_t s = 0; s < length; ++s) {
          const std::size_t at = (p * length + (reverse ? length - 1 - s : s)) * inner + q;
          for (std::size_t r = 0; r < in.size(); ++r) {
            if (s > 0) values_[combine.arguments[r]] = running[r];
            values_[combine.arguments[in.size() + r]] = pick(in[r], at);
          }
          if (s == 0) {
            for (const Value& one : in) running.push_back(pick(one, at));
          } else {
            running = region(combine);
          }
          for (std::size_t r = 0; r < in.size(); ++r) put(out[r], scans ? at : p * inner + q, running[r]);
        }
      }
    for (std::size_t r = 0; r < out.size(); ++r) values_[o.results[r]] = std::move(out[r]);
  }

  void control(const Operation& o) {
    std::vector<Value> carried;
    if (o.opcode == Opcode::if_else) {
      carried = region(o.regions[get(o.operands[0]).i[0] ? 0 : 1]);
    } else if (o.opcode == Opcode::for_loop) {
      for (std::size_t k = 3; k < o.operands.size(); ++k) carried.push_back(get(o.operands[k]));
      const std::int64_t upper = get(o.operands[1]).i[0], step = get(o.operands[2]).i[0];
      for (std::int64_t k = get(o.operands[0]).i[0]; k < upper; k += step) {
        values_[o.regions[0].arguments[0]] = {{}, {k}};
        for (std::size_t c = 0; c < carried.size(); ++c) values_[o.regions[0].arguments[c + 1]] = carried[c];
        carried = region(o.regions[0]);
      }
    } else {
      for (const ValueId id : o.operands) carried.push_back(get(id));
      for (int turn = 0;; ++turn) {
        require(turn < 100000, "a loop does not end");
        for (std::size_t c = 0; c < carried.size(); ++c) values_[o.regions[0].arguments[c]] = carried[c];
        carried = region(o.regions[0]);
        const bool go_on = carried.at(0).i[0];
        carried.erase(carried.begin());
        if (!go_on) break;
        for (std::size_t c = 0; c < carried.size(); ++c) values_[o.regions[1].arguments[c]] = carried[c];
        carried = region(o.regions[1]);
      }
    }
    for (std::size_t c = 0; c < carried.size(); ++c) values_[o.results[c]] = carried[c];
  }

  const Body& body_;
  std::vector<Memory*> buffers_;
  std::vector<Value> values_;
  std::int64_t grid_[3] = {1, 1, 1}, program_[3] = {0, 0, 0};
};

}  // namespace tensor_machine
