// A body with many kinds of operations and every kind of region.
#pragma once

#include "trace_builder.hpp"

namespace teeny::trace::test {

// Parameters x (pointer to const), y (pointer), n (i32).
inline Body rich_body() {
  Builder b;
  const ValueId x = b.parameter(pointer(DType::f32, {}, true)), y = b.parameter(pointer(DType::f32)),
                n = b.parameter(element(DType::i32));
  const ValueId range = b.one(Opcode::arange, {}, element(DType::i32, {16}), {0, 16});
  const ValueId limit = b.one(Opcode::splat, {n}, element(DType::i32, {16}));
  const ValueId mask = b.one(Opcode::lt, {range, limit}, element(DType::boolean, {16}));
  const ValueId xs = b.one(Opcode::splat, {x}, pointer(DType::f32, {16}, true));
  const ValueId at = b.one(Opcode::addptr, {xs, range}, pointer(DType::f32, {16}, true));
  const ValueId loaded = b.one(Opcode::load, {at, mask}, element(DType::f32, {16}), {1, 0, 0, 0, 0});
  Region sum = b.region([&] {
    const ValueId left = b.argument(element(DType::f32)), right = b.argument(element(DType::f32));
    b.operation(Opcode::yield, {b.one(Opcode::add, {left, right}, element(DType::f32))}, {});
  });
  Operation& reduce = b.operation(Opcode::reduce, {loaded}, {element(DType::f32)}, {0});
  reduce.regions.push_back(std::move(sum));
  const ValueId total = reduce.results[0];
  const ValueId zero = b.constant(DType::i32, 0), one = b.constant(DType::i32, 1);
  Region loop = b.region([&] {
    b.argument(element(DType::i32));
    const ValueId carried = b.argument(element(DType::f32));
    b.operation(Opcode::yield, {b.one(Opcode::mul, {carried, total}, element(DType::f32))}, {});
  });
  Operation& for_loop = b.operation(Opcode::for_loop, {zero, n, one, total}, {element(DType::f32)}, {2, 0});
  for_loop.regions.push_back(std::move(loop));
  const ValueId product = for_loop.results[0];
  const ValueId positive = b.one(Opcode::gt, {n, zero}, element(DType::boolean));
  Region before = b.region([&] {
    const ValueId state = b.argument(element(DType::i32));
    b.operation(Opcode::condition, {b.one(Opcode::lt, {state, n}, element(DType::boolean)), state}, {});
  });
  Region after = b.region([&] {
    const ValueId state = b.argument(element(DType::i32));
    b.operation(Opcode::yield, {b.one(Opcode::add, {state, one}, element(DType::i32))}, {});
  });
  Operation& loop2 = b.operation(Opcode::while_loop, {zero}, {element(DType::i32)});
  loop2.regions.push_back(std::move(before));
  loop2.regions.push_back(std::move(after));
  Region then_region = b.region([&] {
    b.operation(Opcode::store, {y, product}, {}, {0, 0, 0});
    b.operation(Opcode::yield, {}, {});
  });
  Region else_region = b.region([&] { b.operation(Opcode::yield, {}, {}); });
  Operation& branch = b.operation(Opcode::if_else, {positive}, {});
  branch.regions.push_back(std::move(then_region));
  branch.regions.push_back(std::move(else_region));
  const ValueId base = b.one(Opcode::multiple_of, {n}, element(DType::i32), {16});
  const ValueId column = b.one(Opcode::expand_dims, {loaded}, element(DType::f32, {16, 1}), {1});
  const ValueId left = b.one(Opcode::broadcast, {column}, element(DType::f32, {16, 16}));
  const ValueId right = b.one(Opcode::trans, {left}, element(DType::f32, {16, 16}), {1, 0});
  const ValueId dot = b.one(Opcode::dot, {left, right, left}, element(DType::f32, {16, 16}), {1});
  const ValueId flat = b.one(Opcode::reshape, {dot}, element(DType::f32, {256}));
  const ValueId half = b.one(Opcode::cast, {flat}, element(DType::f16, {256}));
  const ValueId limited = b.one(Opcode::clamp, {half, half, half}, element(DType::f16, {256}), {0});
  const ValueId smaller = b.one(Opcode::minimum, {half, limited}, element(DType::f16, {256}), {1});
  const ValueId which = b.one(Opcode::ge, {smaller, half}, element(DType::boolean, {256}));
  b.one(Opcode::where, {which, half, smaller}, element(DType::f16, {256}));
  const ValueId wide = b.one(Opcode::cast, {base}, element(DType::i64));
  const ValueId described = b.one(Opcode::make_descriptor, {y, wide, wide}, descriptor(DType::f32, {16}), {1, 16});
  b.operation(Opcode::descriptor_store,
              {described, b.one(Opcode::descriptor_load, {described, n}, element(DType::f32, {16})), n}, {});
  b.one(Opcode::atomic_rmw, {y, product}, element(DType::f32), {0, 3, 1, 0});
  b.operation(Opcode::barrier, {}, {});
  b.operation(Opcode::assume, {positive}, {});
  b.operation(Opcode::device_assert, {mask, mask}, {}, {}, "held");
  b.operation(Opcode::device_print, {n}, {}, {}, "n = \"");
  return b.body;
}

}  // namespace teeny::trace::test
