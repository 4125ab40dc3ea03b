// Forty ways in which a C++ object is a variable. Each is a body for both worlds: results go to memory from word 32 on.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace cases {

#define TEENY_CASE(name)                 \
  struct name {                          \
    template <class W, class P, class I> \
    void operator()(W, P m, I n) const;  \
  };                                     \
  template <class W, class P, class I>   \
  void name::operator()(W, P m, I n) const
#define OUT(i, value) W::store(m + (32 + i), value)
#define INT typename W::Int

TEENY_CASE(accumulate) {
  INT acc = 0;
  for (auto i : W::range(n)) acc = acc + i;
  OUT(0, acc);
}
TEENY_CASE(compound) {
  INT a = 1, b = 2;
  for (auto i : W::range(n)) {
    a += i;
    b *= a;
    a -= 3;
  }
  OUT(0, a);
  OUT(1, b);
}
TEENY_CASE(read_before_write) {
  INT previous = -1, before = 0;
  for (auto i : W::range(n)) {
    before = previous;
    previous = i * 2;
  }
  OUT(0, previous);
  OUT(1, before);
}
TEENY_CASE(copy_before_the_loop) {
  INT a = n;
  auto b = a;
  for (auto i : W::range(n)) a += i;
  OUT(0, a);
  OUT(1, b);
}
TEENY_CASE(copy_within_the_loop) {
  INT a = 1, b = 0;
  for (auto i : W::range(n)) {
    auto old = a;
    a = a + b + i;
    b = old;
  }
  OUT(0, a);
  OUT(1, b);
}
TEENY_CASE(c_array) {
  INT a[3] = {0, 1, 2};
  for (auto i : W::range(n))
    for (auto& e : a) e += i;
  for (int k = 0; k < 3; ++k) OUT(k, a[k]);
}
TEENY_CASE(std_array) {
  std::array<INT, 2> a{INT(5), INT(7)};
  for (auto i : W::range(n)) a[0] = a[1] + i, a[1] = a[0] - 1;
  OUT(0, a[0]);
  OUT(1, a[1]);
}
TEENY_CASE(vector_elements) {
  std::vector<INT> v(3, INT(1));
  for (auto i : W::range(n)) {
    v[0] += v[2];
    v[2] = v[0] * i;
  }
  for (int k = 0; k < 3; ++k) OUT(k, v[k]);
}
TEENY_CASE(vector_grown_by_the_host) {
  std::vector<INT> v;
  for (int k = 0; k < 5; ++k) v.push_back(n * k);
  for (auto i : W::range(n)) v[4] += v[3] + i;
  for (int k = 0; k < 5; ++k) OUT(k, v[k]);
}
TEENY_CASE(struct_members) {
  struct S {
    INT x = 1, y = 2;
    void step(INT k) { x += k, y = x - y; }
  } s;
  for (auto i : W::range(n)) s.step(i);
  OUT(0, s.x);
  OUT(1, s.y);
}
TEENY_CASE(struct_copied) {
  struct S {
    INT x, y;
  } a{INT(3), INT(4)};
  S b = a;
  for (auto i : W::range(n)) a.x += b.y + i;
  b = a;
  OUT(0, b.x);
  OUT(1, a.x);
}
TEENY_CASE(swap_in_a_loop) {
  INT a = 1, b = 2;
  for (auto i : W::range(n)) {
    std::swap(a, b);
    a += i;
  }
  OUT(0, a);
  OUT(1, b);
}
TEENY_CASE(swap_in_a_branch) {
  INT a = n, b = 2;
  W::if_(n > 3, [&] { std::swap(a, b); });
  OUT(0, a);
  OUT(1, b);
}
TEENY_CASE(tie_in_a_loop) {
  INT a = 0, b = 1;
  for ([[maybe_unused]] auto i : W::range(n)) std::tie(a, b) = std::tuple{b, a + b};
  OUT(0, a);
  OUT(1, b);
}
TEENY_CASE(references) {
  INT a[2] = {1, 2};
  auto& r = a[1];
  for (auto i : W::range(n)) r += i;
  OUT(0, a[0] + a[1]);
}
TEENY_CASE(moved) {
  INT a = 3;
  for (auto i : W::range(n)) a = std::move(a) + i;
  OUT(0, a);
}
TEENY_CASE(optional_value) {
  std::optional<INT> o;
  o = n + 1;
  for (auto i : W::range(n)) *o += i;
  OUT(0, *o);
}
TEENY_CASE(unique_pointer) {
  auto p = std::make_unique<INT>(4);
  for (auto i : W::range(n)) *p = *p * 2 + i;
  OUT(0, *p);
}
TEENY_CASE(map_of_variables) {
  std::map<int, INT> t;
  t[1] = 5;
  t[2] = n;
  for (auto i : W::range(n)) t[1] += t[2] - i;
  OUT(0, t[1]);
}
TEENY_CASE(structured_binding) {
  std::pair<INT, INT> p{INT(1), INT(2)};
  auto& [a, b] = p;
  for (auto i : W::range(n)) a += b, b += i;
  OUT(0, p.first);
  OUT(1, p.second);
}
TEENY_CASE(nested_loops) {
  INT acc = 0, outer = 0;
  for (auto i : W::range(n)) {
    for (auto j : W::range(i)) acc += i * j + outer;
    outer += acc % 7;
  }
  OUT(0, acc);
  OUT(1, outer);
}
TEENY_CASE(inner_only_variable) {
  INT acc = 0;
  for (auto i : W::range(n)) {
    INT inner = i;
    for (auto j : W::range(3)) inner += j;
    acc += inner;
  }
  OUT(0, acc);
}
TEENY_CASE(branches_assign_different) {
  INT a = 1, b = 2;
  W::if_(
      n > 2, [&] { a = n; }, [&] { b = n * 2; });
  OUT(0, a);
  OUT(1, b);
}
TEENY_CASE(branch_in_a_loop) {
  INT even = 0, odd = 0;
  for (auto i : W::range(n))
    W::if_(
        i % 2 == 0, [&] { even += i; }, [&] { odd += i; });
  OUT(0, even);
  OUT(1, odd);
}
TEENY_CASE(loop_in_a_branch) {
  INT a = 0;
  W::if_(n > 1, [&] {
    for (auto i : W::range(n)) a += i;
  });
  OUT(0, a);
}
TEENY_CASE(two_regions_deep) {
  INT a = 0;
  for (auto i : W::range(n))
    W::if_(i > 1, [&] {
      W::if_(
          i > 3, [&] { a += 10; }, [&] { a += 1; });
    });
  OUT(0, a);
}
TEENY_CASE(while_counts) {
  INT x = n, steps = 0;
  W::while_([&] { return x > 1; },
            [&] {
              x = W::choose(x % 2 == 0, W::quotient(x, 2), x * 3 + 1);
              steps += 1;
            });
  OUT(0, steps);
}
TEENY_CASE(while_condition_assigns) {
  INT x = 0, looks = 0;
  W::while_(
      [&] {
        looks += 1;
        return x < n;
      },
      [&] { x += 2; });
  OUT(0, x);
  OUT(1, looks);
}
TEENY_CASE(while_in_a_loop) {
  INT acc = 0;
  for (auto i : W::range(n)) {
    INT k = i;
    W::while_([&] { return k > 0; }, [&] { k = k - 2, acc += 1; });
    acc += k;
  }
  OUT(0, acc);
}
TEENY_CASE(value_of_a_branch) {
  auto z = W::if_(
      n > 3, [&] { return n * 2; }, [&] { return n - 1; });
  OUT(0, z);
}
TEENY_CASE(parameter_reassigned) {
  n += 2;
  INT acc = 0;
  for (auto i : W::range(n)) acc += i;
  n = acc;
  OUT(0, n);
}
TEENY_CASE(pointer_advanced) {
  auto p = m;
  INT acc = 0;
  for ([[maybe_unused]] auto i : W::range(n)) {
    acc += W::load(p);
    p += INT(2);
  }
  OUT(0, acc);
}
TEENY_CASE(store_then_load) {
  for (auto i : W::range(n)) {
    W::store(m + (INT(40) + i), i * 3);
    INT back = W::load(m + INT(40));
    W::store(m + INT(41), back + i);
  }
  OUT(0, W::load(m + INT(41)));
}
TEENY_CASE(load_before_a_store) {
  INT before = W::load(m);
  W::store(m, n);
  INT after = W::load(m);
  OUT(0, before);
  OUT(1, after);
}
TEENY_CASE(load_before_a_branch_that_stores) {
  INT before = W::load(m + 1);
  W::if_(n > 2, [&] { W::store(m + 1, n); });
  OUT(0, before + W::load(m + 1));
}
TEENY_CASE(atomics_in_turn) {
  INT a = W::add(m, n);
  INT b = W::add(m, a);
  OUT(0, a);
  OUT(1, b);
}
TEENY_CASE(by_reference_helper) {
  auto step = [](auto& acc, auto i) { acc += i * i; };
  INT acc = 0;
  for (auto i : W::range(n)) step(acc, i);
  OUT(0, acc);
}
TEENY_CASE(by_value_helper) {
  auto twice = [](auto x) {
    x = x + x;
    x += 1;
    return x;
  };
  INT acc = 1;
  for (auto i : W::range(n)) acc = twice(acc) - i;
  OUT(0, acc);
}
TEENY_CASE(self_assignment) {
  INT a = n, b = 1;
  auto& same = a;
  for (auto i : W::range(n)) {
    a = same;
    b += a + i;
  }
  OUT(0, a);
  OUT(1, b);
}
TEENY_CASE(rotated) {
  INT a = 1, b = 2, c = 3;
  for ([[maybe_unused]] auto i : W::range(n)) {
    auto t = a;
    a = b;
    b = c;
    c = t;
  }
  OUT(0, a * 100 + b * 10 + c);
}
TEENY_CASE(reset_each_time) {
  INT acc = 0, part = 9;
  for (auto i : W::range(n)) {
    part = 0;
    for (auto j : W::range(i)) part += j;
    acc += part;
  }
  OUT(0, acc);
  OUT(1, part);
}
TEENY_CASE(shape_of_a_step) {
  INT acc = 0;
  for (auto i : W::range(INT(1), n * 4, INT(3))) acc = acc * 3 + i;
  OUT(0, acc);
}

#undef TEENY_CASE
#undef OUT
#undef INT

// visit.template operator()<Case>("name") for each.
template <class Visit>
void for_each(Visit&& visit) {
#define TEENY_VISIT(name) visit.template operator()<name>(#name);
  TEENY_VISIT(accumulate)
  TEENY_VISIT(compound) TEENY_VISIT(read_before_write) TEENY_VISIT(copy_before_the_loop)
      TEENY_VISIT(copy_within_the_loop) TEENY_VISIT(c_array) TEENY_VISIT(std_array) TEENY_VISIT(vector_elements)
          TEENY_VISIT(vector_grown_by_the_host) TEENY_VISIT(struct_members) TEENY_VISIT(struct_copied)
              TEENY_VISIT(swap_in_a_loop) TEENY_VISIT(swap_in_a_branch) TEENY_VISIT(tie_in_a_loop)
                  TEENY_VISIT(references) TEENY_VISIT(moved) TEENY_VISIT(optional_value) TEENY_VISIT(unique_pointer)
                      TEENY_VISIT(map_of_variables) TEENY_VISIT(structured_binding) TEENY_VISIT(nested_loops)
                          TEENY_VISIT(inner_only_variable) TEENY_VISIT(branches_assign_different)
                              TEENY_VISIT(branch_in_a_loop) TEENY_VISIT(loop_in_a_branch) TEENY_VISIT(two_regions_deep)
                                  TEENY_VISIT(while_counts) TEENY_VISIT(while_condition_assigns)
                                      TEENY_VISIT(while_in_a_loop) TEENY_VISIT(value_of_a_branch)
                                          TEENY_VISIT(parameter_reassigned) TEENY_VISIT(pointer_advanced)
                                              TEENY_VISIT(store_then_load) TEENY_VISIT(load_before_a_store)
                                                  TEENY_VISIT(load_before_a_branch_that_stores)
                                                      TEENY_VISIT(atomics_in_turn) TEENY_VISIT(by_reference_helper)
                                                          TEENY_VISIT(by_value_helper) TEENY_VISIT(self_assignment)
                                                              TEENY_VISIT(rotated) TEENY_VISIT(reset_each_time)
                                                                  TEENY_VISIT(shape_of_a_step)
#undef TEENY_VISIT
}

}  // namespace cases
