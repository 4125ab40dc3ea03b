// Runs the trace of a kernel of scalars: i32, i64, u32, bool and f32 values of rank 0, one memory of 32-bit words. It
// shares no code with the compiler or the interpreter.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "lang/trace.hpp"

namespace evaluate {

using namespace teeny::trace;
using teeny::DType;

class Machine {
 public:
  Machine(const Body& body, std::vector<std::uint32_t>& memory)
      : body_(body), memory_(memory), values_(body.types.size()) {}

  // Pointers are word indices.
  void run(const std::vector<std::uint64_t>& arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) values_[body_.parameters.at(i)] = arguments[i];
    region(body_.region);
  }

 private:
  std::uint64_t get(ValueId id) const { return values_[id]; }
  DType type(ValueId id) const { return body_.types[id].dtype; }
  static std::uint64_t narrow(DType type, std::uint64_t bits) {
    const int width = teeny::bits_of(type);
    return width == 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
  }
  std::int64_t whole(ValueId id) const {
    const std::uint64_t bits = get(id);
    if (type(id) == DType::i32) return static_cast<std::int32_t>(bits);
    return static_cast<std::int64_t>(bits);
  }
  float real(ValueId id) const { return std::bit_cast<float>(static_cast<std::uint32_t>(get(id))); }

  // Executes to the terminator, whose operands' values it returns.
  std::vector<std::uint64_t> region(const Region& region) {
    for (const Operation& operation : region.operations) {
      if (operation.opcode == Opcode::yield || operation.opcode == Opcode::condition) {
        std::vector<std::uint64_t> out;
        for (const ValueId id : operation.operands) out.push_back(get(id));
        return out;
      }
      execute(operation);
    }
    return {};
  }

  void execute(const Operation& o) {
    if (++steps_ > 1000000) throw std::runtime_error("the program does not end");
    const auto set = [&](std::uint64_t bits) { values_[o.results[0]] = narrow(type(o.results[0]), bits); };
    switch (o.opcode) {
      case Opcode::constant: return set(static_cast<std::uint64_t>(o.integers[0]));
      case Opcode::program_id: return set(0);
      case Opcode::addptr:
        values_[o.results[0]] = get(o.operands[0]) + static_cast<std::uint64_t>(whole(o.operands[1]));
        return;
      case Opcode::load: values_[o.results[0]] = memory_.at(get(o.operands[0])); return;
      case Opcode::store: memory_.at(get(o.operands[0])) = static_cast<std::uint32_t>(get(o.operands[1])); return;
      case Opcode::atomic_rmw: {
        std::uint32_t& word = memory_.at(get(o.operands[0]));
        const std::uint32_t old = word;
        word = o.integers[0] == 0 ? word + static_cast<std::uint32_t>(get(o.operands[1]))
                                  : static_cast<std::uint32_t>(get(o.operands[1]));
        return set(old);
      }
      case Opcode::cast: return cast(o);
      case Opcode::where: return set(get(o.operands[0]) ? get(o.operands[1]) : get(o.operands[2]));
      case Opcode::bit_not: return set(~get(o.operands[0]));
      case Opcode::neg:
        return set(type(o.operands[0]) == DType::f32 ? std::bit_cast<std::uint32_t>(-real(o.operands[0]))
                                                     : 0 - get(o.operands[0]));
      case Opcode::if_else: {
        const std::vector<std::uint64_t> out = region(o.regions[get(o.operands[0]) ? 0 : 1]);
        for (std::size_t i = 0; i < out.size(); ++i) values_[o.results[i]] = out[i];
        return;
      }
      case Opcode::for_loop: return for_loop(o);
      case Opcode::while_loop: return while_loop(o);
      default: return arithmetic(o);
    }
  }

  void cast(const Operation& o) {
    const DType from = type(o.operands[0]), to = type(o.results[0]);
    if (to == DType::f32) {
      values_[o.results[0]] = std::bit_cast<std::uint32_t>(
          from == DType::f32 ? real(o.operands[0]) : static_cast<float>(whole(o.operands[0])));
    } else if (from == DType::f32) {
      values_[o.results[0]] = narrow(to, static_cast<std::uint64_t>(static_cast<std::int64_t>(real(o.operands[0]))));
    } else {
      values_[o.results[0]] = narrow(to, static_cast<std::uint64_t>(whole(o.operands[0])));
    }
  }

  void arithmetic(const Operation& o) {
    const ValueId a = o.operands.at(0), b = o.operands.at(1);
    const DType result = type(o.results[0]);
    if (type(a) == DType::f32) {
      const float x = real(a), y = real(b);
      const auto put = [&](float v) { values_[o.results[0]] = std::bit_cast<std::uint32_t>(v); };
      switch (o.opcode) {
        case Opcode::add: return put(x + y);
        case Opcode::sub: return put(x - y);
        case Opcode::mul: return put(x * y);
        case Opcode::div: return put(x / y);
        case Opcode::maximum: return put(std::fmax(x, y));
        case Opcode::minimum: return put(std::fmin(x, y));
        default: break;
      }
    }
    const auto compare = [&](auto x, auto y) {
      values_[o.results[0]] = o.opcode == Opcode::lt   ? x < y
                              : o.opcode == Opcode::le ? x <= y
                              : o.opcode == Opcode::gt ? x > y
                              : o.opcode == Opcode::ge ? x >= y
                              : o.opcode == Opcode::eq ? x == y
                                                       : x != y;
    };
    if (info(o.opcode).kind == Kind::comparison)
      return type(a) == DType::f32 ? compare(real(a), real(b)) : compare(whole(a), whole(b));
    const std::int64_t x = whole(a), y = whole(b);
    std::int64_t v = 0;
    switch (o.opcode) {
      case Opcode::add: v = x + y; break;
      case Opcode::sub: v = x - y; break;
      case Opcode::mul:
        v = static_cast<std::int64_t>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y));
        break;
      case Opcode::div: v = y == 0 ? 0 : x / y; break;
      case Opcode::rem: v = y == 0 ? 0 : x % y; break;
      case Opcode::bit_and: v = x & y; break;
      case Opcode::bit_or: v = x | y; break;
      case Opcode::bit_xor: v = x ^ y; break;
      case Opcode::minimum: v = x < y ? x : y; break;
      case Opcode::maximum: v = x < y ? y : x; break;
      default: throw std::runtime_error(std::string("not an operation of scalars here: ") + info(o.opcode).name);
    }
    values_[o.results[0]] = narrow(result, static_cast<std::uint64_t>(v));
  }

  void for_loop(const Operation& o) {
    const std::int64_t upper = whole(o.operands[1]), step = whole(o.operands[2]);
    std::vector<std::uint64_t> carried;
    for (std::size_t i = 3; i < o.operands.size(); ++i) carried.push_back(get(o.operands[i]));
    const Region& body = o.regions[0];
    for (std::int64_t k = whole(o.operands[0]); k < upper; k += step) {
      values_[body.arguments[0]] = narrow(type(body.arguments[0]), static_cast<std::uint64_t>(k));
      for (std::size_t i = 0; i < carried.size(); ++i) values_[body.arguments[i + 1]] = carried[i];
      carried = region(body);
    }
    for (std::size_t i = 0; i < carried.size(); ++i) values_[o.results[i]] = carried[i];
  }

  void while_loop(const Operation& o) {
    std::vector<std::uint64_t> carried;
    for (const ValueId id : o.operands) carried.push_back(get(id));
    for (;;) {
      for (std::size_t i = 0; i < carried.size(); ++i) values_[o.regions[0].arguments[i]] = carried[i];
      carried = region(o.regions[0]);
      const bool go_on = carried.at(0);
      carried.erase(carried.begin());
      if (!go_on) break;
      for (std::size_t i = 0; i < carried.size(); ++i) values_[o.regions[1].arguments[i]] = carried[i];
      carried = region(o.regions[1]);
    }
    for (std::size_t i = 0; i < carried.size(); ++i) values_[o.results[i]] = carried[i];
  }

  const Body& body_;
  std::vector<std::uint32_t>& memory_;
  std::vector<std::uint64_t> values_;
  long steps_ = 0;
};

}  // namespace evaluate
